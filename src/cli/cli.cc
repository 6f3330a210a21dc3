#include "cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "spec/problem.h"

namespace phalanx::cli {
namespace {

int usage_error(const CommandInfo& info, const std::string& text) {
  say(std::string(info.name) + ": " + text + "; " + help_pointer(info));
  return static_cast<int>(info.usage_error);
}

// What a person most likely meant by an option that is not there.
std::string unknown_option(const CLI::App& app, std::string word) {
  word = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  const std::string near = spec::nearest(word, known);
  return "unknown option " + spec::shown(word) + (near.empty() ? "" : ": did you mean " + near + "?");
}

// The words for CLI11, from the last to the first, as it wants them. "--name=" has an empty value: it would
// take the next word for one. Of `launch` and the like, what follows the first word that is no option is
// another program's.
std::vector<std::string> words_of(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words;
  bool ours = true, value_due = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    words.push_back(word);
    if (!ours || std::exchange(value_due, false)) continue;
    ours = word != "--" && (word.starts_with('-') || !app.get_prefix_command());
    const size_t equals = word.find('=');
    const CLI::Option* option =
        ours && word.starts_with('-') ? app.get_option_no_throw(word.substr(0, equals)) : nullptr;
    if (option == nullptr || option->get_items_expected_max() == 0) continue;
    value_due = equals == std::string::npos;
    if (!word.starts_with("--") || equals + 1 != word.size()) continue;
    words.back().pop_back();
    words.emplace_back();
  }
  std::reverse(words.begin(), words.end());
  return words;
}

// CLI11 throws; it ends here. Its reasons are kept, its names and colours of them are not.
int run_command(const CommandInfo& info, int argc, char** argv) {
  const std::unique_ptr<Command> command = info.make();
  CLI::App app(info.summary);
  app.set_help_flag("-h,--help", "Print this help");
  app.allow_extras();
  try {
    command->declare(app);
    app.parse(words_of(app, argc, argv));
  } catch (const CLI::CallForHelp&) {
    put(command_help(info, app));
    return static_cast<int>(Exit::ok);
  } catch (const CLI::ParseError& error) {
    return usage_error(info, error.what());
  }
  std::vector<std::string> extras = app.remaining();
  bool options_ended = false;
  if (const auto end = std::find(extras.begin(), extras.end(), "--");
      end != extras.end() && !app.get_prefix_command()) {
    options_ended = end == extras.begin();
    extras.erase(end);
  }
  if (!extras.empty() &&
      (!app.get_prefix_command() || (extras[0].size() > 1 && extras[0][0] == '-' && extras[0] != "--"))) {
    const bool option = !options_ended && extras[0].size() > 1 && extras[0][0] == '-';
    return usage_error(
        info, option ? unknown_option(app, extras[0]) : "unexpected argument " + spec::shown(extras[0]));
  }
  return command->run();
}

int unknown_command(std::string_view word) {
  std::vector<std::string> known;
  for (const CommandInfo& info : commands()) known.emplace_back(info.name);
  const std::string near = spec::nearest(word, known);
  std::string text = "there is no command " + spec::shown(word);
  text += near.empty() ? "; `phalanx --help` lists them" : ": did you mean `phalanx " + near + "`?";
  return fail(text, static_cast<int>(Exit::usage));
}

int help(int argc, char** argv) {
  const CommandInfo* info = argc > 2 ? find_command(argv[2]) : nullptr;
  if (argc > 2 && info == nullptr) return unknown_command(argv[2]);
  if (info == nullptr) {
    put(program_help());
    return static_cast<int>(Exit::ok);
  }
  char flag[] = "--help";
  char* arguments[] = {argv[2], flag};
  return run_command(*info, 2, arguments);
}

}  // namespace

int run(int argc, char** argv) {
  if (argc < 2) {
    say("what is to be done?\n\n" + program_help());
    return static_cast<int>(Exit::usage);
  }
  const std::string_view word = argv[1];
  if (word == "--help" || word == "-h" || word == "help") return help(argc, argv);
  if (word == "--version" || word == "-V") return make_version()->run();
  const CommandInfo* info = find_command(word);
  return info != nullptr ? run_command(*info, argc - 1, argv + 1) : unknown_command(word);
}

}  // namespace phalanx::cli
