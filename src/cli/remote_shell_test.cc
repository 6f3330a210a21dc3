#include "cli/remote_shell.h"

#include <gtest/gtest.h>

namespace phalanx::cli {
namespace {

TEST(RemoteShell, takes_a_host_and_a_command_as_ssh_does) {
  const auto call = parse_remote_shell(
      "ssh", {"-x", "-o", "PasswordAuthentication=no", "-p22", "ann@node-1", "cd", "/tmp;", "echo $HOME"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->hosts, (std::vector<std::string>{"node-1"}));
  EXPECT_EQ(for_host(*call, 0), "cd /tmp; echo $HOME");
  EXPECT_FALSE(call->name_hosts);
}

TEST(RemoteShell, options_after_the_host_are_the_commands) {
  const auto call = parse_remote_shell("rsh", {"node-1", "ls", "-l"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->command, "ls -l");
}

TEST(RemoteShell, ssh_takes_options_after_the_host_too) {
  const auto call =
      parse_remote_shell("ssh", {"-o", "A=b", "node-1", "-p", "22", "-o", "ConnectTimeout=10", "ls", "-l"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->hosts, (std::vector<std::string>{"node-1"}));
  EXPECT_EQ(call->command, "ls -l");
}

TEST(RemoteShell, pdsh_has_many_hosts_and_names_them_in_the_command) {
  const auto call = parse_remote_shell(
      "pdsh", {"-S", "-f", "1024", "-w", "node-0,node-1", "run", "--rank=%n", "--host=%h", "100%%", "%x"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->hosts.size(), 2u);
  EXPECT_TRUE(call->worst_status);
  EXPECT_EQ(for_host(*call, 1), "run --rank=1 --host=node-1 100% %x");
}

TEST(RemoteShell, says_what_is_missing) {
  EXPECT_NE(parse_remote_shell("ssh", {"-v"}).error().reason.find("no host"), std::string::npos);
  EXPECT_NE(parse_remote_shell("ssh", {"node-1"}).error().reason.find("no command"), std::string::npos);
  EXPECT_NE(parse_remote_shell("pdsh", {"-S", "-w"}).error().reason.find("no host"), std::string::npos);
  EXPECT_FALSE(parse_remote_shell("phalanx", {"list"}));
}

}  // namespace
}  // namespace phalanx::cli
