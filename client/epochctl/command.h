// SPDX-License-Identifier: Apache-2.0
//
// A command as data: what it is called, what it takes, what it does. One file
// below commands/ makes each; AllCommands() is the one list. The command line
// and the completion scripts are made from it.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "client/epochctl/context.h"

namespace epochd::epochctl {

struct Option {
  // "-f,--follow"; without a dash: by position.
  std::string names;
  // Filled before the command runs; owned by the command's closure.
  std::variant<bool*, int*, std::string*, std::vector<std::string>*> value;
  std::string help;
  std::vector<std::string> choices = {};
  bool required = false;
  bool is_file = false;
};

struct Command {
  // "job list".
  std::string path;
  // Another name at the top: "ps"; empty: none.
  std::string alias;
  std::string summary;
  // Whole command lines.
  std::vector<std::string> examples;
  std::vector<Option> options;
  // Gives the exit code.
  std::function<int(Context&)> run;
};

Command CatalogueCommand();
Command CompletionCommand();
Command HealthCommand();
Command JobCancelCommand();
Command JobCheckpointsCommand();
Command JobDeleteCommand();
Command JobEventsCommand();
Command JobGetCommand();
Command JobListCommand();
Command JobLogsCommand();
Command JobMetricsCommand();
Command JobPlotCommand();
Command JobSubmitCommand();
Command JobWaitCommand();
Command JobWatchCommand();
Command RunCommand();
Command SchemaCommand();
Command ValidateCommand();
Command VersionCommand();
Command WorkerDrainCommand();
Command WorkerGetCommand();
Command WorkerListCommand();

// In the order in which --help lists them.
std::vector<Command> AllCommands();

// Flags that every command takes.
struct GlobalFlags {
  SettingsFlags settings;
  std::string output = "table";
  std::string color = "auto";
  bool no_headers = false;
  bool quiet = false;
};
std::vector<Option> GlobalOptions(GlobalFlags& flags);

}  // namespace epochd::epochctl
