#include "coordinator/cause.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "job/test_folder.h"

namespace phalanx::coordinator {
namespace {

constexpr const char* kNone = "(none)";

TEST(Cause, the_file_that_is_not_there_is_named_by_who_wanted_it) {
  const struct {
    const char *line, *file;
  } cases[] = {
      {"python: can't open file '/j/wd/trian.py': [Errno 2] No such file or directory", "/j/wd/trian.py"},
      {"/usr/bin/python3: can't open file 'a b.py': [Errno 2] No such file or directory", "a b.py"},
      {"python: can't open file 'x.py': [Errno 13] Permission denied", kNone},
      {"bash: trian.sh: No such file or directory", "trian.sh"},
      {"/bin/bash: line 1: ./trian: No such file or directory", "./trian"},
      {"sh: 0: cannot open trian.sh: No such file", "trian.sh"},
      {"/bin/sh: 1: ./trian: not found", "./trian"},
      {"/bin/sh: 1: pyhton: not found", ""},
      {"bash: pyhton: command not found", ""},
      {"run.sh: line 3: pyhton: command not found", ""},
      {"cat: missing.txt: No such file or directory", kNone},
      {"ls: cannot access 'data.csv': No such file or directory", kNone},
      {"./a: error while loading shared libraries: libfoo.so.1: cannot open shared object file: No such file "
       "or directory",
       kNone},
      {": not found", kNone},
      {": No such file", kNone},
      {"bash: ", kNone},
      {"bash: line 1", kNone},
      {"sh: 1", kNone},
      {"", kNone},
      {"loss 0.5", kNone},
  };
  for (const auto& c : cases) EXPECT_EQ(missing_file(c.line).value_or(kNone), c.file) << c.line;
}

TEST(Cause, the_python_is_that_of_the_command_where_it_is_certain) {
  const struct {
    const char *command, *python;
  } cases[] = {
      {"python train.py", "python"},
      {"python train.py --lr ${{inputs.lr}}", "python"},
      {"cd x && OMP=1 python3.11 -u train.py", "python3.11"},
      {"(/opt/v/bin/python3 train.py)", "/opt/v/bin/python3"},
      {"v/bin/python train.py", "v/bin/python"},
      {"cd x; v/bin/python train.py", ""},
      {"python a.py && python b.py", ""},
      {"torchrun train.py", ""},
      {"$HOME/bin/python train.py", ""},
      {"python train.py $RANK", ""},
      {". ./v/bin/activate && python train.py", ""},
      {"source v/setup\npython train.py", ""},
      {"conda run -n x python train.py", ""},
      {"module load python && python train.py", ""},
      {"PATH=/opt/v/bin python train.py", ""},
      {"pythonic x", ""},
      {"", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(python_of(c.command), c.python) << c.command;
}

struct Job {
  job::TestFolder folder;
  Surroundings around;
  job::Verdict verdict;
  Job(int code, std::string command) {
    around.directory = folder.path + "/wd";
    around.has_code = true;
    around.command = std::move(command);
    for (const char* name : {"/wd/trainer", "/wd/v/bin", "/elsewhere"})
      CHECK(make_folders(folder.path + name));
    for (const char* name : {"/wd/train.py", "/wd/run.sh", "/wd/trainer/main.py", "/elsewhere/train.py"})
      CHECK(write_file(folder.path + name, "x", 0644));
    CHECK(write_file(folder.path + "/wd/v/bin/python", "x", 0755));
    CHECK(::symlink("../elsewhere", (around.directory + "/link").c_str()) == 0);
    verdict.code = code;
  }
  std::string hint(const std::vector<std::string>& lines) {
    verdict.last_lines = lines;
    return hint_of_cause(verdict, around);
  }
  std::string of_python(const std::string& file) {
    return hint({"python: can't open file '" + file + "': [Errno 2] No such file or directory"});
  }
};

TEST(Cause, a_script_of_the_job_is_looked_for) {
  Job job(2, "python trian.py");
  const std::string here = "there is no trian.py in the folder where the job runs; did you mean train.py?";
  EXPECT_EQ(job.of_python("trian.py"), here);
  EXPECT_EQ(job.of_python(job.around.directory + "/trian.py"), here);
  EXPECT_NE(job.of_python("./trainer/mian.py").find("/wd/trainer; did you mean main.py?"), std::string::npos);
  ASSERT_EQ(::symlink("wd", (job.folder.path + "/other").c_str()), 0);
  const std::string real = job.around.directory + "/trian.py";
  job.around.directory = job.folder.path + "/other";
  EXPECT_EQ(job.of_python(real), here) << "Python names the folder without links";
  Job script(127, "bash rnu.sh");
  EXPECT_NE(script.hint({"bash: rnu.sh: No such file or directory"}).find("did you mean run.sh?"),
            std::string::npos);
}

TEST(Cause, no_other_folder_is_looked_into) {
  Job job(2, "python trian.py");
  for (const std::string file :
       {"/nowhere/trian.py", "../elsewhere/trian.py", "link/trian.py", "/", "..", ""})
    EXPECT_EQ(job.of_python(file), "") << file;
  EXPECT_EQ(job.of_python(job.folder.path + "/elsewhere/trian.py"), "");
  EXPECT_EQ(job.of_python(job.around.directory + "/../elsewhere/trian.py"), "");
  EXPECT_EQ(job.of_python("train.py"), "") << "it is there";
}

TEST(Cause, what_other_programs_miss_is_theirs_to_say) {
  Job job(127, "cat missing.txt; pyhton train.py; ./prog");
  EXPECT_EQ(job.hint({"./prog: error while loading shared libraries: libfoo.so.1: cannot open shared object "
                      "file: No such file or directory"}),
            "");
  EXPECT_EQ(
      job.hint({"cat: missing.txt: No such file or directory", "bash: line 1: pyhton: command not found"}),
      "");
  EXPECT_EQ(job.hint({"bash: line 1: missing.txt: No such file or directory",
                      "bash: line 1: pyhton: command not found"}),
            "")
      << "the last one decides";
  EXPECT_EQ(job.hint({"bash: line 7: other.sh: No such file or directory"}), "") << "no word of the command";
  job.verdict.code = 2;
  EXPECT_EQ(job.hint({"ls: cannot access 'data.csv': No such file or directory"}), "");
}

TEST(Cause, a_python_is_looked_for_from_where_the_job_runs) {
  const std::vector<std::string> lines{"ModuleNotFoundError: No module named 'torch'"};
  Job job(1, "v/bin/python train.py");
  EXPECT_NE(job.hint(lines).find("the job's Python, " + job.around.directory + "/v/bin/python, does"),
            std::string::npos);
  job.around.command = "python train.py";
  EXPECT_EQ(job.hint(lines), "") << "there is none in PATH";
  job.around.path = "/nowhere:" + job.around.directory + "/v/bin";
  EXPECT_NE(job.hint(lines).find("/wd/v/bin/python, does"), std::string::npos);
  job.around.command = "source v/setup && python train.py";
  EXPECT_EQ(job.hint(lines), "");
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
