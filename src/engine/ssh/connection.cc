#include "engine/ssh/connection.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "job/layout.h"

namespace phalanx::engine::ssh {

namespace {

// A socket's path is short, and the folder ours alone.
std::string control_folder() {
  constexpr size_t kMost = 50;  // of 107, with 40 digits and ssh's own ending
  std::string folder = job::home() + "/ssh";
  if (folder.size() > kMost) folder = "/tmp/phalanx-" + std::to_string(::geteuid());
  struct stat info {};
  if (!make_folders(folder) || ::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
      info.st_uid != ::geteuid() || (info.st_mode & 0077) != 0)
    return "";
  return folder;
}

bool has(const std::string& text, std::string_view words) { return text.find(words) != text.npos; }

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const size_t end = text.rfind('\n');
  return end == std::string::npos ? text : text.substr(end + 1);
}

}  // namespace

std::vector<std::string> Connection::words(const std::string& host, const std::string& command,
                                           bool terminal) const {
  std::vector<std::string> words{"ssh",
                                 "-o",
                                 "BatchMode=yes",
                                 "-o",
                                 "ConnectTimeout=10",
                                 "-o",
                                 "ServerAliveInterval=5",
                                 "-o",
                                 "ServerAliveCountMax=3"};
  if (const std::string folder = control_folder(); !folder.empty())
    for (const std::string& word :
         {std::string("-o"), std::string("ControlMaster=auto"), std::string("-o"),
          "ControlPath=" + folder + "/%C", std::string("-o"), std::string("ControlPersist=60")})
      words.push_back(word);
  words.insert(words.end(), options_.begin(), options_.end());
  words.emplace_back(terminal ? "-t" : "-T");
  words.push_back(host);
  words.emplace_back("--");
  words.push_back(command);
  return words;
}

process::Question Connection::question(const std::string& host, const std::string& command,
                                       std::string input) const {
  return {words(host, command), std::move(input), ""};
}

bool no_such_host(const std::string& errors) { return has(errors, "Could not resolve hostname"); }

std::string explain(const std::string& host, const std::string& errors) {
  if (has(errors, "REMOTE HOST IDENTIFICATION HAS CHANGED"))
    return host +
           ": its host key has changed since it was last seen. If the machine was set up anew: ssh-keygen "
           "-R " +
           host + ", then ssh " + host + " once";
  if (has(errors, "Host key verification failed"))
    return host + ": its host key is not known yet: say yes to it by ssh " + host + " once";
  if (has(errors, "Permission denied"))
    return host + ": asks for a password, or takes none of your keys: ssh-copy-id " + host;
  if (no_such_host(errors))
    return host + ": there is no machine of that name: correct it, or name it in /etc/hosts or ~/.ssh/config";
  if (has(errors, "No route to host") || has(errors, "Network is unreachable"))
    return host + ": there is no way to it (" + last_line(errors) + ")";
  if (has(errors, "Connection refused")) return host + ": no ssh server answers there (Connection refused)";
  if (has(errors, "timed out")) return host + ": does not answer (" + last_line(errors) + ")";
  return host + ": " + last_line(errors);
}

}  // namespace phalanx::engine::ssh
