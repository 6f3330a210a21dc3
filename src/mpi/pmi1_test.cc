#include "mpi/pmi1.h"

#include <gtest/gtest.h>

#include "mpi/pmix_server.h"

namespace phalanx::mpi {
namespace {

struct Served {
  std::vector<std::pair<int, std::string>> replies;
  std::vector<std::string> fences;
  std::vector<std::string> aborts, broken;
  Pmi1 server;

  explicit Served(int local_ranks = 2)
      : server({"kvs_job", 4, local_ranks, "(vector,(0,1,2),(1,1,2))"},
               {[this](int rank, const std::string& line) { replies.emplace_back(rank, line); },
                [this](std::string put) { fences.push_back(std::move(put)); },
                [this](int rank, int code, const std::string& text) {
                  aborts.push_back(std::to_string(rank) + " " + std::to_string(code) + " " + text);
                },
                [this](int rank, const std::string& why) {
                  broken.push_back(std::to_string(rank) + " " + why);
                }}) {}
  std::string ask(int rank, const std::string& line) {
    replies.clear();
    server.feed(rank, line + "\n");
    return replies.empty() ? "" : replies.back().second;
  }
};

TEST(Pmi1, answers_what_a_client_asks_before_it_joins) {
  Served served;
  EXPECT_EQ(served.ask(0, "cmd=init pmi_version=1 pmi_subversion=1"),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  EXPECT_TRUE(served.server.joined(0));
  EXPECT_FALSE(served.server.joined(1));
  EXPECT_EQ(served.ask(0, "cmd=get_maxes"), "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=4096 rc=0\n");
  EXPECT_EQ(served.ask(0, "cmd=get_appnum"), "cmd=appnum appnum=0 rc=0\n");
  EXPECT_EQ(served.ask(0, "cmd=get_universe_size"), "cmd=universe_size size=4 rc=0\n");
  EXPECT_EQ(served.ask(0, "cmd=get_my_kvsname"), "cmd=my_kvsname kvsname=kvs_job rc=0\n");
  EXPECT_EQ(served.ask(0, "cmd=get kvsname=kvs_job key=PMI_process_mapping"),
            "cmd=get_result rc=0 msg=success value=(vector,(0,1,2),(1,1,2))\n");
  EXPECT_EQ(served.ask(0, "cmd=finalize"), "cmd=finalize_ack rc=0\n");
  EXPECT_TRUE(served.server.finalized(0));
}

TEST(Pmi1, ranks_wait_for_the_topology_until_it_is_known) {
  Served served;
  EXPECT_EQ(served.ask(0, "cmd=get kvsname=kvs_job key=PMI_hwloc_xmlfile"), "");
  served.server.set_topology("/dev/shm/topology.xml");
  ASSERT_EQ(served.replies.size(), 1u);
  EXPECT_EQ(served.replies[0].second, "cmd=get_result rc=0 msg=success value=/dev/shm/topology.xml\n");
  EXPECT_EQ(served.ask(1, "cmd=get kvsname=kvs_job key=PMI_hwloc_xmlfile"), served.replies[0].second);
  served.server.set_topology("");
  EXPECT_EQ(served.ask(1, "cmd=get kvsname=kvs_job key=PMI_hwloc_xmlfile"),
            "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
}

TEST(Pmi1, a_barrier_opens_when_all_nodes_have_given_what_their_ranks_had_put) {
  Served served;
  EXPECT_EQ(served.ask(0, "cmd=put kvsname=kvs_job key=a value=x=1#2"), "cmd=put_result rc=0 msg=success\n");
  EXPECT_EQ(served.ask(0, "cmd=barrier_in"), "");
  EXPECT_EQ(served.server.waiting(), 1);
  EXPECT_TRUE(served.fences.empty());
  EXPECT_EQ(served.ask(1, "cmd=barrier_in"), "");
  ASSERT_EQ(served.fences.size(), 1u);
  EXPECT_EQ(served.fences[0], "a=x=1#2\n");
  served.server.fenced({served.fences[0], "b=2\nc=3\n"});
  ASSERT_EQ(served.replies.size(), 2u);
  EXPECT_EQ(served.replies[0].second, "cmd=barrier_out rc=0\n");
  EXPECT_EQ(served.ask(1, "cmd=get kvsname=kvs_job key=a"), "cmd=get_result rc=0 msg=success value=x=1#2\n");
  EXPECT_EQ(served.ask(0, "cmd=get kvsname=kvs_job key=c"), "cmd=get_result rc=0 msg=success value=3\n");
  EXPECT_EQ(served.ask(0, "cmd=get kvsname=kvs_job key=d"),
            "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
  served.ask(0, "cmd=barrier_in");
  served.ask(1, "cmd=barrier_in");
  EXPECT_EQ(served.fences.at(1), "");  // what was given is not given again
}

TEST(Pmi1, takes_lines_in_any_pieces) {
  Served served;
  for (const char* piece : {"cmd=in", "it\ncmd=get_", "appnum\n"}) served.server.feed(1, piece);
  EXPECT_EQ(served.replies.size(), 2u);
}

TEST(Pmi1, an_abort_has_its_code_and_text) {
  Served served;
  served.ask(1, "cmd=abort exitcode=3 message=application called MPI_Abort");
  EXPECT_EQ(served.aborts, (std::vector<std::string>{"1 3 application called MPI_Abort"}));
}

TEST(Pmi1, what_is_not_done_is_said_so) {
  Served served;
  for (const char* line : {"mcmd=spawn", "nprocs=1", "execname=x", "argcnt=0"})
    EXPECT_EQ(served.ask(0, line), "");
  EXPECT_EQ(served.ask(0, "endcmd"), "cmd=spawn_result rc=-1 msg=spawn_is_not_supported\n");
  EXPECT_EQ(served.ask(0, "cmd=lookup_name service=x"), "cmd=lookup_result rc=-1 msg=not_supported\n");
}

TEST(Pmi1, nonsense_ends_the_conversation) {
  Served served;
  EXPECT_EQ(served.ask(0, "hello"), "");
  EXPECT_EQ(served.broken.size(), 1u);
  EXPECT_EQ(served.ask(0, "cmd=init"), "");  // nothing more is read from it
  served.server.feed(1, std::string(100000, 'x'));
  EXPECT_EQ(served.broken.size(), 2u);
  Served twice(2);
  twice.ask(0, "cmd=barrier_in");
  twice.ask(0, "cmd=barrier_in");
  EXPECT_EQ(twice.broken.size(), 1u);
  EXPECT_TRUE(twice.fences.empty());
}

TEST(FindPmix, a_named_one_is_the_only_one_and_the_system_s_is_the_last) {
  EXPECT_EQ(libpmix_candidates("/usr/bin", "", "/opt/libpmix.so.2"),
            (std::vector<std::string>{"/opt/libpmix.so.2"}));
  EXPECT_EQ(libpmix_candidates("/nowhere/bin:/usr/bin", "/nowhere", ""),
            (std::vector<std::string>{"libpmix.so.2"}));
}

}  // namespace
}  // namespace phalanx::mpi
