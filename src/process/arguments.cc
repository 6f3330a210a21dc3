#include "process/arguments.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace phalanx::process {
namespace {

constexpr uint64_t kLeast = 128 * 1024;  // of all, however small the stack
constexpr uint64_t kPagesInOneString = 32;
constexpr uint64_t kKilo = 1024;
constexpr size_t kShownName = 60;

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string name_of(std::string_view line) {
  std::string name(line.substr(0, std::min(line.find('='), kShownName)));
  for (char& c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return name;
}

using Sized = std::pair<uint64_t, std::string>;

// The largest of all, as "A with 1,200,000 and B with 900,000".
std::string largest(std::vector<Sized> parts) {
  constexpr size_t kNamed = 3;
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Sized& a, const Sized& b) { return a.first > b.first; });
  parts.resize(std::min(parts.size(), kNamed));
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text += (i == 0                  ? ""
             : i + 1 == parts.size() ? " and "
                                     : ", ") +
            parts[i].second + " with " + grouped(parts[i].first);
  return text;
}

}  // namespace

ArgumentLimits argument_limits() {
  ArgumentLimits limits = kLargestLimits;
  if (const long page = ::sysconf(_SC_PAGESIZE); page > 0)
    limits.one_string = kPagesInOneString * static_cast<uint64_t>(page) - 1;
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) == 0)
    limits.all = std::clamp(static_cast<uint64_t>(stack.rlim_cur) / 4, kLeast, kLargestLimits.all);
  return limits;
}

std::string too_large(const std::string& program, const std::vector<const char*>& argv,
                      const std::vector<const char*>& env, const ArgumentLimits& most) {
  std::vector<Sized> parts;
  uint64_t all = 0, words = program.size() + 1;
  for (const char* word : argv) {
    if (word == nullptr) break;
    const uint64_t size = std::strlen(word);
    if (size > most.one_string)
      return "the command has an argument of " + grouped(size) + " bytes, and Linux takes " +
             grouped(most.one_string) + "; put it in a script or a file";
    words += size + 1 + sizeof(char*);
  }
  parts.emplace_back(words, "the command");
  all = words;
  for (const char* line : env) {
    if (line == nullptr) break;
    const uint64_t size = std::strlen(line);
    if (size > most.one_string)
      return "the variable " + name_of(line) + " is " + grouped(size) +
             " bytes long with its name, and Linux takes " + grouped(most.one_string) + "; put it in a file";
    parts.emplace_back(size + 1 + sizeof(char*), name_of(line));
    all += parts.back().first;
  }
  if (all <= most.all) return "";
  const size_t variables = parts.size() - 1;
  std::string why = "the command and its " + grouped(variables) + " variables take " + grouped(all) +
                    " bytes together, and Linux takes " + grouped(most.all) +
                    (most.all < kLargestLimits.all ? ", a quarter of `ulimit -s`" : "") + " (" +
                    largest(std::move(parts)) + "); put what is long in files";
  if (all <= kLargestLimits.all)
    why += ", or say `ulimit -s " + std::to_string((all / kKilo + 1) * 4 + kKilo) + "` first";
  return why;
}

}  // namespace phalanx::process
