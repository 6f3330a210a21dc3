#include "coordinator/cause.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/files.h"
#include "spec/problem.h"

namespace phalanx::coordinator {

namespace {

constexpr std::string_view kBetweenWords = " \t\n;&|()<>";

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  for (size_t at = 0; at < command.size();) {
    const size_t from = std::min(command.find_first_not_of(kBetweenWords, at), command.size());
    const size_t end = std::min(command.find_first_of(kBetweenWords, from), command.size());
    std::string word = command.substr(from, end - from);
    std::erase_if(word, [](char c) { return c == '\'' || c == '"'; });
    if (!word.empty()) words.push_back(std::move(word));
    at = end + 1;
  }
  return words;
}

bool is_program(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// As the job's shell finds it. "": nowhere, or somewhere that only the job knows.
std::string find_program(const std::string& name, const Surroundings& job) {
  if (name.find('/') != std::string::npos) {
    std::string found = name[0] == '/' ? name : job.directory + "/" + name;
    return is_program(found) ? found : "";
  }
  for (size_t at = 0; at <= job.path.size();) {
    const size_t end = std::min(job.path.find(':', at), job.path.size());
    std::string found = job.path.substr(at, end - at) + "/" + name;
    if (found[0] != '/' || end == at) return "";
    if (is_program(found)) return found;
    at = end + 1;
  }
  return "";
}

std::string of_missing_module(const Surroundings& job) {
  const std::string word = python_of(job.command);
  const std::string python = word.empty() ? "" : find_program(word, job);
  if (python.empty()) return "";
  return "the job's Python, " + python + ", does not have that module: `" + python +
         " -m pip install ...` puts it there; for another Python activate its environment and submit again, "
         "or name it in environments.yml";
}

// The path of `file` from the folder where the job runs; nothing where it lies elsewhere, or may: behind
// another path there can be a file system that no longer answers, and the job's end would wait for it.
std::optional<std::string> path_in(const std::string& directory, const std::string& file) {
  std::string left = file;
  if (file.starts_with("/")) {
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(directory.c_str(), nullptr), ::free);
    if (file.starts_with(directory + "/"))
      left = file.substr(directory.size() + 1);
    else if (real && file.starts_with(std::string(real.get()) + "/"))
      left = file.substr(std::strlen(real.get()) + 1);
    else
      return {};
  }
  std::string path;
  for (size_t at = 0; at < left.size();) {
    const size_t end = std::min(left.find('/', at), left.size());
    const std::string name = left.substr(at, end - at);
    at = end + 1;
    if (name.empty() || name == ".") continue;
    if (name == "..") return {};
    path += (path.empty() ? "" : "/") + name;
    struct stat info {};
    if (::lstat((directory + "/" + path).c_str(), &info) == 0 && (!S_ISDIR(info.st_mode) || at > left.size()))
      return {};  // a link, or it is there after all
  }
  return path.empty() ? std::nullopt : std::optional(path);
}

std::string of_missing_file(const std::string& file, const Surroundings& job) {
  constexpr size_t kFew = 8;
  const auto path = job.directory.empty() ? std::nullopt : path_in(job.directory, file);
  if (!path) return "";
  const size_t slash = path->rfind('/');
  const bool own = slash == std::string::npos;
  const std::string folder = own ? job.directory : job.directory + "/" + path->substr(0, slash);
  auto names = list_folder(folder);
  if (!names) return "";
  std::erase_if(*names, [](const std::string& name) { return name[0] == '.'; });
  std::sort(names->begin(), names->end());
  const std::string none = "there is no " + spec::shown(name_in(*path)) + " in " +
                           (own ? "the folder where the job runs" : spec::shown(folder, 200));
  const std::string meant = spec::nearest(name_in(*path), *names);
  if (!meant.empty()) return none + "; did you mean " + spec::shown(meant) + "?";
  if (own && !job.has_code)
    return none + ", since the job file names no code: `code: .` copies the job file's folder there";
  if (names->empty()) return none + ", which is empty";
  if (names->size() > kFew) names->resize(kFew), names->emplace_back("...");
  return none + ", which has " + spec::shown(spec::join(*names), 300);
}

constexpr std::string_view kPython = "can't open file '";
bool says_python(const std::string& line) { return line.find(kPython) != line.npos; }

// What a shell says behind its name and the number of the line: "bash: line 3: ", "/bin/sh: 1: ".
std::string_view said_by_shell(std::string_view line) {
  const size_t colon = line.find(": ");
  if (colon == line.npos) return "";
  const std::string name = name_in(std::string(line.substr(0, colon)));
  if (name != "bash" && name != "sh" && name != "dash") return "";
  line.remove_prefix(colon + 2);
  std::string_view number = line;
  if (number.starts_with("line ")) number.remove_prefix(5);
  const size_t end = number.find_first_not_of("0123456789");
  if (end == number.npos || end == 0 || !number.substr(end).starts_with(": ")) return line;
  return number.substr(end + 2);
}

}  // namespace

