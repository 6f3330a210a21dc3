#include "process/arguments.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "process/spawn.h"

namespace phalanx::process {
namespace {

constexpr const char* kTrue = "/bin/true";

std::vector<const char*> pointers(const std::vector<std::string>& lines) {
  std::vector<const char*> list;
  list.reserve(lines.size() + 1);
  for (const std::string& line : lines) list.push_back(line.c_str());
  list.push_back(nullptr);
  return list;
}

// What the kernel says of it.
int started(const std::vector<const char*>& argv, const std::vector<const char*>& env) {
  Spawn what;
  what.program = kTrue;
  what.argv = argv;
  what.env = env;
  const Spawned child = spawn(std::move(what));
  if (child.error == 0) ::waitpid(child.pid, nullptr, 0);
  return child.error;
}

TEST(Arguments, one_string_is_as_long_as_the_kernel_takes_it) {
  ArgumentLimits most = argument_limits();
  const std::vector<std::string> words{"true", std::string(most.one_string, 'x')};
  EXPECT_EQ(too_large(kTrue, pointers(words), {nullptr}, most), "");
  EXPECT_EQ(started(pointers(words), {nullptr}), 0);
  const std::vector<std::string> longer{"true", std::string(most.one_string + 1, 'x')};
  EXPECT_NE(too_large(kTrue, pointers(longer), {nullptr}, most), "");
  EXPECT_EQ(started(pointers(longer), {nullptr}), E2BIG);
  most.one_string = 131'071;
  EXPECT_EQ(
      too_large(kTrue, pointers({"true", std::string(131'072, 'x')}), {nullptr}, most),
      "the command has an argument of 131,072 bytes, and Linux takes 131,071; put it in a script or a file");
  EXPECT_EQ(too_large(kTrue, pointers({"true"}), pointers({"V=" + std::string(131'071, 'x')}), most),
            "the variable V is 131,073 bytes long with its name, and Linux takes 131,071; put it in a file");
}

TEST(Arguments, all_together_are_measured_as_the_kernel_does) {
  const ArgumentLimits most = argument_limits();
  const std::vector<const char*> argv{"true", nullptr};
  const uint64_t own = std::strlen(kTrue) + 1 + sizeof "true" + sizeof(char*);
  std::vector<std::string> variables;
  const auto fill = [&](uint64_t bytes) {
    variables.clear();
    for (uint64_t left = bytes; left > 0;) {
      const uint64_t size = left <= 100'000 ? left : std::min<uint64_t>(left - 20, 100'000);
      variables.push_back("V" + std::to_string(variables.size()) + "=");
      variables.back().resize(size - 1 - sizeof(char*), 'x');
      left -= size;
    }
  };
  fill(most.all - own);
  EXPECT_EQ(too_large(kTrue, argv, pointers(variables), most), "");
  EXPECT_EQ(started(argv, pointers(variables)), 0);
  fill(most.all - own + 1);
  const std::string why = too_large(kTrue, argv, pointers(variables), most);
  EXPECT_NE(why.find(" variables take "), why.npos) << why;
  EXPECT_NE(why.find("V0 with 100,000, V1 with 100,000 and V2 with 100,000"), why.npos) << why;
  EXPECT_EQ(started(argv, pointers(variables)), E2BIG);
}

}  // namespace
}  // namespace phalanx::process
