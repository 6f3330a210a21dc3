#include "cli/console.h"

#include <algorithm>

#include "base/result.h"
#include "cli/harmless.h"

namespace phalanx::cli {
namespace {

constexpr size_t kLongestLine = 64 << 10;  // a longer one is shown in pieces
constexpr size_t kMostHeld = 4 << 20;  // bytes that wait for the same line of others; a flood is not merged
constexpr size_t kMostBars = 8;
constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::milliseconds kHalfLine{
    200};  // an unfinished line younger than this is not worth a redraw
constexpr const char* kColours[] = {"36", "33", "32", "35", "34", "31", "96", "93", "92", "95", "94", "91"};

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t") == std::string_view::npos; }

}  // namespace

std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!text.empty()) text += ",";
    text += std::to_string(numbers[i]);
    if (end - i == 2) text += ",";
    if (end - i > 2) text += "-";
    if (end - i >= 2) text += std::to_string(numbers[end - 1]);
    i = end;
  }
  return text;
}

Console::Rank& Console::rank_at(int rank) {
  CHECK(rank >= 0);
  if (static_cast<size_t>(rank) >= ranks_.size()) ranks_.resize(static_cast<size_t>(rank) + 1);
  return ranks_[static_cast<size_t>(rank)];
}

void Console::note(std::string_view text) { out_ += "phalanx: " + harmless_lines(text) + "\n"; }

void Console::set_status(std::string text) {
  if (text == status_) return;
  status_ = std::move(text);
  live_changed_ = true;
}

void Console::add(int number, std::string_view bytes, Time now) {
  if (passes_through()) {
    out_ += bytes;
    return;
  }
  Rank& rank = rank_at(number);
  while (!bytes.empty()) {
    if (rank.return_pending) {
      rank.return_pending = false;
      if (bytes[0] != '\n') take_return(rank);
    }
    const size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    take_text(number, rank, bytes.substr(0, end), now);
    bytes.remove_prefix(end);
    if (bytes.empty()) break;
    if (bytes[0] == '\n')
      end_line(number, rank, now);
    else
      rank.return_pending = true;
    bytes.remove_prefix(1);
  }
}

void Console::take_text(int number, Rank& rank, std::string_view text, Time now) {
  if (text.empty()) return;
  live_changed_ = live_changed_ || options_.terminal;
  if (!rank.since) rank.since = now;
  while (rank.line.size() + text.size() > kLongestLine) {
    const size_t room = kLongestLine - rank.line.size();
    rank.line += text.substr(0, room);
    text.remove_prefix(room);
    say(number, std::exchange(rank.line, {}), now);
  }
  rank.line += text;
}

void Console::take_return(Rank& rank) {
  rank.bar = true;
  if (rank.line.empty()) return;
  rank.overwritten = is_blank(rank.line) ? "" : std::move(rank.line);  // blanks wipe a bar away
  rank.line.clear();
}

void Console::end_line(int number, Rank& rank, Time now) {
  std::string text = std::move(rank.line);
  if (rank.bar && text.empty()) text = std::move(rank.overwritten);
  rank.line.clear();
  rank.overwritten.clear();
  rank.bar = false;
  rank.since.reset();
  say(number, std::move(text), now);
}

void Console::say(int number, std::string text, Time now) {
  if (world_ <= 1 || !options_.prefix) return show({std::move(text), {number}, now});
  held_bytes_ += text.size() + sizeof(Held);
  rank_at(number).said.emplace_back(std::move(text), now);
  if (held_bytes_ <= kMostHeld) return;
  compare();
  release(now, true);
}

// In turn, because programs that do the same say the same after as many lines, though we read one after the
// other.
void Console::compare() {
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      auto& said = ranks_[i].said;
      if (said.empty()) continue;
      auto [text, since] = std::move(said.front());
      said.pop_front();
      hold(static_cast<int>(i), std::move(text), since);
      more = true;
    }
  }
}

void Console::hold(int number, std::string text, Time since) {
  Rank& rank = rank_at(number);
  if (const auto same = entries_of_.find(text); same != entries_of_.end()) {
    // Not one that comes before something this rank has said already.
    const auto entry = std::upper_bound(same->second.begin(), same->second.end(), rank.last_entry);
    if (entry != same->second.end()) {
      auto& ranks = held_[*entry - first_entry_].ranks;
      ranks.insert(std::upper_bound(ranks.begin(), ranks.end(), number), number);
      rank.last_entry = *entry;
      held_bytes_ -= text.size() + sizeof(Held);
      return;
    }
  }
  held_.push_back({std::move(text), {number}, since});
  rank.last_entry = first_entry_ + held_.size() - 1;
  entries_of_[held_.back().text].push_back(rank.last_entry);
}

