#include "job/torch_error.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "job/test_folder.h"

namespace phalanx::job {
namespace {

TEST(torch_error, is_the_exception_in_one_line) {
  const struct {
    std::string text, reason;
  } cases[] = {
      {R"({"message": {"message": "ValueError: boom", "extraInfo": {"py_callstack": "...", "timestamp": "1"}}})",
       "ValueError: boom"},
      {R"({"message": {"message": "RuntimeError: a\nb\n", "errorCode": 1}})", "RuntimeError: a\\nb"},
      {R"({"message": "SignalException: 15"})", "SignalException: 15"},
      {R"({"message": {"message": "\u001b[31m"}})", "\\x1b[31m"},
      {R"({"message": {"message": 7}})", ""},
      {R"({"message": {"message": {"message": "deep"}}})", ""},
      {R"({"message": null})", ""},
      {R"(["message"])", ""},
      {"", ""},
      {"not JSON", ""},
      {R"({"message": {"message": "cut)", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(torch_error(c.text), c.reason) << c.text;
}

TEST(torch_error, of_a_torchrun_is_the_first_that_its_processes_said) {
  const std::string report =
      "E1130 15:00:00.000000 7 site-packages/torch/distributed/elastic/multiprocessing/api.py:984] failed "
      "(exitcode: 2) local_rank: 0 (pid: 9) of binary: /usr/bin/python3\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\nRuntimeError: later\n";
  const struct {
    std::string output, cause;
  } cases[] = {
      {"start\n/usr/bin/python3: can't open file '/app/a.py': [Errno 2] No such file or directory\n" + report,
       "/usr/bin/python3: can't open file '/app/a.py': [Errno 2] No such file or directory"},
      {"[default0]:Traceback (most recent call last):\n[default0]:ValueError: boom\nKeyError: 3\n" + report,
       "ValueError: boom"},
      {"torch.cuda.OutOfMemoryError: full\r\n" + report, "torch.cuda.OutOfMemoryError: full"},
      {"[default1]:terminate called without an active exception\n" + report,
       "terminate called without an active exception"},
      {"a note about ValueError: none\n" + report, ""},
      {"ValueError: boom\n", ""},  // no torchrun: the last lines say it
      {report, ""},
      {"", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(torchrun_cause(c.output), c.cause) << c.output;
}

TEST(torch_error, is_bounded) {
  EXPECT_EQ(torch_error(R"({"message": ")" + std::string(5000, 'x') + "\"}"), std::string(500, 'x') + "...");
  EXPECT_EQ(torch_error(std::string(2 << 20, ' ') + R"({"message": "far"})"), "");
  EXPECT_EQ(torch_error(std::string(100000, '[')), "");
}

TEST(torch_error, of_what_is_no_plain_file_is_none) {
  const TestFolder folder;
  const std::string path = folder.path + "/error.json";
  EXPECT_EQ(read_torch_error(path), "");
  EXPECT_EQ(read_torch_error(folder.path), "");
  ASSERT_EQ(::mkfifo((folder.path + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_torch_error(folder.path + "/fifo"), "");
  ASSERT_TRUE(write_file(path, "{\"message\": \"ValueError: \xff\"}"));
  EXPECT_EQ(read_torch_error(path), "ValueError: \xef\xbf\xbd");
  ASSERT_EQ(::symlink(path.c_str(), (folder.path + "/link").c_str()), 0);
  EXPECT_EQ(read_torch_error(folder.path + "/link"), "");
}

}  // namespace
}  // namespace phalanx::job
