// GPUs by NVML, which is opened at run time: a machine without it has none, and pays one failed dlopen.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "machine/machine.h"

namespace phalanx::machine {

namespace {

// The few calls of nvml.h that we make (its ABI is stable since NVML 4).
struct Nvml {
  using Device = void*;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;

  explicit Nvml(void* library) {
    find(library, "nvmlInit_v2", init);
    find(library, "nvmlShutdown", shutdown);
    find(library, "nvmlDeviceGetCount_v2", count);
    find(library, "nvmlDeviceGetHandleByIndex_v2", by_index);
    find(library, "nvmlDeviceGetUUID", uuid);
    find(library, "nvmlDeviceGetName", name);
  }
  bool usable() const { return init && shutdown && count && by_index && uuid && name; }

 private:
  template <class Function>
  static void find(void* library, const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, symbol));
  }
};

std::vector<Gpu> list(const Nvml& nvml) {
  std::vector<Gpu> gpus;
  unsigned count = 0;
  if (nvml.count(&count) != 0) return gpus;
  for (unsigned i = 0; i < count; ++i) {
    Nvml::Device device = nullptr;
    char uuid[96] = "", name[96] = "";
    if (nvml.by_index(i, &device) != 0) continue;
    nvml.uuid(device, uuid, sizeof uuid);
    nvml.name(device, name, sizeof name);
    gpus.push_back({static_cast<int>(i), uuid, name});
  }
  return gpus;
}

// What CUDA does with the list: entries in its order, up to the first that names nothing.
std::vector<Gpu> restrict_to(const std::vector<Gpu>& gpus, const std::string& visible) {
  std::vector<Gpu> kept;
  for (size_t begin = 0; begin <= visible.size();) {
    const size_t end = std::min(visible.find(',', begin), visible.size());
    const std::string entry = visible.substr(begin, end - begin);
    const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
      return entry == std::to_string(gpu.index) ||
             (!entry.empty() && entry.starts_with("GPU-") && gpu.uuid.starts_with(entry));
    });
    if (found == gpus.end()) break;
    kept.push_back(*found);
    begin = end + 1;
  }
  return kept;
}

// Where there is no driver, looking for its library along every path costs more than starting eight
// processes.
bool has_driver() {
  for (const char* sign : {"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg"})
    if (::access(sign, F_OK) == 0) return true;
  return false;
}

}  // namespace

std::vector<Gpu> find_gpus() {
  const char* stand_in = std::getenv("PHALANX_NVML");
  if (!stand_in && !has_driver()) return {};
  const std::unique_ptr<void, int (*)(void*)> library(
      ::dlopen(stand_in ? stand_in : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), ::dlclose);
  if (!library) return {};
  const Nvml nvml(library.get());
  if (!nvml.usable() || nvml.init() != 0) return {};
  const std::vector<Gpu> all = list(nvml);
  nvml.shutdown();
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible ? restrict_to(all, visible) : all;
}

}  // namespace phalanx::machine
