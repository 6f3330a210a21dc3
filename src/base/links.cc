#include "base/links.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <string_view>
#include <vector>

namespace phalanx {
namespace {

constexpr int kMostLinks = 40;  // one behind the other, as the kernel has it

// The last of `names` is the first to go to.
void push_names(std::vector<std::string>& names, std::string_view path) {
  while (!path.empty()) {
    const size_t slash = path.rfind('/');
    names.emplace_back(slash == std::string_view::npos ? path : path.substr(slash + 1));
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string path;
  for (const std::string& name : names) path += (path.empty() ? "" : "/") + name;
  return path.empty() ? "." : path;
}

}  // namespace

// By hand, as openat2(RESOLVE_BENEATH) is newer than kernels that are still about.
std::optional<std::string> leads_inside(int top, const std::string& path) {
  std::vector<std::string> at, left;
  push_names(left, path);
  bool is_folder = true;
  for (int links = 0; !left.empty();) {
    const std::string name = std::move(left.back());
    left.pop_back();
    if (!is_folder) return {};
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      if (at.empty()) return {};
      at.pop_back();
      continue;
    }
    at.push_back(name);
    const std::string here = joined(at);
    struct stat info {};
    if (::fstatat(top, here.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return {};
    is_folder = S_ISDIR(info.st_mode);
    if (!S_ISLNK(info.st_mode) && !S_ISREG(info.st_mode) && !is_folder) return {};
    if (!S_ISLNK(info.st_mode)) continue;
    char target[PATH_MAX];
    const ssize_t length = ::readlinkat(top, here.c_str(), target, sizeof target);
    if (length <= 0 || target[0] == '/' || ++links > kMostLinks) return {};
    at.pop_back();
    is_folder = true;  // in which the link is
    push_names(left, {target, static_cast<size_t>(length)});
  }
  return joined(at);
}

}  // namespace phalanx
