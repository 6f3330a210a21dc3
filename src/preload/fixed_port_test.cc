#include "preload/fixed_port.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <string>

#include "base/files.h"
#include "base/unique_fd.h"

namespace phalanx::preload {
namespace {

TEST(FixedPort, the_library_within_the_program_can_be_loaded_and_has_functions_of_its_own) {
  const UniqueFd file(::memfd_create("fixed_port", MFD_CLOEXEC));
  ASSERT_TRUE(write_all(file.get(), fixed_port_library()));
  void* library = ::dlopen(("/proc/self/fd/" + std::to_string(file.get())).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  for (const char* name : {"bind", "connect", "getsockname", "getpeername"}) {
    void* own = ::dlsym(library, name);
    EXPECT_NE(own, nullptr) << name;
    EXPECT_NE(own, ::dlsym(RTLD_DEFAULT, name)) << name;
  }
  ::dlclose(library);
}

}  // namespace
}  // namespace phalanx::preload
