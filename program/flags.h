// SPDX-License-Identifier: Apache-2.0
//
// A program's settings from three places, the first that says something wins:
// flags, EPOCHD_* environment, one YAML file given by --config. --state-dir is
// EPOCHD_STATE_DIR and the YAML key `state-dir` (or `state_dir`). Lives in
// main(), one thread.
//
//   Options options;
//   program::Flags flags("epochd", "Coordinator of epochd.",
//                        {"epochd --listen 127.0.0.1:7950"});
//   flags.Add("listen", options.listen, "address of the API, host:port");
//   if (const auto code = flags.Parse(argc, argv)) return *code;
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "program/logging.h"

namespace epochd::program {

// Exit code for flags that make no sense, as in BSD's sysexits.
inline constexpr int kExitUsage = 64;

class Flags {
 public:
  // `examples` stand first in --help, one command line each.
  Flags(std::string program, std::string description,
        std::vector<std::string> examples);

  // Adds --name VALUE with its environment variable and YAML key. The value
  // held now is the default and is shown. T: std::string, bool, numbers, or a
  // vector of these.
  template <typename T>
  CLI::Option* Add(const std::string& name, T& value, const std::string& help) {
    CLI::Option* option =
        app_.add_option("--" + name, value, help)->capture_default_str();
    return Named(name, option);
  }
  // A flag without a value on the command line; "true"/"false" elsewhere.
  CLI::Option* AddSwitch(const std::string& name, bool& value,
                         const std::string& help);
  // --log-format and --log-level.
  void AddLogging(LoggingOptions& options);

  // For subcommands and positionals.
  CLI::App& app() { return app_; }

  // Fills the bound values. Returns the exit code when the program should end
  // now: 0 after --help and --version, kExitUsage after an error, which was
  // printed to stderr.
  std::optional<int> Parse(int argc, const char* const* argv);

 private:
  CLI::Option* Named(const std::string& name, CLI::Option* option);
  absl::Status ApplyFile(const std::string& path);

  const std::string program_;
  CLI::App app_;
  std::string config_;
  std::vector<std::string> names_;
};

}  // namespace epochd::program
