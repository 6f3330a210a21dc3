#include "engine/remote/own_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "job/layout.h"
#include "net/digest.h"

namespace phalanx::engine::remote {

std::string own_program_path(const std::string& bin) {
  const auto digest = net::sha256_of_file("/proc/self/exe");
  return bin + "/phalanx-" + (digest ? digest->substr(0, 16) : "unknown");
}

Result<std::string> keep_own_program(const std::string& bin) {
  const std::string path = own_program_path(bin);
  TRY(make_folders(bin));
  // What another may write there would be run as us.
  struct stat info {};
  if (::stat(bin.c_str(), &info) != 0) return errno_error(bin);
  if (info.st_uid != ::geteuid() || (info.st_mode & 0022) != 0)
    return Error{Code::denied, bin + " is not yours alone to write; remove it, or name another `folder`"};
  if (exists(path)) return path;
  const std::string text = TRY(read_file("/proc/self/exe", 1u << 30));
  TRY(write_file(path, text, 0755));
  return path;
}

}  // namespace phalanx::engine::remote