std::optional<std::string> missing_file(const std::string& line) {
  constexpr std::string_view kErrno = "': [Errno 2] ", kOpen = "cannot open ",
                             kNoCommand = ": command not found", kNotFound = ": not found";
  if (line.ends_with(kNoCommand)) return "";
  if (const size_t at = line.find(kPython); at != line.npos) {
    const size_t from = at + kPython.size(), end = line.rfind(kErrno);
    if (end == line.npos || end < from) return {};
    return line.substr(from, end - from);
  }
  std::string_view said = said_by_shell(line);
  if (said.ends_with(kNotFound)) {
    said.remove_suffix(kNotFound.size());
    return std::string(said.find('/') == said.npos ? "" : said);
  }
  for (const std::string_view end : {": No such file or directory", ": No such file"}) {
    if (!said.ends_with(end)) continue;
    said.remove_suffix(end.size());
    if (said.starts_with(kOpen)) said.remove_prefix(kOpen.size());
    return std::string(said);
  }
  return {};
}

std::string python_of(const std::string& command) {
  // What may put another Python before that of PATH, or run it elsewhere.
  constexpr std::string_view kElsewhere[] = {".",    "source", "module", "ml",     "eval", "alias",
                                             "uv",   "poetry", "pipenv", "pixi",   "env",  "docker",
                                             "srun", "ssh",    "podman", "enroot", "sudo", "spack"};
  for (const std::string_view said : {"activate", "conda", "mamba", "apptainer", "singularity", "PATH=", "`"})
    if (command.find(said) != command.npos) return "";
  for (size_t at = command.find('$'); at != command.npos; at = command.find('$', at + 1))
    if (!command.substr(at).starts_with("${{")) return "";
  std::string python;
  bool moves = false;
  for (const std::string& word : words_of(command)) {
    if (std::find(std::begin(kElsewhere), std::end(kElsewhere), word) != std::end(kElsewhere)) return "";
    moves = moves || word == "cd" || word == "pushd";
    const std::string name = name_in(word);
    if (!name.starts_with("python") || name.find_first_not_of("0123456789.", 6) != name.npos) continue;
    if (!python.empty() || word.find_first_of("=\\~*?{") != word.npos) return "";
    python = word;
  }
  const bool relative = python.find('/') != python.npos && python[0] != '/';
  return relative && moves ? "" : python;
}

std::string hint_of_cause(const job::Verdict& verdict, const Surroundings& surroundings) {
  constexpr int kUsage = 2, kNotFound = 127;  // of Python and sh, whose script is not there; of a shell
  if (!verdict.code || *verdict.code == 0) return "";
  for (const std::string& line : verdict.last_lines)
    if (line.find("ModuleNotFoundError: No module named") != line.npos)
      return of_missing_module(surroundings);
  if (*verdict.code != kUsage && *verdict.code != kNotFound) return "";
  const std::vector<std::string> words = words_of(surroundings.command);
  for (auto line = verdict.last_lines.rbegin(); line != verdict.last_lines.rend(); ++line) {
    const auto file = missing_file(*line);
    if (!file) continue;
    // Of other files only the program that wanted them knows where they should be.
    const bool wanted = says_python(*line) || std::find(words.begin(), words.end(), *file) != words.end();
    return wanted && !file->empty() ? of_missing_file(*file, surroundings) : "";
  }
  return "";
}

}  // namespace phalanx::coordinator
