#include "mpi/topology.h"

#include <dlfcn.h>

#include <cstdlib>

namespace phalanx::mpi {

namespace {

// Of hwloc.h, API 2: stable since 2017, soname libhwloc.so.15.
struct Hwloc {
  int (*init)(void** topology) = nullptr;
  int (*filter_io)(void* topology, int filter) = nullptr;
  int (*load)(void* topology) = nullptr;
  int (*export_xml)(void* topology, char** text, int* size, unsigned long flags) = nullptr;
  void (*free_xml)(void* topology, char* text) = nullptr;
  void (*destroy)(void* topology) = nullptr;

  bool find_in(void* library) {
    bool complete = true;
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      complete = complete && function != nullptr;
    };
    find("hwloc_topology_init", init);
    find("hwloc_topology_set_io_types_filter", filter_io);
    find("hwloc_topology_load", load);
    find("hwloc_topology_export_xmlbuffer", export_xml);
    find("hwloc_free_xmlbuffer", free_xml);
    find("hwloc_topology_destroy", destroy);
    return complete;
  }
};

constexpr int kKeepImportant = 3;  // HWLOC_TYPE_FILTER_KEEP_IMPORTANT

bool find_hwloc(Hwloc& hwloc, const std::vector<std::string>& libraries) {
  if (hwloc.find_in(RTLD_DEFAULT)) return true;
  for (const std::string& name : libraries)
    if (void* library = ::dlopen(name.c_str(), RTLD_NOW); library && hwloc.find_in(library)) return true;
  return false;
}

}  // namespace

Result<std::string> topology_xml(const std::vector<std::string>& libraries) {
  // Plugins wake up GPUs and displays, which takes seconds.
  ::setenv("HWLOC_PLUGINS_PATH", "/dev/null", 1);
  Hwloc hwloc;
  if (!find_hwloc(hwloc, libraries)) return Error{Code::not_found, "there is no libhwloc"};
  void* topology = nullptr;
  if (hwloc.init(&topology) != 0) return Error{Code::unavailable, "hwloc_topology_init failed"};
  Result<std::string> xml = Error{Code::unavailable, "hwloc cannot read this machine"};
  char* text = nullptr;
  int size = 0;  // with the closing 0
  if (hwloc.filter_io(topology, kKeepImportant) == 0 && hwloc.load(topology) == 0 &&
      hwloc.export_xml(topology, &text, &size, 0) == 0 && size > 0) {
    xml = std::string(text, static_cast<size_t>(size) - 1);
    hwloc.free_xml(topology, text);
  }
  hwloc.destroy(topology);
  return xml;
}

}  // namespace phalanx::mpi
