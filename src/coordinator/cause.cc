#include "coordinator/cause.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/files.h"
#include "spec/problem.h"

namespace phalanx::coordinator {

namespace {

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// As a shell finds it. "": nowhere.
std::string find_in(const std::string& path, const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    std::string found = path.substr(at, end - at) + "/" + name;
    if (end > at && ::access(found.c_str(), X_OK) == 0) return found;
    at = end + 1;
  }
  return "";
}

std::string of_missing_module(const Surroundings& job) {
  std::string python = find_in(job.path, python_of(job.command));
  if (python.empty()) python = find_in(job.path, "python3");
  if (python.empty()) return "";
  return "the job's Python, " + python + ", does not have that module: `" + python +
         " -m pip install ...` puts it there; for another Python activate its environment and submit again, "
         "or name it in environments.yml";
}

std::string of_missing_file(const std::string& file, const Surroundings& job) {
  constexpr size_t kFew = 8;
  const std::string whole = file[0] == '/' ? file : job.directory + "/" + file;
  const std::string folder = whole.substr(0, whole.rfind('/'));
  auto names = list_folder(folder.empty() ? "/" : folder);
  if (!names) return "";
  std::erase_if(*names, [](const std::string& name) { return name[0] == '.'; });
  std::sort(names->begin(), names->end());
  const bool own = folder == job.directory;
  const std::string none = "there is no " + spec::shown(name_in(file)) + " in " +
                           (own ? "the folder where the job runs" : spec::shown(folder, 200));
  const std::string meant = spec::nearest(name_in(file), *names);
  if (!meant.empty()) return none + "; did you mean " + spec::shown(meant) + "?";
  if (own && !job.has_code)
    return none + ", since the job file names no code: `code: .` copies the job file's folder there";
  if (names->empty()) return none + ", which is empty";
  if (names->size() > kFew) names->resize(kFew), names->emplace_back("...");
  return none + ", which has " + spec::shown(spec::join(*names), 300);
}

}  // namespace

std::string missing_file(const std::string& line) {
  constexpr std::string_view kPython = "can't open file '", kSays = ": No such file",
                             kDash = ": cannot open ", kNotFound = ": not found";
  if (const size_t at = line.find(kPython); at != line.npos) {
    const size_t from = at + kPython.size(), end = line.find('\'', from);
    if (end == line.npos || line.find("No such file", end) == line.npos) return "";
    return line.substr(from, end - from);
  }
  const size_t says = std::min(line.rfind(kSays), line.size());
  const size_t end = says < line.size()          ? says
                     : line.ends_with(kNotFound) ? line.size() - kNotFound.size()
                                                 : 0;
  if (end == 0) return "";
  if (const size_t dash = line.rfind(kDash, end); dash != line.npos)
    return line.substr(dash + kDash.size(), end - dash - kDash.size());
  const size_t colon = line.rfind(": ", end - 1);
  if (colon == line.npos) return "";
  const std::string file = line.substr(colon + 2, end - colon - 2);
  return file.find_first_of("./") == file.npos ? "" : file;  // else it is a command of PATH
}

std::string python_of(const std::string& command) {
  for (size_t at = 0; at < command.size();) {
    const size_t from = std::min(command.find_first_not_of(" \t\n;&|()", at), command.size());
    const size_t end = std::min(command.find_first_of(" \t\n;&|()", from), command.size());
    std::string word = command.substr(from, end - from);
    const std::string name = name_in(word);
    const bool plain = word.find_first_of("$`'\"\\=") == word.npos;
    if (plain && name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == name.npos)
      return word;
    at = end + 1;
  }
  return "python";
}

std::string hint_of_cause(const job::Verdict& verdict, const Surroundings& surroundings) {
  constexpr int kUsage = 2, kNotFound = 127;  // of Python and sh, whose script is not there; of a shell
  if (!verdict.code || *verdict.code == 0) return "";
  for (const std::string& line : verdict.last_lines)
    if (line.find("ModuleNotFoundError: No module named") != line.npos)
      return of_missing_module(surroundings);
  if (*verdict.code != kUsage && *verdict.code != kNotFound) return "";
  for (const std::string& line : verdict.last_lines)
    if (const std::string file = missing_file(line); !file.empty())
      return of_missing_file(file, surroundings);
  return "";
}

}  // namespace phalanx::coordinator
