// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/completion.h"

#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "client/epochctl/command.h"

namespace epochd::epochctl {
namespace {

struct Flag {
  std::string name;
  std::string help;
  bool takes_value = false;
  bool is_file = false;
  std::vector<std::string> choices;
};

// What may follow the words of a command: other words, flags, files.
struct Node {
  std::map<std::string, std::string> words;  // with their summaries
  std::vector<Flag> flags;
  bool takes_file = false;
  std::vector<std::string> choices;
};

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  std::string part;
  while (std::getline(stream, part, separator)) parts.push_back(part);
  return parts;
}

void AddOption(const Option& option, Node& node) {
  if (!option.names.starts_with("-")) {
    node.takes_file = node.takes_file || option.is_file;
    node.choices.insert(node.choices.end(), option.choices.begin(),
                        option.choices.end());
    return;
  }
  for (const std::string& name : Split(option.names, ',')) {
    node.flags.push_back({name, option.help,
                          !std::holds_alternative<bool*>(option.value),
                          option.is_file, option.choices});
  }
}

// Every command line that may be begun, by its words ("" is the start).
std::map<std::string, Node> Nodes() {
  std::map<std::string, Node> nodes;
  GlobalFlags values;
  const std::vector<Option> global = GlobalOptions(values);
  for (const Command& command : AllCommands()) {
    std::vector<std::string> paths = {command.path};
    if (!command.alias.empty()) paths.push_back(command.alias);
    for (const std::string& path : paths) {
      std::string at;
      for (const std::string& word : Split(path, ' ')) {
        const std::string next = at.empty() ? word : at + " " + word;
        nodes[at].words[word] = next == path    ? command.summary
                                : word == "job" ? "Jobs"
                                                : "Workers";
        at = next;
      }
      for (const Option& option : command.options) AddOption(option, nodes[at]);
    }
  }
  for (auto& [path, node] : nodes) {
    for (const Option& option : global) AddOption(option, node);
    node.flags.push_back({"--help", "Print help", false, false, {}});
  }
  return nodes;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

// Flags by what their value may be.
std::map<std::string, std::set<std::string>> FlagValues(
    const std::map<std::string, Node>& nodes) {
  std::map<std::string, std::set<std::string>> values;
  for (const auto& [path, node] : nodes) {
    for (const Flag& flag : node.flags) {
      if (!flag.takes_value) continue;
      const std::string kind = flag.is_file           ? "file"
                               : flag.choices.empty() ? "any"
                                                      : Joined(flag.choices);
      values[kind].insert(flag.name);
    }
  }
  return values;
}

std::string Alternatives(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : "|") + word;
  }
  return text;
}

// One function for bash; zsh runs the same through bashcompinit.
std::string BashScript() {
  const std::map<std::string, Node> nodes = Nodes();
  std::string out =
      "# epochctl completion for bash: source <(epochctl completion bash)\n"
      "_epochctl() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" path=\"\" i skip=\"\"\n"
      "  COMPREPLY=()\n"
      "  case \"${COMP_WORDS[COMP_CWORD-1]}\" in\n";
  std::set<std::string> with_value;
  for (const auto& [kind, flags] : FlagValues(nodes)) {
    with_value.insert(flags.begin(), flags.end());
    out += "    " + Alternatives(flags) + ")\n";
    if (kind == "file") {
      out += "      COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n";
    } else if (kind == "any") {
      out += "      return ;;\n";
    } else {
      out += "      COMPREPLY=($(compgen -W \"" + kind +
             "\" -- \"$word\")); return ;;\n";
    }
  }
  out +=
      "  esac\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    if [[ -n $skip ]]; then skip=\"\"; continue; fi\n"
      "    case \"${COMP_WORDS[i]}\" in\n"
      "      " +
      Alternatives(with_value) +
      ") skip=1 ;;\n"
      "      -*) ;;\n"
      "      *)\n"
      "        case \"$path ${COMP_WORDS[i]}\" in\n";
  std::set<std::string> paths;
  for (const auto& [path, node] : nodes) {
    if (!path.empty()) {
      const size_t space = path.rfind(' ');
      paths.insert(space == std::string::npos ? "\" " + path + "\""
                                              : "\"" + path + "\"");
    }
  }
  out += "          " + Alternatives(paths) +
         ")\n"
         "            path=\"${path:+$path }${COMP_WORDS[i]}\" ;;\n"
         "        esac ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$path\" in\n";
  for (const auto& [path, node] : nodes) {
    std::vector<std::string> words;
    for (const auto& [word, help] : node.words) words.push_back(word);
    words.insert(words.end(), node.choices.begin(), node.choices.end());
    std::vector<std::string> flags;
    for (const Flag& flag : node.flags) flags.push_back(flag.name);
    out += "    \"" + path + "\")\n";
    out += "      if [[ $word == -* ]]; then\n";
    out += "        COMPREPLY=($(compgen -W \"" + Joined(flags) +
           "\" -- \"$word\"))\n";
    out += "      else\n";
    out += "        COMPREPLY=($(compgen " +
           std::string(node.takes_file ? "-f " : "") + "-W \"" + Joined(words) +
           "\" -- \"$word\"))\n";
    out += "      fi ;;\n";
  }
  return out +
         "  esac\n"
         "}\n"
         "complete -o filenames -F _epochctl epochctl\n";
}

std::string ZshScript() {
  return "#compdef epochctl\n"
         "# epochctl completion for zsh: source <(epochctl completion zsh)\n"
         "autoload -Uz bashcompinit && bashcompinit\n" +
         BashScript();
}

std::string FishQuoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string FishScript() {
  std::string out =
      "# epochctl completion for fish: epochctl completion fish | source\n"
      "function __epochctl_at\n"
      "    set -l words\n"
      "    for word in (commandline -opc)[2..-1]\n"
      "        string match -q -- '-*' $word; or set -a words $word\n"
      "    end\n"
      "    test \"$words\" = \"$argv\"; or string match -q -- \"$argv *\" "
      "\"$words\"\n"
      "end\n"
      "complete -c epochctl -f\n";
  for (const auto& [path, node] : Nodes()) {
    const std::string at =
        " -n " + (path.empty() ? FishQuoted("__fish_use_subcommand")
                               : FishQuoted("__epochctl_at " + path));
    for (const auto& [word, help] : node.words) {
      out += "complete -c epochctl" + at + " -a " + FishQuoted(word) + " -d " +
             FishQuoted(help) + "\n";
    }
    for (const std::string& choice : node.choices) {
      out += "complete -c epochctl" + at + " -a " + FishQuoted(choice) + "\n";
    }
    if (node.takes_file) out += "complete -c epochctl" + at + " -F\n";
    for (const Flag& flag : node.flags) {
      const bool is_long = flag.name.starts_with("--");
      out += "complete -c epochctl" + at + (is_long ? " -l " : " -s ") +
             flag.name.substr(is_long ? 2 : 1);
      if (flag.takes_value) out += flag.is_file ? " -r -F" : " -x";
      if (!flag.choices.empty()) {
        out += " -a " + FishQuoted(Joined(flag.choices));
      }
      out += " -d " + FishQuoted(flag.help) + "\n";
    }
  }
  return out;
}

}  // namespace

std::string CompletionScript(const std::string& shell) {
  if (shell == "zsh") return ZshScript();
  if (shell == "fish") return FishScript();
  return BashScript();
}

}  // namespace epochd::epochctl
