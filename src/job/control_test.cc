#include "job/control.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "job/test_folder.h"

namespace phalanx::job {
namespace {

TEST(control, a_request_is_read_as_it_was_written) {
  const CancelRequest read = read_cancel(to_json({"interrupt", "ann", true}));
  EXPECT_EQ(read.why, "interrupt");
  EXPECT_EQ(read.by, "ann");
  EXPECT_TRUE(read.kill);
}

TEST(control, a_request_needs_no_keys_and_trusts_no_kinds) {
  for (const char* text : {R"({"do": "cancel"})", R"({"why": 1, "by": null, "kill": "yes"})"}) {
    const CancelRequest read = read_cancel(boost::json::parse(text).as_object());
    EXPECT_EQ(read.why, "cancel");
    EXPECT_EQ(read.by, "somebody");
    EXPECT_FALSE(read.kill);
  }
}

TEST(control, a_request_can_be_left_in_the_folder) {
  const TestFolder folder;
  const Layout layout{folder.path};
  EXPECT_FALSE(read_note(layout));
  ASSERT_TRUE(leave_note({"hangup", "ann", false}, layout));
  const auto note = read_note(layout);
  ASSERT_TRUE(note);
  EXPECT_EQ(note->why, "hangup");
  EXPECT_EQ(note->by, "ann");
}

TEST(control, rubbish_in_the_folder_is_no_request) {
  const TestFolder folder;
  const Layout layout{folder.path};
  for (const char* text : {"", "{", "[1]", "\xff"}) {
    ASSERT_TRUE(write_file(layout.cancel_request(), text));
    EXPECT_FALSE(read_note(layout)) << text;
  }
}

TEST(control, a_reason_gives_the_exit_code) {
  EXPECT_EQ(code(exit_of_cancel("interrupt")), 130);
  EXPECT_EQ(code(exit_of_cancel("hangup")), 129);
  EXPECT_EQ(code(exit_of_cancel("timeout")), 124);
  for (const char* why : {"cancel", "terminate", "signal", ""}) EXPECT_EQ(code(exit_of_cancel(why)), 143);
}

}  // namespace
}  // namespace phalanx::job
