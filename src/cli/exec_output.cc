#include "cli/exec_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "cli/fold.h"
#include "cli/harmless.h"

namespace phalanx::cli {
namespace {

constexpr size_t kLongestLine = 65536;  // longer ones come in pieces

class Interleaved : public ExecOutput {
 public:
  Interleaved(std::vector<std::string> names, Writer write, bool terminal)
      : names_(std::move(names)), write_(std::move(write)), terminal_(terminal), lines_(names_.size()) {}

  Status take(size_t node, std::string_view bytes) override {
    if (names_.size() == 1 && !terminal_) return write_(bytes), Done{};
    std::string& line = lines_[node];
    while (!bytes.empty()) {
      const size_t end = bytes.find('\n');
      const size_t size = std::min({end == bytes.npos ? bytes.size() : end, kLongestLine - line.size()});
      line += bytes.substr(0, size);
      bytes.remove_prefix(size);
      if (size == end) bytes.remove_prefix(1);
      if (size == end || line.size() == kLongestLine) put(node);
    }
    return Done{};
  }

  Status end(size_t node, const std::string&) override {
    if (!lines_[node].empty()) put(node);
    return Done{};
  }

 private:
  void put(size_t node) {
    std::string& line = lines_[node];
    write_((names_.size() > 1 ? names_[node] + ": " : "") + (terminal_ ? harmless(line) : line) + "\n");
    line.clear();
  }

  const std::vector<std::string> names_;
  const Writer write_;
  const bool terminal_;
  std::vector<std::string> lines_;
};

class Folded : public ExecOutput {
 public:
  Folded(std::vector<std::string> names, Writer write, bool terminal)
      : names_(std::move(names)), write_(std::move(write)), terminal_(terminal), fold_(names_.size()) {}

  Status take(size_t node, std::string_view bytes) override { return fold_.append(node, bytes); }
  Status end(size_t node, const std::string& ending) override { return fold_.end(node, ending); }

  Status finish() override {
    for (const Fold::Block& block : fold_.take()) {
      write_(heading(block, names_));
      char last = '\n';
      TRY(block.output->read([&](std::string_view bytes) -> Status {
        if (bytes.empty()) return Done{};
        last = bytes.back();
        if (terminal_)
          write_(harmless_text(bytes));
        else
          write_(bytes);
        return Done{};
      }));
      if (last != '\n') write_("\n");
    }
    return Done{};
  }

 private:
  static std::string harmless_text(std::string_view bytes) {
    std::string out;
    for (size_t at = 0; at < bytes.size();) {
      const size_t end = std::min(bytes.find('\n', at), bytes.size());
      out += harmless(bytes.substr(at, end - at));
      if (end < bytes.size()) out += '\n';
      at = end + 1;
    }
    return out;
  }

  const std::vector<std::string> names_;
  const Writer write_;
  const bool terminal_;
  Fold fold_;
};

class Files : public ExecOutput {
 public:
  Status open(const std::vector<std::string>& names, const std::string& folder) {
    TRY(make_folders(folder, 0777));
    std::vector<std::string> made;
    for (const std::string& name : names) {
      paths_.push_back(file_of(folder, name));
      if (!exists(paths_.back())) made.push_back(paths_.back());
      auto file = open_file(paths_.back(), O_WRONLY | O_CREAT, 0666);
      if (!file) {
        for (const std::string& path : made) ::unlink(path.c_str());
        return std::move(file).error();
      }
      files_.push_back(*std::move(file));
    }
    // What is there is lost only once all can be written.
    for (const UniqueFd& file : files_) (void)::ftruncate(file.get(), 0);  // a pipe or a device has no length
    return Done{};
  }

  Status take(size_t node, std::string_view bytes) override {
    if (auto written = write_all(files_[node].get(), bytes); !written)
      return std::move(written).error().context(paths_[node]);
    return Done{};
  }

  Status end(size_t node, const std::string&) override {
    files_[node].reset();
    return Done{};
  }

 private:
  std::vector<std::string> paths_;
  std::vector<UniqueFd> files_;
};

}  // namespace

std::unique_ptr<ExecOutput> interleaved(std::vector<std::string> names, Writer write, bool terminal) {
  return std::make_unique<Interleaved>(std::move(names), std::move(write), terminal);
}

std::unique_ptr<ExecOutput> folded(std::vector<std::string> names, Writer write, bool terminal) {
  return std::make_unique<Folded>(std::move(names), std::move(write), terminal);
}

std::string file_of(const std::string& folder, const std::string& name) {
  return folder + "/" + name + ".out";
}

Result<std::unique_ptr<ExecOutput>> into_files(const std::vector<std::string>& names,
                                               const std::string& folder) {
  auto files = std::make_unique<Files>();
  TRY(files->open(names, folder));
  return std::unique_ptr<ExecOutput>(std::move(files));
}

Status HeadOutput::take(size_t node, std::string_view bytes) {
  sizes_[node] += bytes.size();
  heads_[node] += bytes.substr(0, std::min(bytes.size(), kMost - heads_[node].size()));
  return Done{};
}

namespace {

// Bytes of the character at the start of `text`; 0 where there is none.
size_t character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xc2 && first < 0xe0   ? 2
                      : (first & 0xf0) == 0xe0        ? 3
                      : first >= 0xf0 && first < 0xf5 ? 4
                                                      : 0;
  if (size == 0 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool too_long = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  return too_long || surrogate || (first == 0xf4 && byte(1) >= 0x90) ? 0 : size;
}

}  // namespace

std::string valid_utf8(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const size_t size = character(bytes);
    out += size > 0 ? bytes.substr(0, size) : "\xef\xbf\xbd";
    bytes.remove_prefix(std::max<size_t>(size, 1));
  }
  return out;
}

}  // namespace phalanx::cli
