#include "spec/hostfile.h"

#include <gtest/gtest.h>

namespace phalanx::spec {
namespace {

std::string said(const std::vector<Host>& hosts) {
  std::string out;
  for (const Host& host : hosts)
    out += (out.empty() ? "" : " ") + host.name + "/" + std::to_string(host.slots);
  return out;
}

TEST(Host, Forms) {
  const struct {
    std::string text, host;
  } cases[] = {
      {"a", "a/0"},
      {"a:4", "a/4"},
      {"ann@a.example.org:16", "ann@a.example.org/16"},
      {"10.0.0.1:2", "10.0.0.1/2"},
      {"[fe80::1]", "fe80::1/0"},
      {"[fe80::1%eth0]:4", "fe80::1%eth0/4"},
      {"root@[::1]:1", "root@::1/1"},
      {"ann@realm@a", "ann@realm@a/0"},
  };
  for (const auto& c : cases) {
    const auto host = parse_host(c.text);
    ASSERT_TRUE(host) << c.text << ": " << host.error().reason;
    EXPECT_EQ(said({*host}), c.host);
  }
}

TEST(Host, SaysWhatIsWrong) {
  const struct {
    std::string text, problem;
  } cases[] = {
      {"", "has no host in it"},
      {"@a", "nothing before '@'"},
      {"ann@", "has no host in it"},
      {"a:", "has '' for slots"},
      {"a:0", "has '0' for slots"},
      {"a:-1", "has '-1' for slots"},
      {"a:4x", "has '4x' for slots; it must be a whole number, 1 to 65536"},
      {"a:99999999999999999999", "for slots"},
      {"fe80::1", "write an IPv6 address in brackets, such as [fe80::1]:4"},
      {"[fe80::1", "has '[' without ']'"},
      {"[fe80::1]4", "has '4' after ']'"},
      {"[a]", "has no IPv6 address in its brackets"},
      {"-oProxyCommand=x", "has '=' in its name"},
      {"-p", "begins with '-'"},
      {"-p@a", "begins with '-'"},
      {"a;b", "has ';' in its name"},
      {"a b", "has ' ' in its name"},
      {"`a`@b", "has '`' in its user"},
      {"\xc3\xa4", "in its name"},
      {std::string(300, 'a'), "more than 255 characters"},
  };
  for (const auto& c : cases) {
    const auto host = parse_host(c.text);
    ASSERT_FALSE(host) << c.text;
    EXPECT_NE(host.error().reason.find(c.problem), std::string::npos)
        << c.text << ": " << host.error().reason;
  }
}

TEST(Hostfile, FormsOfOtherLaunchers) {
  const auto got = parse_hostfile(
      "\xEF\xBB\xBF# all of them\n"
      "node-1 slots=4\r\n"
      "  ann@node-2\tslots = 8  max_slots=16   # ours\n"
      "\n"
      "node-3:2\n"
      "[fe80::3]:1\n"
      "node-4",
      "hosts");
  ASSERT_TRUE(got.problems.empty()) << to_error(got.problems).reason;
  EXPECT_EQ(said(got.hosts), "node-1/4 ann@node-2/8 node-3/2 fe80::3/1 node-4/0");
}

TEST(Hostfile, SaysWhatIsWrongAndWhere) {
  const struct {
    std::string text, problem;
  } cases[] = {
      {"", "hosts:1:1: there is no host in this file"},
      {"# none\n", "hosts:1:1: there is no host in this file"},
      {"a\nb\nA slots=2\n", "hosts:3:1: A stands in line 1 already; write a host once, with all its slots"},
      {"a\nann@a\n", "hosts:2:1: ann@a stands in line 1 already"},
      {"a cpu=4\n", "hosts:1:3: 'cpu=4' is not known here; after a host can stand slots=4"},
      {"a 4\n", "hosts:1:3: '4' is not known here"},
      {"a slots=0\n", "hosts:1:3: a has '0' for slots"},
      {"a:2 slots=2\n", "hosts:1:5: a has its slots twice in this line"},
      {"a\n  -p 2222\n", "hosts:2:3: '-p' begins with '-'"},
      {std::string("a\0b", 3), "hosts:1:2: a NUL byte"},
      {"\xff\xfe"
       "a",
       "UTF-16"},
      {std::string(2000, 'a'), "hosts:1:1: this line has more than 1000 characters"},
      {std::string(5u << 20, '\n'), "(4 MiB)"},
  };
  for (const auto& c : cases) {
    const auto got = parse_hostfile(c.text, "hosts");
    EXPECT_NE(to_error(got.problems).reason.find(c.problem), std::string::npos)
        << to_error(got.problems).reason << "\n not " << c.problem;
    EXPECT_TRUE(got.hosts.empty());
  }
}

TEST(Hostfile, AllErrorsAtOnce) { EXPECT_EQ(parse_hostfile("a x\nb y\nc\n", "hosts").problems.size(), 2u); }

}  // namespace
}  // namespace phalanx::spec
