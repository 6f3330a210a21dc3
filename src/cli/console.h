// console.h - the output of many ranks as one text that a person can read. Pure: bytes and times in, text
// out.
//
// Lines of several ranks are prefixed "[node/rank] "; the same line of several ranks within `window` is shown
// once, as "[ranks 0-7] ". Tasks have names: "[train] ", "[train, test] ". The order of one rank's lines is
// always kept. What a carriage return overwrote is not shown in a pipe; on a terminal, unfinished lines
// (progress bars) live in an area at the bottom, above the status line. On a terminal the text is made
// harmless; in a pipe bytes pass as they are. One process: no prefix, and in a pipe not a byte is changed;
// else a line of more than 64 KiB is shown in pieces.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace phalanx::cli {

class Console {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Options {
    bool terminal = false;  // a live area
    bool harmless = false;  // the ranks' text is cleaned for a terminal
    bool colour = false;    // of our prefixes
    bool prefix = true;     // where there is more than one rank
    bool alone = false;     // of several ranks, the bytes of one alone are added
    size_t width = 80, height = 24;
    std::chrono::milliseconds window{50};
  };

  explicit Console(Options options) : options_(options) {}

  void set_ranks(int world) { world_ = world; }
  void set_node(int rank, int node) { rank_at(rank).node = node; }
  void set_name(int rank, std::string name) { rank_at(rank).name = std::move(name); }  // of a task
  void set_size(size_t width, size_t height) { options_.width = width, options_.height = height; }
  void note(std::string_view text);   // a line of our own words, on a terminal
  void set_status(std::string text);  // the live area's last line; shown on a terminal only

  void add(int rank, std::string_view bytes, Time now);
  std::string flush(Time now);      // what can be shown by now
  std::optional<Time> due() const;  // when flush has more to say though nothing was added
  std::string finish();             // everything, half lines included, and the live area gone
  size_t held() const { return held_bytes_; }

 private:
  struct Rank {
    int node = 0;
    std::string name;                               // shown instead of numbers; "": there is none
    std::string line;                               // since the last newline or carriage return
    std::string overwritten;                        // what stood before the last carriage return
    bool bar = false;                               // this line has had a carriage return
    bool return_pending = false;                    // the last byte was '\r': "\r\n" is a newline
    std::optional<Time> since;                      // when the unfinished line began
    uint64_t last_entry = 0;                        // its newest held line
    std::deque<std::pair<std::string, Time>> said;  // whole lines that have not been compared with others yet
  };
  struct Held {  // a line that waits for other ranks to say the same
    std::string text;
    std::vector<int> ranks;  // sorted
    Time since;
  };

  // Nothing to add to the bytes, and nobody to protect from them.
  bool passes_through() const {
    return !options_.terminal && !options_.harmless && (world_ <= 1 || options_.alone);
  }
  Rank& rank_at(int rank);
  void take_text(int number, Rank& rank, std::string_view text, Time now);
  void take_return(Rank& rank);
  void end_line(int number, Rank& rank, Time now);
  void say(int number, std::string text, Time now);
  void compare();  // what ranks said goes, a line of each in turn, to the held ones
  void hold(int number, std::string text, Time since);
  void release(Time now, bool all);
  void show(const Held& held);
  std::string prefix_of(const std::vector<int>& ranks);
  std::string label_of(const std::vector<int>& ranks);
  std::vector<std::string> live_lines(Time now);
  std::string erase_area() const;

  Options options_;
  int world_ = 1;
  std::vector<Rank> ranks_;
  std::deque<Held> held_;
  uint64_t first_entry_ = 1;                                               // number of held_.front()
  std::unordered_map<std::string_view, std::deque<uint64_t>> entries_of_;  // keys live in held_
  size_t held_bytes_ = 0;
  std::string out_;
  std::string status_;
  std::vector<std::string> area_;  // as it stands on the terminal
  std::optional<Time> drawn_;
  bool live_changed_ = false;
  bool half_line_young_ = false;  // one that will belong into the area soon
};

// "0-2,5,7-9".
std::string ranges(const std::vector<int>& numbers);

}  // namespace phalanx::cli
