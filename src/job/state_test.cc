#include "job/state.h"

#include <gtest/gtest.h>

#include <ctime>

#include "job/layout.h"
#include "job/test_folder.h"

namespace phalanx::job {
namespace {

Event event(const std::string& kind, boost::json::object data = {}, int attempt = 0, double time = 100) {
  return {time, kind, 0, attempt, std::move(data)};
}

std::vector<Event> whole_life() {
  return {event("submitted", {{"name", "j"}, {"user", "ann"}, {"pid", 7}, {"nodes", 1}}),
          event("queued", {{"slots", 4}, {"free", 0}, {"ahead", boost::json::array{"a", "b"}}}),
          event("preparing"),
          event("starting", {{"world", 2}}, 0, 101),
          event("node_ready",
                {{"node", 0}, {"name", "n0"}, {"host", "h"}, {"guard_pid", 8}, {"isolation", "plain"}}),
          event("ranks_started", {{"node", 0}, {"first_rank", 0}, {"pids", boost::json::array{10, 11}}}, 0,
                101.5),
          event("running"),
          event("rank_exited", {{"node", 0}, {"rank", 1}, {"code", 3}, {"at", 102.5}, {"max_rss_kb", 900}}),
          event("stopping", {{"why", "failure"}}),
          event("rank_exited", {{"node", 0}, {"rank", 0}, {"signal", 15}, {"stopped", true}}),
          event("warning", {{"text", "careful"}}),
          event("finalizing"),
          event("ended",
                {{"state", "Failed"}, {"exit_code", 3}, {"verdict", boost::json::object{{"text", "rank 1"}}}},
                0, 103)};
}

TEST(state, follows_the_events) {
  JobView view;
  std::vector<State> states;
  for (const Event& one : whole_life()) {
    view.apply(one);
    if (states.empty() || states.back() != view.state) states.push_back(view.state);
  }
  EXPECT_EQ(states, (std::vector<State>{State::not_started, State::queued, State::preparing, State::starting,
                                        State::running, State::finalizing, State::failed}));
  ASSERT_EQ(view.ranks.size(), 2u);
  EXPECT_EQ(view.ranks[1].code, 3);
  EXPECT_EQ(view.ranks[1].ended, 102.5);
  EXPECT_EQ(view.ranks[1].pid, 11);
  EXPECT_EQ(view.ranks[0].signal, 15);
  EXPECT_TRUE(view.ranks[0].stopped);
  EXPECT_EQ(view.nodes[0].guard_pid, 8);
  EXPECT_EQ(view.world, 2);
  EXPECT_EQ(view.started, 101);
  EXPECT_EQ(view.ended, 103);
  EXPECT_EQ(view.exit_code, 3);
  EXPECT_EQ(view.verdict->text, "rank 1");
}

TEST(state, says_why_it_waits) {
  JobView view;
  const auto events = whole_life();
  view.apply(events[0]);
  view.apply(events[1]);
  EXPECT_EQ(view.waiting_for, "slots: 0 of 4 free, after a, b");
  view.apply(
      event("queued", {{"slots", 1}, {"free", 2}, {"ahead", boost::json::array{"a", "b", 3, "d", "e"}}}));
  EXPECT_EQ(view.waiting_for, "its turn, after a, b, ? and 2 more");
  view.apply(events[2]);
  EXPECT_EQ(view.waiting_for, "");
}

TEST(state, a_repeated_event_changes_nothing) {
  JobView view;
  const auto events = whole_life();
  for (const Event& one : events) {
    view.apply(one);
    const auto once = to_json(view);
    view.apply(one);
    EXPECT_EQ(to_json(view), once) << one.kind;
  }
  const auto end = to_json(view);
  for (const Event& one : events) view.apply(one);
  EXPECT_EQ(to_json(view), end) << "the whole log again";
}

TEST(state, a_cancel_is_seen_until_the_end) {
  JobView view;
  for (const char* kind : {"submitted", "running", "cancel_requested", "finalizing"}) view.apply(event(kind));
  EXPECT_EQ(view.state, State::cancel_requested);
  view.apply(event("ended", {{"state", "Canceled"}, {"exit_code", 130}}));
  EXPECT_EQ(view.state, State::canceled);
  view.apply(event("running"));
  EXPECT_EQ(view.state, State::canceled);
}

TEST(state, a_new_attempt_starts_over_and_the_old_one_is_ignored) {
  JobView view;
  auto events = whole_life();
  events.pop_back();
  for (const Event& one : events) view.apply(one);
  view.apply(event("starting", {}, 1));
  EXPECT_EQ(view.state, State::starting);
  EXPECT_TRUE(view.ranks.empty());
  view.apply(event("rank_exited", {{"rank", 0}, {"code", 9}}, 0));
  EXPECT_TRUE(view.ranks.empty());
}

TEST(state, lines_that_are_not_ours_change_nothing) {
  JobView view;
  view.apply(event("running"));
  view.apply(event("new_kind_of_a_later_version", {{"rank", 1}}));
  view.apply(event("rank_exited", {{"rank", -1}}));
  view.apply(event("rank_exited", {{"rank", 2147483647}}));
  view.apply(event("rank_exited", {{"rank", "one"}}));
  view.apply(event("ranks_started", {{"first_rank", 1e300}, {"pids", "none"}}));
  view.apply(event("ranks_started", {{"first_rank", (1 << 20) - 1}, {"pids", boost::json::array{1, 2, 3}}}));
  view.apply(event("node_ready", {{"node", nullptr}}));
  EXPECT_EQ(view.state, State::running);
  EXPECT_EQ(view.ranks.size(), 1u);
}

TEST(read_job, a_living_coordinator_is_believed) {
  const TestFolder folder;
  const Layout layout{folder.path};
  auto log = EventLog::open(layout.events());
  ASSERT_TRUE(log->append(event("running", {}, 0, 5)));  // long ago
  EXPECT_EQ(read_job(folder.path)->state, State::running);
}

TEST(read_job, a_dead_one_is_waited_for_and_then_failed) {
  const TestFolder folder;
  const Layout layout{folder.path};
  ASSERT_TRUE(EventLog::open(layout.events())->append(event("running", {}, 0, 0)));  // just now
  EXPECT_EQ(read_job(folder.path, 3600)->state, State::not_responding);
  const auto view = read_job(folder.path, -3600);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->state, State::failed);
  EXPECT_EQ(view->exit_code, 125);
  ASSERT_TRUE(view->verdict);
  EXPECT_NE(view->verdict->text.find("without a word"), std::string::npos);
}

TEST(read_job, a_folder_with_an_empty_log_is_young_or_was_never_started) {
  const TestFolder folder;
  (void)EventLog::open(Layout{folder.path}.events());
  EXPECT_EQ(read_job(folder.path, 3600)->state, State::not_started);
  const auto view = read_job(folder.path, -3600);
  EXPECT_EQ(view->state, State::failed);
  EXPECT_NE(view->verdict->text.find("never started"), std::string::npos);
}

TEST(read_job, a_folder_without_a_log_is_damaged) {
  const TestFolder folder;
  for (const double patience : {3600.0, -3600.0}) {
    const auto view = read_job(folder.path, patience);
    EXPECT_EQ(view->state, State::failed);
    EXPECT_NE(view->verdict->text.find("folder is damaged"), std::string::npos);
  }
  EXPECT_EQ(read_job(folder.path + "/none").error().code, Code::not_found);
}

TEST(State, WhatIsSentIsSaidWhileItIsAndAfterwards) {
  JobView view;
  view.apply(event("submitted"));
  view.apply(event("sent", {{"to", "h1"}, {"bytes", 5}, {"kept", 7}}));
  view.apply(event("preparing"));
  view.apply(event("sending", {{"nodes", 15}, {"bytes", 200'000'000}}));
  EXPECT_EQ(view.state, State::preparing);
  EXPECT_EQ(view.sending, "sending 200 MB to 15 nodes");
  for (int twice = 0; twice < 2; ++twice)
    view.apply(event("sent", {{"nodes", 15}, {"bytes", 9}, {"kept", 0}}));
  EXPECT_EQ(view.sending, "");
  const auto shown = to_json(view);
  EXPECT_EQ(boost::json::serialize(shown.at("sent")),
            R"([{"bytes":5,"kept":7,"to":"h1"},{"bytes":9,"kept":0,"nodes":15}])");
}

}  // namespace
}  // namespace phalanx::job
