// The library that gives the job's processes another port than the fixed one of their program.
#include <fcntl.h>
#include <sys/mman.h>

#include "base/files.h"
#include "coordinator/coordinator.h"
#include "preload/fixed_port.h"

namespace phalanx::coordinator {

namespace {

// "" once it is there and can be loaded; else why not. The dynamic linker would say so too, in each process.
std::string make_library(const std::string& path) {
  const std::string_view bytes = preload::fixed_port_library();
  if (path.find_first_of(" \t\n:;$") != std::string::npos)
    return path + ": LD_PRELOAD takes no such name (PHALANX_HOME can be another folder)";
  if (const Status made = make_folders(path.substr(0, path.rfind('/'))); !made) return made.error().reason;
  if (const Status written = write_file(path, bytes, 0500); !written) return written.error().reason;
  const auto file = open_file(path, O_RDONLY);
  if (!file) return file.error().reason;
  void* loaded = ::mmap(nullptr, bytes.size(), PROT_READ | PROT_EXEC, MAP_PRIVATE, file->get(), 0);
  if (loaded == MAP_FAILED) return errno_error(path + ": cannot be loaded").reason;
  ::munmap(loaded, bytes.size());
  return "";
}

}  // namespace

// A job without it may not need it.
void Coordinator::make_preload() {
  const std::string why = make_library(plan_->preload), port = std::to_string(plan::kFixedPort);
  std::string text = "port " + port + " is in use here: this job's processes get " +
                     std::to_string(job_.allocation.nodes.front().instead_of_fixed) + " instead";
  if (!why.empty()) {
    text = "port " + port + " is in use here, and this job's processes cannot get another instead: " + why;
    plan_->preload.clear();
    plan_->common.erase("PHALANX_FIXED_PORT");
  }
  record(event("warning", {{"text", text}}));
}

}  // namespace phalanx::coordinator
