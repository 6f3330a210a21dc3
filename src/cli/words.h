// words.h - a job in our words: durations, the status line, the summary and the verdict. Pure, but for
// whether a folder of outputs is there.
#pragma once

#include <string>

#include "job/state.h"

namespace phalanx::cli {

std::string duration(double seconds);         // "400 ms", "12.3 s", "4 min 05 s", "2 h 07 min", "3 d 4 h"
std::string clock_time(double seconds);       // "00:12", "1:02:03"
std::string age(double then, double now);     // "12 s ago"; "" for 0
std::string local_time(double seconds);       // "2025-07-20 14:03:12"; "-" for 0
std::string memory(long kilobytes);           // "512 MB"; "-" for 0
std::string shape(const job::JobView& view);  // "2 nodes x 4 processes"

// One line on what it does now: "waiting for slots: 0 of 4 free", "running 00:12, 4 of 4 ranks alive".
std::string status_line(const job::JobView& view, double now);
// The same without what changes by the second: for a pipe, one line a change.
std::string status_change(const job::JobView& view);

// "Canceled", and for people what that leaves open: "Canceled (time limit)".
std::string state_words(const job::JobView& view);

// "NAME completed in 12.3 s, 2 nodes x 2 processes", and where its outputs are.
// `host`: what stands before its paths, "h1:", where the job is on another machine.
std::string summary(const job::JobView& view, const std::string& folder, const std::string& host = "");
// Why it failed or was canceled: text, host, last lines, hint, and where the whole log is. Several lines.
std::string verdict_block(const job::JobView& view, const std::string& folder, const std::string& host = "");

}  // namespace phalanx::cli
