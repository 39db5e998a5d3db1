// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "catalogue/catalogue.h"
#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"
#include "program/version.h"

namespace epochd::epochctl {
namespace {

constexpr const char* kSummary =
    "Submits and follows training runs.\n\n"
    "Examples:\n"
    "  epochctl run examples/digits.yaml\n"
    "  epochctl submit job.yaml --watch\n"
    "  epochctl ps\n"
    "  epochctl logs -f JOB\n"
    "  epochctl plot JOB\n\n"
    "Exit codes: 0 done, 2 usage, 3 not found, 4 not allowed, 5 no "
    "coordinator,\n6 conflict, 7 invalid job; of a job: 100 failed, 101 not "
    "finished,\n102 not found, 103 cancelled; 124 timeout, 130 interrupted.\n";

// What is wrong with the value of a number's option; empty: nothing.
std::string WholeNumberProblem(const std::string& text) {
  int number = 0;
  if (absl::SimpleAtoi(text, &number)) return "";
  return "expected a whole number up to " +
         std::to_string(std::numeric_limits<int>::max()) + ", got '" + text +
         "'";
}

void AddOptions(CLI::App& app, const std::vector<Option>& options) {
  for (const Option& option : options) {
    CLI::Option* added = nullptr;
    if (auto* const* flag = std::get_if<bool*>(&option.value)) {
      added = app.add_flag(option.names, **flag, option.help);
    } else if (auto* const* number = std::get_if<int*>(&option.value)) {
      added = app.add_option(option.names, **number, option.help);
      added->check(&WholeNumberProblem);
    } else if (auto* const* text = std::get_if<std::string*>(&option.value)) {
      added = app.add_option(option.names, **text, option.help);
    } else {
      auto* const list = std::get<std::vector<std::string>*>(option.value);
      added = app.add_option(option.names, *list, option.help);
      // One value each time, so that what follows is not swallowed.
      if (option.names.starts_with("-")) added->allow_extra_args(false);
    }
    if (!option.choices.empty()) {
      added->check(CLI::IsMember(option.choices));
    }
    added->required(option.required);
  }
}

std::string Description(const Command& command) {
  std::string text = command.summary + "\n";
  if (!command.examples.empty()) text += "\nExamples:\n";
  for (const std::string& example : command.examples) {
    text += "  " + example + "\n";
  }
  return text;
}

// The tree of subcommands, and what each leaf runs.
class Tree {
 public:
  explicit Tree(std::vector<Command> commands)
      : app_(kSummary, "epochctl"), commands_(std::move(commands)) {
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.set_version_flag("--version", program::VersionLine("epochctl"));
    app_.get_formatter()->column_width(32);
    AddOptions(app_, GlobalOptions(flags_));
    for (const Command& command : commands_) {
      CLI::App* parent = &app_;
      std::istringstream words(command.path);
      std::string word;
      std::string next;
      words >> word;
      while (words >> next) {
        parent = Group(*parent, word);
        word = next;
      }
      AddLeaf(*parent, word, command);
      if (!command.alias.empty()) {
        AddLeaf(app_, command.alias, command);
      }
    }
  }

  CLI::App& app() { return app_; }
  const GlobalFlags& flags() const { return flags_; }

  const Command* Chosen() const {
    for (const auto& [leaf, command] : leaves_) {
      if (leaf->parsed()) return command;
    }
    return nullptr;
  }

  // The word that stands where a command should; empty: there is none.
  std::string UnknownCommand() const {
    if (Chosen() != nullptr) return "";
    for (const std::string& word : app_.remaining(true)) {
      if (!word.starts_with("-")) return word;
    }
    return "";
  }

  // Words that may stand where `arguments` went wrong.
  std::string Suggestion(const std::vector<std::string>& arguments) const {
    const CLI::App* at = &app_;
    for (const std::string& argument : arguments) {
      if (argument.starts_with("-")) continue;
      std::vector<std::string> names;
      const CLI::App* next = nullptr;
      for (const CLI::App* child :
           at->get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(child->get_name());
        if (child->get_name() == argument) next = child;
      }
      if (names.empty()) return "";
      if (next == nullptr && at == &app_) {
        const std::string groups = InGroups(argument);
        if (!groups.empty()) return "did you mean " + groups + "?";
      }
      if (next == nullptr) {
        const auto nearest = catalogue::Nearest(argument, names);
        return nearest ? "did you mean '" + *nearest + "'?" : "";
      }
      at = next;
    }
    return "";
  }

 private:
  // The commands of groups that are called so: "'job get' or 'worker get'".
  std::string InGroups(const std::string& name) const {
    std::string text;
    for (const Command& command : commands_) {
      if (!command.path.ends_with(" " + name)) continue;
      text += (text.empty() ? "'" : " or '") + command.path + "'";
    }
    return text;
  }

  static CLI::App* Group(CLI::App& parent, const std::string& name) {
    for (CLI::App* child :
         parent.get_subcommands([](const CLI::App*) { return true; })) {
      if (child->get_name() == name) return child;
    }
    CLI::App* group = parent.add_subcommand(
        name, name == "job" ? "Jobs: submit, list, follow, stop"
                            : "Workers: list, look at, drain");
    group->require_subcommand(1);
    return group;
  }

