#include "cli/output.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cli/completion.h"
#include "cli/harmless.h"
#include "cli/words.h"

namespace phalanx::cli {
namespace {

const boost::json::value kValue = boost::json::parse(
    R"([{"name": "a", "time": 1753000000.25, "none": null, "list": [], "inner": {"yes": "no", "text": "a: b\n"}},)"
    R"( [1, [2]], "007"])");

TEST(output, json_is_readable_and_parses_back) {
  const std::string text = to_json_text(kValue);
  EXPECT_EQ(boost::json::parse(text), kValue);
  EXPECT_NE(text.find("\"time\": 1753000000.25"), std::string::npos) << text;
}

TEST(output, yaml_quotes_what_would_mean_something_else) {
  EXPECT_EQ(to_yaml(kValue),
            "- name: a\n"
            "  time: 1753000000.25\n"
            "  none: null\n"
            "  list: []\n"
            "  inner:\n"
            "    \"yes\": \"no\"\n"
            "    text: \"a: b\\n\"\n"
            "- - 1\n"
            "  - - 2\n"
            "- \"007\"\n");
}

TEST(output, tsv_has_one_line_a_row) {
  EXPECT_EQ(to_tsv({{"a\tb", "c\nd"}, {"", "\\"}}), "a\\tb\tc\\nd\n\t\\\\\n");
}

TEST(output, what_is_for_programs_commands_no_terminal) {
  const std::string odd = "\x1b[2J\r\x7f \xc2\x9b \xe2\x80\xae \xe2\x81\xa9 \xc3\xa9\xe2\x82\xac";
  EXPECT_EQ(to_tsv({{odd, "\xff\xc3"}}),
            "\\x1b[2J\\r\\x7f \\xc2\\x9b \\xe2\\x80\\xae \\xe2\\x81\\xa9 \xc3\xa9\xe2\x82\xac\t\\xff\\xc3\n");
  const boost::json::value value{{odd, odd}};
  const std::string json = to_json_text(value), yaml = to_yaml(value);
  EXPECT_EQ(boost::json::parse(json), value);
  EXPECT_NE(json.find("\\u001b[2J\\r\\u007f \\u009b \\u202e \\u2069 \xc3\xa9\xe2\x82\xac\": \""),
            std::string::npos)
      << json;
  EXPECT_NE(yaml.find("\\u001b[2J\\r\\u007f \\u009b \\u202e \\u2069 \xc3\xa9"), std::string::npos) << yaml;
}

TEST(output, tables_align_and_fit) {
  const std::vector<Column> titles{{"NAME", false, true}, {"N", true}};
  EXPECT_EQ(to_table(titles, {{"a", "1"}, {"long_name_here", "20"}}),
            "NAME             N\na                1\nlong_name_here  20\n");
  EXPECT_EQ(to_table(titles, {{"long_name_here", "20"}}, 14), "NAME         N\nlong_name…  20\n");
  EXPECT_EQ(to_table(titles, {{"日本", "1"}}), "NAME  N\n日本  1\n");
  EXPECT_EQ(to_table(titles, {}), "");
}

TEST(output, names_cannot_command_a_terminal) {
  EXPECT_EQ(to_table({{"NAME"}}, {{"a\x1b[31m\x07"}}), "NAME\na^G\n");
}

TEST(harmless, keeps_colours_only) {
  EXPECT_EQ(harmless("plain"), "plain");
  EXPECT_EQ(harmless("\x1b[1;31mx"), "\x1b[1;31mx\x1b[0m");
  EXPECT_EQ(harmless("a\x1b[5Ab\x1b[?25lc\x1b(Bd\x1bM\x1b"), "abcd");
  EXPECT_EQ(harmless("\x1bP+q\x1b\\x"), "x");
  EXPECT_EQ(harmless("\x1b]52;c;evil"), "");
  EXPECT_EQ(harmless("\xc2\23331m\x7f\b"),
            "\xef\xbf\xbd"
            "31m^?^H");
  EXPECT_EQ(harmless("\x1b[>4;1m"), "") << "ends in m, but sets a keyboard mode";
  EXPECT_EQ(harmless_word("a\x1b[31mb\nc"), "ab^Jc");
  EXPECT_EQ(harmless_word("a\u202eb\u2066c\u2014"), "a\ufffdb\ufffdc\u2014");
}

TEST(words, durations) {
  EXPECT_EQ(duration(0.0001), "1 ms");
  EXPECT_EQ(duration(0.25), "250 ms");
  EXPECT_EQ(duration(12.34), "12.3 s");
  EXPECT_EQ(duration(245), "4 min 05 s");
  EXPECT_EQ(duration(7620), "2 h 07 min");
  EXPECT_EQ(duration(270000), "3 d 3 h");
  EXPECT_EQ(clock_time(3723), "1:02:03");
}

TEST(words, times_that_no_calendar_shows) {
  for (const double time : {1e12, 1e19, 1e300, -1.0, -1e300, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    EXPECT_EQ(local_time(time), "-") << time;
    for (const std::string& text : {duration(time), clock_time(time), age(time, 0), age(1, time)})
      EXPECT_LT(text.size(), 40u) << time;
  }
  EXPECT_EQ(duration(std::nan("")), "1 ms");
  EXPECT_EQ(clock_time(HUGE_VAL), "277777777777:46:40");
}

TEST(words, a_status_for_every_state) {
  job::JobView view;
  view.state = job::State::queued;
  view.waiting_for = "slots: 0 of 4 free, 2 earlier jobs first";
  EXPECT_EQ(status_line(view, 0), "waiting for slots: 0 of 4 free, 2 earlier jobs first");
  view.state = job::State::starting;
  view.nodes_wanted = 2;
  view.nodes.push_back({});
  view.nodes[0].ready = true;
  EXPECT_EQ(status_line(view, 0), "waiting for nodes: 1 of 2");
  view.state = job::State::running;
  view.world = 4;
  view.ranks.resize(4);
  for (auto& rank : view.ranks) rank.phase = job::RankView::Phase::running;
  view.ranks[3].phase = job::RankView::Phase::ended;
  view.started = 100;
  EXPECT_EQ(status_line(view, 112), "running 00:12, 3 of 4 ranks alive");
  EXPECT_EQ(shape(view), "2 nodes x 2 processes");
}

TEST(words, a_verdict_says_what_where_and_what_to_do) {
  job::JobView view;
  view.name = "neat";
  view.state = job::State::failed;
  view.world = 2;
  view.submitted = view.started = 100;
  view.ended = 112.3;
  view.verdict = job::Verdict{
      "rank 1 (node 0, h) exited with code 3", "", "do this", 3, 1, 0, "h", 3, {}, false, {"x", "y"}};
  EXPECT_EQ(verdict_block(view, "/jobs/neat"),
            "neat failed in 12.3 s, 2 processes\n"
            "  rank 1 (node 0, h) exited with code 3\n"
            "  last lines of rank 1:\n"
            "  | x\n"
            "  | y\n"
            "  hint: do this\n"
            "  log: /jobs/neat/user_logs/std_log_process_1.txt");
}

TEST(completion, knows_all_commands_and_options) {
  for (const std::string& script : {bash_completion(), zsh_completion()})
    for (const char* word :
         {"run", "launch", "download", "--set", "--procs-per-node", "table json yaml tsv", "--tail"})
      EXPECT_NE(script.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace phalanx::cli
