#include "machine/slots.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/files.h"
#include "machine/machine.h"

namespace phalanx::machine {
namespace {

class SlotsTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/phalanx-slots-XXXXXX";
    folder_ = ::mkdtemp(name);
    ::setenv("PHALANX_LOCKS", (folder_ + "/locks").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("PHALANX_LOCKS");
    (void)remove_tree(folder_);
  }
  static SlotRequest wants(const std::string& job, int cpus, int priority = 0) {
    return {job, "/home", priority, cpus, {0, 1, 2, 3}, 0, {}};
  }
  std::string folder_;
};

std::optional<Slots> take(SlotQueue& queue) {
  auto taken = queue.try_take();
  EXPECT_TRUE(taken);
  return taken ? std::move(*taken) : std::nullopt;
}

TEST_F(SlotsTest, a_job_gets_slots_that_no_other_has) {
  auto a = SlotQueue::join(wants("a", 2)), b = SlotQueue::join(wants("b", 2)),
       c = SlotQueue::join(wants("c", 1));
  ASSERT_TRUE(a && b && c);
  const auto first = take(*a), second = take(*b);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->cpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(second->cpus, (std::vector<int>{2, 3}));
  EXPECT_FALSE(take(*c));
  EXPECT_EQ(c->standing().free, 0);
  EXPECT_EQ(c->standing().ahead, (std::vector<std::string>{"a", "b"}));
}

TEST_F(SlotsTest, a_holder_of_another_home_is_named_with_what_finds_it) {
  SlotRequest elsewhere = wants("a", 4);
  elsewhere.home = "/other";
  auto a = SlotQueue::join(elsewhere), b = SlotQueue::join(wants("b", 1));
  ASSERT_TRUE(a && b);
  const auto held = take(*a);
  ASSERT_TRUE(held);
  EXPECT_FALSE(take(*b));
  EXPECT_EQ(b->standing().ahead,
            (std::vector<std::string>{"a (pid " + std::to_string(::getpid()) + ", jobs in /other)"}));
}

// A ticket that is not locked yet looks like one that was left by the dead.
TEST_F(SlotsTest, a_ticket_that_is_being_made_is_not_taken_away) {
  auto other = SlotQueue::join(wants("other", 4));
  ASSERT_TRUE(other);
  ASSERT_TRUE(take(*other));
  std::atomic<bool> done = false;
  std::thread looks([&] {
    auto looking = SlotQueue::join(wants("looking", 1));
    while (!done) (void)looking->try_take();
  });
  int lost = 0;
  for (int i = 0; i < 2000; ++i) {
    auto queue = SlotQueue::join(wants("mine", 1));
    struct stat info {};
    if (!queue || ::fstat(queue->ticket_fd(), &info) != 0 || info.st_nlink == 0) ++lost;
    if (queue) queue->leave();
  }
  done = true;
  looks.join();
  EXPECT_EQ(lost, 0);
}

TEST_F(SlotsTest, slots_come_free_when_the_last_holder_goes_and_the_waiting_are_told) {
  auto a = SlotQueue::join(wants("a", 4)), b = SlotQueue::join(wants("b", 1));
  ASSERT_TRUE(a && b);
  auto held = take(*a);
  ASSERT_TRUE(held);
  EXPECT_FALSE(take(*b));
  const auto watched = b->watch();
  ASSERT_TRUE(watched);
  held.reset();
  a->leave();
  pollfd notice{*watched, POLLIN, 0};
  EXPECT_EQ(::poll(&notice, 1, 10000), 1);
  EXPECT_TRUE(take(*b));
}

TEST_F(SlotsTest, an_ended_job_frees_its_slots_whoever_has_copies) {
  auto a = SlotQueue::join(wants("a", 4)), b = SlotQueue::join(wants("b", 4));
  ASSERT_TRUE(a && b);
  auto held = take(*a);
  ASSERT_TRUE(held);
  const UniqueFd copy(::dup(held->locks[0].get()));
  held->unlock();
  a->leave();
  EXPECT_TRUE(take(*b));
}

TEST_F(SlotsTest, only_the_first_in_the_queue_takes_so_that_small_jobs_do_not_starve_a_large_one) {
  auto running = SlotQueue::join(wants("running", 3)), large = SlotQueue::join(wants("large", 4)),
       small = SlotQueue::join(wants("small", 1));
  ASSERT_TRUE(running && large && small);
  const auto held = take(*running);
  ASSERT_TRUE(held);
  EXPECT_FALSE(take(*large));
  EXPECT_FALSE(take(*small));
  EXPECT_EQ(small->standing().free, 1);
}

TEST_F(SlotsTest, priority_goes_before_age) {
  auto old = SlotQueue::join(wants("old", 4)), urgent = SlotQueue::join(wants("urgent", 4, 10));
  ASSERT_TRUE(old && urgent);
  EXPECT_FALSE(take(*old));
  EXPECT_TRUE(take(*urgent));
}

TEST_F(SlotsTest, tickets_of_the_dead_and_rubbish_are_passed_over) {
  {
    auto dead = SlotQueue::join(wants("dead", 4));
    ASSERT_TRUE(dead);
  }
  ASSERT_TRUE(write_file(folder_ + "/locks/tickets/rubbish", std::string(10000, '{'), 0644));
  ASSERT_TRUE(make_folders(folder_ + "/locks/tickets/folder"));
  auto alive = SlotQueue::join(wants("alive", 4));
  ASSERT_TRUE(alive);
  EXPECT_TRUE(take(*alive));
}

TEST(Ports, a_held_port_is_not_given_to_anybody_else) {
  const auto first = hold_port(), second = hold_port();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->number, 0);
  EXPECT_NE(first->number, second->number);
}

TEST(Ports, one_that_is_asked_for_by_number_has_one_holder_at_a_time) {
  const auto reserved = hold_port();  // so that nobody else takes it meanwhile
  ASSERT_TRUE(reserved);
  {
    const auto held = hold_port(reserved->number);
    ASSERT_TRUE(held) << held.error().reason;
    EXPECT_EQ(held->number, reserved->number);
    EXPECT_FALSE(hold_port(reserved->number));
  }
  EXPECT_TRUE(hold_port(reserved->number));
  ASSERT_EQ(::listen(reserved->holder.get(), 1), 0);
  EXPECT_FALSE(hold_port(reserved->number));
}

}  // namespace
}  // namespace phalanx::machine
