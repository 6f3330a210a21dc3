#include "coordinator/cause.h"

#include <gtest/gtest.h>

namespace phalanx::coordinator {
namespace {

TEST(Cause, the_file_that_is_not_there_is_named_by_who_wanted_it) {
  const struct {
    const char *line, *file;
  } cases[] = {
      {"python: can't open file '/j/wd/trian.py': [Errno 2] No such file or directory", "/j/wd/trian.py"},
      {"/usr/bin/python3: can't open file 'a b.py': [Errno 2] No such file or directory", "a b.py"},
      {"python: can't open file 'x.py': [Errno 13] Permission denied", ""},
      {"bash: trian.sh: No such file or directory", "trian.sh"},
      {"/bin/bash: line 1: ./trian: No such file or directory", "./trian"},
      {"sh: 0: cannot open trian.sh: No such file", "trian.sh"},
      {"/bin/sh: 1: ./trian: not found", "./trian"},
      {"/bin/sh: 1: pyhton: not found", ""},
      {"bash: pyhton: command not found", ""},
      {": not found", ""},
      {": No such file", ""},
      {"", ""},
      {"loss 0.5", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(missing_file(c.line), c.file) << c.line;
}

TEST(Cause, the_python_is_that_of_the_command) {
  EXPECT_EQ(python_of("python train.py"), "python");
  EXPECT_EQ(python_of("cd x && OMP=1 python3.11 -u train.py"), "python3.11");
  EXPECT_EQ(python_of("(/opt/v/bin/python3 train.py)"), "/opt/v/bin/python3");
  EXPECT_EQ(python_of("torchrun train.py"), "python");
  EXPECT_EQ(python_of("$HOME/bin/python train.py"), "python");
  EXPECT_EQ(python_of("pythonic x"), "python");
  EXPECT_EQ(python_of(""), "python");
}

TEST(Cause, nothing_is_said_of_what_cannot_be_looked_at) {
  job::Verdict verdict;
  verdict.last_lines = {"python: can't open file '/absent/x.py': [Errno 2] No such file or directory"};
  EXPECT_EQ(hint_of_cause(verdict, {}), "");
  verdict.code = 2;
  EXPECT_EQ(hint_of_cause(verdict, {}), "");
  verdict.last_lines = {"ModuleNotFoundError: No module named 'torch'"};
  verdict.code = 1;
  EXPECT_EQ(hint_of_cause(verdict, {}), "");
}

}  // namespace
}  // namespace phalanx::coordinator