  void AddLeaf(CLI::App& parent, const std::string& name,
               const Command& command) {
    CLI::App* leaf = parent.add_subcommand(name, Description(command));
    AddOptions(*leaf, command.options);
    leaves_[leaf] = &command;
  }

  CLI::App app_;
  GlobalFlags flags_;
  const std::vector<Command> commands_;
  std::map<const CLI::App*, const Command*> leaves_;
};

// CLI11 lists a subcommand with its whole description: the first line is
// enough there.
class Formatter : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* app) const override {
    const std::string description = app->get_description();
    std::ostringstream out;
    CLI::detail::format_help(out, app->get_name(),
                             description.substr(0, description.find('\n')),
                             column_width_);
    return out.str();
  }
};

}  // namespace

std::vector<Command> AllCommands() {
  std::vector<Command> commands;
  commands.push_back(RunCommand());
  commands.push_back(JobSubmitCommand());
  commands.push_back(JobListCommand());
  commands.push_back(JobGetCommand());
  commands.push_back(JobWatchCommand());
  commands.push_back(JobLogsCommand());
  commands.push_back(JobMetricsCommand());
  commands.push_back(JobPlotCommand());
  commands.push_back(JobWaitCommand());
  commands.push_back(JobCancelCommand());
  commands.push_back(JobDeleteCommand());
  commands.push_back(JobCheckpointsCommand());
  commands.push_back(JobEventsCommand());
  commands.push_back(WorkerListCommand());
  commands.push_back(WorkerGetCommand());
  commands.push_back(WorkerDrainCommand());
  commands.push_back(ValidateCommand());
  commands.push_back(CatalogueCommand());
  commands.push_back(SchemaCommand());
  commands.push_back(HealthCommand());
  commands.push_back(VersionCommand());
  commands.push_back(CompletionCommand());
  return commands;
}

std::vector<Option> GlobalOptions(GlobalFlags& flags) {
  return {
      {"--server", &flags.settings.server,
       "Coordinator, host:port (EPOCHD_SERVER, 127.0.0.1:7950)"},
      {"--token-file",
       &flags.settings.token_file,
       "File with the coordinator's token (EPOCHD_TOKEN_FILE)",
       {},
       false,
       true},
      {"--tls-ca",
       &flags.settings.tls_ca,
       "Roots that the coordinator's certificate leads to (EPOCHD_TLS_CA)",
       {},
       false,
       true},
      {"--tls-cert",
       &flags.settings.tls_cert,
       "Own certificate chain (EPOCHD_TLS_CERT)",
       {},
       false,
       true},
      {"--tls-key",
       &flags.settings.tls_key,
       "Its key (EPOCHD_TLS_KEY)",
       {},
       false,
       true},
      {"--insecure", &flags.settings.insecure,
       "Let the token travel unencrypted to another machine "
       "(EPOCHD_INSECURE)"},
      {"--config",
       &flags.settings.config,
       "File with contexts (EPOCHD_CONFIG, ~/.config/epochd/config.yaml)",
       {},
       false,
       true},
      {"--context", &flags.settings.context,
       "Context of that file (EPOCHD_CONTEXT)"},
      {"-o,--output",
       &flags.output,
       "How results are printed",
       {"table", "wide", "json", "yaml", "name"}},
      {"--no-headers", &flags.no_headers, "Leave out the heads of tables"},
      {"-q,--quiet", &flags.quiet, "Names and states only, no progress"},
      {"--color",
       &flags.color,
       "Colours (NO_COLOR, CLICOLOR_FORCE)",
       {"auto", "always", "never"}},
  };
}

int RunCommandLine(const std::vector<std::string>& arguments,
                   Context& context) {
  Tree tree(AllCommands());
  const auto formatter = std::make_shared<Formatter>();
  formatter->column_width(32);
  const std::function<void(CLI::App&)> use_formatter = [&](CLI::App& app) {
    app.formatter(formatter);
    for (CLI::App* child :
         app.get_subcommands([](const CLI::App*) { return true; })) {
      use_formatter(*child);
    }
  };
  use_formatter(tree.app());
  // CLI11 takes the arguments from the back.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    tree.app().parse(reversed);
  } catch (const CLI::Success& success) {
    std::ostringstream err;
    tree.app().exit(success, context.out, err);
    return kOk;
  } catch (const CLI::ParseError& error) {
    const std::string suggestion = tree.Suggestion(arguments);
    const std::string unknown = tree.UnknownCommand();
    context.err << context.err_style.Paint("error:", terminal::Color::kRed)
                << " "
                << (unknown.empty()
                        ? Safe(error.what())
                        : "there is no command '" + Safe(unknown) + "'")
                << (suggestion.empty() ? "" : ", " + Safe(suggestion)) << "\n"
                << "run 'epochctl --help' or 'epochctl COMMAND --help'\n";
    return kUsage;
  }
  const GlobalFlags& flags = tree.flags();
  context.settings = flags.settings;
  context.format = flags.quiet && flags.output == "table"
                       ? Format::kName
                       : ParseFormat(flags.output);
  context.no_headers = flags.no_headers;
  context.quiet = flags.quiet;
  if (flags.color != "auto") {
    context.out_style.color = flags.color == "always";
    context.err_style.color = flags.color == "always";
  }
  const Command* command = tree.Chosen();
  if (command == nullptr) return kUsage;
  return command->run(context);
}

}  // namespace epochd::epochctl
