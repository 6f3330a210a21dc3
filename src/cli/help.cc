#include "cli/help.h"

#include <CLI/CLI.hpp>

namespace phalanx::cli {
namespace {

std::string pad(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

// "-d, --detach" or "    --set KEY=VALUE".
std::string option_words(const CLI::Option& option) {
  std::string text = option.get_snames().empty() ? "    " : "-" + option.get_snames()[0];
  if (!option.get_snames().empty() && !option.get_lnames().empty()) text += ", ";
  if (!option.get_lnames().empty()) text += "--" + option.get_lnames()[0];
  if (option.get_items_expected_max() > 0) text += " " + option.get_type_name();
  return text;
}

std::string indented(std::string_view lines) {
  std::string text = "  ";
  for (const char c : lines) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text + "\n";
}

}  // namespace

std::string help_pointer(const CommandInfo& info) {
  return std::string("`phalanx ") + info.name + " --help` explains it";
}

std::string program_help() {
  std::string text =
      "Phalanx runs distributed training jobs on your own machines.\n\n"
      "Usage: phalanx COMMAND [options]\n";
  std::string_view group;
  for (const CommandInfo& info : commands()) {
    if (group != info.group) text += "\n" + std::string(info.group) + ":\n";
    group = info.group;
    text += "  " + pad(info.name, 12) + info.summary + "\n";
  }
  text +=
      "\nExamples:\n"
      "  phalanx run job.yml                     run an Azure ML command job here\n"
      "  phalanx launch -n 4 python train.py     the same as torchrun --nproc-per-node 4 train.py\n"
      "  phalanx show                            how is the latest job?\n"
      "\n`phalanx COMMAND --help` explains a command. Jobs live in ~/.phalanx/jobs ($PHALANX_HOME chooses "
      "another place).\n";
  return text;
}

std::string command_help(const CommandInfo& info, const CLI::App& app) {
  std::string text = std::string(info.summary) + ".\n\nUsage: phalanx " + info.name + " " + info.usage + "\n";
  if (*info.details != '\0') text += "\n" + std::string(info.details) + "\n";
  std::string options;
  size_t width = 0;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_positional()) width = std::max(width, option_words(*option).size());
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    options += "  " + pad(option_words(*option), width + 2) + option->get_description() + "\n";
  }
  text += "\nOptions:\n" + options;
  return text + "\nExamples:\n" + indented(info.examples);
}

}  // namespace phalanx::cli