void Console::release(Time now, bool all) {
  while (!held_.empty()) {
    Held& front = held_.front();
    const bool complete = front.ranks.size() >= static_cast<size_t>(world_);
    if (!all && !complete && now < front.since + options_.window) break;
    const auto entries = entries_of_.find(front.text);
    entries->second.pop_front();
    if (entries->second.empty()) {
      entries_of_.erase(entries);
    } else {  // the key points into the line that goes
      auto node = entries_of_.extract(entries);
      node.key() = held_[node.mapped().front() - first_entry_].text;
      entries_of_.insert(std::move(node));
    }
    held_bytes_ -= front.text.size() + sizeof(Held);
    show(front);
    held_.pop_front();
    ++first_entry_;
  }
}

std::string Console::label_of(const std::vector<int>& ranks) {
  constexpr size_t kFew = 4;
  if (rank_at(ranks[0]).name.empty())
    return ranks.size() == 1 ? std::to_string(rank_at(ranks[0]).node) + "/" + std::to_string(ranks[0])
                             : "ranks " + ranges(ranks);
  std::string names;
  for (size_t i = 0; i < std::min(ranks.size(), kFew); ++i)
    names += (i > 0 ? ", " : "") + harmless_word(rank_at(ranks[i]).name);
  if (ranks.size() > kFew) names += " and " + std::to_string(ranks.size() - kFew) + " more";
  return names;
}

std::string Console::prefix_of(const std::vector<int>& ranks) {
  if (world_ <= 1 || !options_.prefix) return "";
  std::string text = "[" + label_of(ranks) + "]";
  if (options_.colour && ranks.size() == 1)
    text = std::string("\x1b[") + kColours[static_cast<size_t>(ranks[0]) % std::size(kColours)] + "m" + text +
           "\x1b[0m";
  else if (options_.colour)
    text = "\x1b[1m" + text + "\x1b[0m";
  return text + " ";
}

void Console::show(const Held& held) {
  out_ += prefix_of(held.ranks);
  if (options_.harmless)
    out_ += harmless(held.text);
  else
    out_ += held.text;
  out_ += '\n';
}

std::vector<std::string> Console::live_lines(Time now) {
  std::vector<std::string> lines;
  half_line_young_ = false;
  const size_t most = std::min(kMostBars, options_.height / 2);
  for (size_t i = 0; i < ranks_.size() && lines.size() < most; ++i) {
    const Rank& rank = ranks_[i];
    const std::string& text = rank.line.empty() ? rank.overwritten : rank.line;
    if (is_blank(text)) continue;
    if (!rank.bar && rank.since && now < *rank.since + kHalfLine) {
      half_line_young_ = true;
      continue;
    }
    lines.push_back(cut_to(prefix_of({static_cast<int>(i)}) + harmless(text), options_.width - 1));
  }
  if (!status_.empty()) lines.push_back(cut_to(harmless_word(status_), options_.width - 1));
  return lines;
}

std::string Console::erase_area() const {
  if (area_.empty()) return "";
  std::string text = "\r";
  if (area_.size() > 1) text += "\x1b[" + std::to_string(area_.size() - 1) + "A";
  return text + "\x1b[J";
}

std::string Console::flush(Time now) {
  compare();
  release(now, false);
  std::string lines = std::exchange(out_, {});
  if (!options_.terminal) return lines;
  const bool may_redraw = live_changed_ && (!drawn_ || now >= *drawn_ + kRedraw);
  if (lines.empty() && !may_redraw) return "";
  std::vector<std::string> area = live_lines(now);
  if (may_redraw) drawn_ = now, live_changed_ = half_line_young_;
  if (lines.empty() && area == area_) return "";
  std::string text = erase_area() + lines;
  for (size_t i = 0; i < area.size(); ++i) text += (i > 0 ? "\n" : "") + area[i];
  area_ = std::move(area);
  return text;
}

std::optional<Console::Time> Console::due() const {
  std::optional<Time> when;
  if (!held_.empty()) when = held_.front().since + options_.window;
  if (options_.terminal && live_changed_) {
    const Time redraw = drawn_ ? *drawn_ + kRedraw : Time{};
    if (!when || redraw < *when) when = redraw;
  }
  return when;
}

std::string Console::finish() {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    const bool left = !rank.line.empty() || (rank.bar && !rank.overwritten.empty());
    if (left) end_line(static_cast<int>(i), rank, Time{});
  }
  compare();
  release({}, true);
  std::string text = erase_area() + std::exchange(out_, {});
  area_.clear();
  return text;
}

}  // namespace phalanx::cli
