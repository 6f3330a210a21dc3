#include "process/arguments.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>

#include "process/spawn.h"

namespace phalanx::process {
namespace {

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
  what.program = "/bin/true";
  what.argv = argv;
  what.env = env;
  const Spawned child = spawn(std::move(what));
  if (child.error == 0) ::waitpid(child.pid, nullptr, 0);
  return child.error;
}

TEST(Arguments, one_string_is_as_long_as_the_kernel_takes_it) {
  const std::vector<std::string> words{"true", std::string(kMostInOneString, 'x')};
  EXPECT_EQ(too_large(pointers(words), {nullptr}, most_arguments()), "");
  EXPECT_EQ(started(pointers(words), {nullptr}), 0);
  const std::vector<std::string> longer{"true", std::string(kMostInOneString + 1, 'x')};
  EXPECT_EQ(
      too_large(pointers(longer), {nullptr}, most_arguments()),
      "the command has an argument of 131,072 bytes, and Linux takes 131,071; put it in a script or a file");
  EXPECT_EQ(started(pointers(longer), {nullptr}), E2BIG);
  const std::vector<std::string> variable{"V=" + std::string(kMostInOneString, 'x')};
  EXPECT_EQ(too_large(pointers({"true"}), pointers(variable), most_arguments()),
            "the variable V is 131,073 bytes long with its name, and Linux takes 131,071; put it in a file");
}

TEST(Arguments, all_together_are_measured_as_the_kernel_does) {
  const uint64_t most = most_arguments();
  std::vector<std::string> variables;
  const auto fill = [&](uint64_t bytes) {
    variables.clear();
    for (uint64_t left = bytes; left > 0;) {
      const uint64_t size = std::min<uint64_t>(left, 100'000);
      variables.push_back("V" + std::to_string(variables.size()) + "=");
      variables.back().resize(std::max<uint64_t>(size, 20) - 1 - sizeof(char*), 'x');
      left -= size;
    }
  };
  fill(most - 1000);
  EXPECT_EQ(too_large(pointers({"true"}), pointers(variables), most), "");
  EXPECT_EQ(started(pointers({"true"}), pointers(variables)), 0);
  fill(most + 1000);
  const std::string why = too_large(pointers({"true"}), pointers(variables), most);
  EXPECT_NE(why.find(" variables take "), why.npos) << why;
  EXPECT_NE(why.find("V0 with 100,000, V1 with 100,000 and V2 with 100,000"), why.npos) << why;
  EXPECT_EQ(started(pointers({"true"}), pointers(variables)), E2BIG);
}

}  // namespace
}  // namespace phalanx::process
