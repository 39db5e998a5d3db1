// SPDX-License-Identifier: Apache-2.0
//
// epochctl: the command line client.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "client/epochctl/command_line.h"
#include "client/epochctl/exit_code.h"
#include "client/terminal/style.h"
#include "net/grpc_log.h"
#include "program/logging.h"

int main(int argc, char** argv) {
  using epochd::epochctl::Context;
  // A reader that went away (`epochctl ps | head`) ends us quietly.
  signal(SIGPIPE, SIG_DFL);
  epochd::program::LoggingOptions logging;
  logging.program = "epochctl";
  logging.level = "error";
  if (!epochd::program::SetUpLogging(logging).ok()) return 1;
  epochd::net::ForwardGrpcLog();

  const auto environment = [](const char* name) { return std::getenv(name); };
  std::error_code error;
  Context context{
      .out = std::cout,
      .err = std::cerr,
      .environment = environment,
      .now = [] { return absl::Now(); },
      .bin_dir = std::filesystem::read_symlink("/proc/self/exe", error)
                     .parent_path()
                     .string(),
      .out_style =
          epochd::terminal::DetectStyle(STDOUT_FILENO, "auto", environment),
      .err_style =
          epochd::terminal::DetectStyle(STDERR_FILENO, "auto", environment)};
  const int code = epochd::epochctl::RunCommandLine(
      std::vector<std::string>(argv + 1, argv + argc), context);
  errno = 0;
  if (std::cout.flush()) return code;
  // A full disk; of what came before the last flush nobody knows why.
  std::cerr << "error: the output cannot be written" << (errno == 0 ? "" : ": ")
            << (errno == 0 ? "" : std::strerror(errno)) << "\n";
  return code == epochd::epochctl::kOk ? epochd::epochctl::kFailed : code;
}
