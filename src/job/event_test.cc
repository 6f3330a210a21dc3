#include "job/event.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "job/test_folder.h"

namespace phalanx::job {
namespace {

TEST(event, is_one_readable_line) {
  Event event{1753000000.25, "rank_exited", 0, 2, {{"rank", 3}, {"code", 1}, {"at", 1753000000.125}}};
  EXPECT_EQ(
      to_line(event),
      "{\"time\":1753000000.25,\"event\":\"rank_exited\",\"task\":0,\"attempt\":2,\"rank\":3,\"code\":1,"
      "\"at\":1753000000.125}\n");
}

TEST(event, comes_back_as_it_was_written) {
  const Event event{1.5, "queued", 1, 2, {{"free", 3}, {"ahead", boost::json::array{"a", "b"}}}};
  const auto back = parse_event(to_line(event));
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(back->kind, "queued");
  EXPECT_EQ(back->time, 1.5);
  EXPECT_EQ(back->task, 1);
  EXPECT_EQ(back->attempt, 2);
  EXPECT_EQ(back->data, event.data);
}

TEST(event, any_bytes_survive_as_utf8) {
  const Event event{1, "ended", 0, 0, {{"text", "a\xff\xc3(\xe2\x82\xac \xed\xa0\x80\x1b[0m\n"}}};
  const auto back = parse_event(to_line(event));
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(back->data.at("text").as_string(),
            "a\xef\xbf\xbd\xef\xbf\xbd(\xe2\x82\xac \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\x1b[0m\n");
}

TEST(event, a_reserved_key_in_the_data_is_not_written_twice) {
  const Event event{1, "warning", 0, 0, {{"time", 7}, {"event", "other"}}};
  EXPECT_EQ(parse_event(to_line(event))->kind, "warning");
}

TEST(event, garbage_is_an_error) {
  for (const char* line :
       {"", "{", "[]", "3", "{\"event\":3}", "{}", "\xff\xfe", "{\"event\":\"a\"} x", "null"})
    EXPECT_FALSE(parse_event(line)) << line;
  EXPECT_EQ(parse_event("{\"event\":\"a\",\"attempt\":-4,\"task\":1e99,\"time\":\"x\"}")->attempt, 0);
}

TEST(event_log, is_locked_while_its_writer_lives) {
  const TestFolder folder;
  const std::string path = folder.path + "/events.jsonl";
  EXPECT_FALSE(is_locked(path));
  {
    auto log = EventLog::open(path);
    ASSERT_TRUE(log);
    EXPECT_TRUE(is_locked(path));
    const auto second = EventLog::open(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::unavailable);
    EXPECT_TRUE(is_locked(path));
  }
  EXPECT_FALSE(is_locked(path));
}

TEST(event_log, readers_see_whole_lines_only) {
  const TestFolder folder;
  const std::string path = folder.path + "/events.jsonl";
  EventReader reader(path);
  EXPECT_TRUE(reader.next().empty());
  auto log = EventLog::open(path);
  ASSERT_TRUE(log->append({0, "submitted", 0, 0, {}}));
  ASSERT_TRUE(log->append({0, "queued", 0, 0, {}}));
  auto events = reader.next();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_GT(events[0].time, 1e9);
  ASSERT_TRUE(write_all(log->fd(), "{\"event\":\"run"));
  EXPECT_TRUE(reader.next().empty());
  ASSERT_TRUE(write_all(log->fd(), "ning\"}\n"));
  events = reader.next();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "running");
}

TEST(event_log, half_a_line_of_a_dead_writer_is_skipped) {
  const TestFolder folder;
  const std::string path = folder.path + "/events.jsonl";
  ASSERT_TRUE(write_file(path, "{\"event\":\"submitted\"}\n{\"event\":\"que"));
  auto log = EventLog::open(path);
  ASSERT_TRUE(log->append({0, "running", 0, 0, {}}));
  ASSERT_TRUE(log->append({0, "ended", 0, 0, {}}));
  EventReader reader(path);
  const auto events = reader.next();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].kind, "running");
}

TEST(event_log, a_log_longer_than_the_buffer_is_read_whole) {
  const TestFolder folder;
  const std::string path = folder.path + "/events.jsonl";
  auto log = EventLog::open(path);
  for (int i = 0; i < 500; ++i)
    ASSERT_TRUE(log->append({0, "warning", 0, 0, {{"text", std::string(100, 'x')}}}));
  EventReader reader(path);
  EXPECT_EQ(reader.next().size(), 500u);
}

}  // namespace
}  // namespace phalanx::job
