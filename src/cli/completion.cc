#include "cli/completion.h"

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace phalanx::cli {
namespace {

struct OptionWords {
  std::string names;   // "-o --output"
  std::string values;  // "table json", or empty: see `kind`
  enum class Kind { flag, choice, folder, file, other } kind = Kind::flag;
  std::string text;
};

struct CommandWords {
  std::string name, summary, argument;  // argument: FILE, NAME, or empty
  std::vector<OptionWords> options;
};

OptionWords words_of(const CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_snames())
    words.names += (words.names.empty() ? "-" : " -") + name;
  for (const std::string& name : option.get_lnames())
    words.names += (words.names.empty() ? "--" : " --") + name;
  words.text = option.get_description();
  if (option.get_items_expected_max() == 0) return words;
  const std::string type = option.get_type_name();
  words.kind = type == "DIR"    ? OptionWords::Kind::folder
               : type == "FILE" ? OptionWords::Kind::file
                                : OptionWords::Kind::other;
  if (type.find('|') != std::string::npos) {
    words.kind = OptionWords::Kind::choice;
    words.values = type;
    std::replace(words.values.begin(), words.values.end(), '|', ' ');
  }
  return words;
}

std::vector<CommandWords> all_words() {
  std::vector<CommandWords> all;
  for (const CommandInfo& info : commands()) {
    const std::unique_ptr<Command> command = info.make();
    CLI::App app;
    app.set_help_flag("-h,--help", "Print this help");
    command->declare(app);
    CommandWords words{info.name, info.summary, "", {}};
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional() && words.argument.empty())
        words.argument = option->get_name(true);
      else if (!option->get_positional())
        words.options.push_back(words_of(*option));
    }
    all.push_back(std::move(words));
  }
  return all;
}

std::string bash_case(const CommandWords& command) {
  std::string flags, cases;
  for (const OptionWords& option : command.options) {
    flags += (flags.empty() ? "" : " ") + option.names;
    if (option.kind == OptionWords::Kind::flag) continue;
    std::string pattern = option.names;
    for (size_t at; (at = pattern.find(' ')) != std::string::npos;) pattern.replace(at, 1, "|");
    cases += "        " + pattern + ") ";
    if (option.kind == OptionWords::Kind::choice)
      cases += "COMPREPLY=($(compgen -W '" + option.values + "' -- \"$word\")); return ;;\n";
    else if (option.kind == OptionWords::Kind::folder)
      cases += "COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n";
    else if (option.kind == OptionWords::Kind::file)
      cases += "COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n";
    else
      cases += "return ;;\n";
  }
  std::string text = "    " + command.name + ")\n";
  if (!cases.empty()) text += "      case $before in\n" + cases + "      esac\n";
  text += "      [[ $word == -* ]] && { COMPREPLY=($(compgen -W '" + flags + "' -- \"$word\")); return; }\n";
  if (command.argument == "NAME")
    text += "      COMPREPLY=($(compgen -W \"$(_phalanx_jobs)\" -- \"$word\"))\n";
  else if (command.argument == "FILE" || command.name == "python")
    text += "      COMPREPLY=($(compgen -f -- \"$word\"))\n";
  else if (command.argument == "SHELL")
    text += "      COMPREPLY=($(compgen -W 'bash zsh' -- \"$word\"))\n";
  else if (command.name == "launch")
    text += "      COMPREPLY=($(compgen -c -f -- \"$word\"))\n";
  return text + "      ;;\n";
}

// In zsh's _arguments, ':' and brackets have a meaning.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == ':' || c == '[' || c == ']') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const OptionWords& option) {
  std::string text, names = option.names;
  for (size_t start = 0; start < names.size();) {
    const size_t end = std::min(names.find(' ', start), names.size());
    text += "      '" + names.substr(start, end - start) + "[" + zsh_text(option.text) + "]";
    if (option.kind == OptionWords::Kind::choice) text += ":value:(" + option.values + ")";
    if (option.kind == OptionWords::Kind::folder) text += ":folder:_files -/";
    if (option.kind == OptionWords::Kind::file) text += ":file:_files";
    if (option.kind == OptionWords::Kind::other) text += ":value: ";
    text += "' \\\n";
    start = end + 1;
  }
  return text;
}

std::string zsh_case(const CommandWords& command) {
  std::string text = "    " + command.name + ")\n      _arguments \\\n";
  for (const OptionWords& option : command.options) text += zsh_option(option);
  if (command.argument == "NAME")
    text += "      '*:job:_phalanx_jobs'\n";
  else if (command.argument == "FILE" || command.name == "python")
    text += "      '*:file:_files'\n";
  else if (command.argument == "SHELL")
    text += "      '1:shell:(bash zsh)'\n";
  else if (command.name == "launch")
    text += "      '*::command:_normal'\n";
  else
    text += "      '*: :'\n";
  return text + "      ;;\n";
}

}  // namespace

std::string bash_completion() {
  std::string names, cases;
  for (const CommandWords& command : all_words()) {
    names += command.name + " ";
    cases += bash_case(command);
  }
  return "# bash completion of phalanx: source <(phalanx completion bash)\n"
         "_phalanx_jobs() {\n"
         "  local job\n"
         "  for job in \"${PHALANX_HOME:-$HOME/.phalanx}\"/jobs/*/; do\n"
         "    [[ -d $job ]] && job=${job%/} && printf '%s\\n' \"${job##*/}\"\n"
         "  done\n"
         "}\n"
         "_phalanx() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W '" +
         names +
         "--help --version' -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "}\n"
         "complete -o filenames -o bashdefault -F _phalanx phalanx\n";
}

std::string zsh_completion() {
  std::string names, cases;
  for (const CommandWords& command : all_words()) {
    names += "      '" + command.name + ":" + zsh_text(command.summary) + "'\n";
    cases += zsh_case(command);
  }
  return "#compdef phalanx\n"
         "# zsh completion of phalanx: source <(phalanx completion zsh), or put it into a folder of $fpath "
         "as _phalanx\n"
         "_phalanx_jobs() {\n"
         "  local -a jobs\n"
         "  jobs=(\"${PHALANX_HOME:-$HOME/.phalanx}\"/jobs/*(N/:t))\n"
         "  compadd -a jobs\n"
         "}\n"
         "_phalanx() {\n"
         "  if ((CURRENT == 2)); then\n"
         "    local -a commands\n"
         "    commands=(\n" +
         names +
         "    )\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local name=${words[2]}\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case $name in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [[ ${funcstack[1]} == _phalanx ]]; then _phalanx \"$@\"; else compdef _phalanx phalanx; fi\n";
}

}  // namespace phalanx::cli
