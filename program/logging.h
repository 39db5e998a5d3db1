// SPDX-License-Identifier: Apache-2.0
//
// The program's log: spdlog's default logger writing to stderr, one record a
// line: text for people on a terminal, JSON objects otherwise. Everything else
// in the code base just calls spdlog::info(...) and friends. Set up once in
// main(); logging is safe from any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace epochd::program {

struct LoggingOptions {
  // Stands in every JSON record.
  std::string program;
  // auto (text if stderr is a terminal, JSON otherwise), text or json.
  std::string format = "auto";
  // trace, debug, info, warning, error or off.
  std::string level = "info";
};

// INVALID_ARGUMENT for a format or level that is not one of those above.
absl::Status SetUpLogging(const LoggingOptions& options);

// Makes control characters visible ("\n" becomes "\\n", ESC "\\x1b") so that
// text from outside stays on one line and cannot drive a terminal. UTF-8 stays;
// bytes that are not UTF-8 become "\\xNN", and so do the characters that
// reverse the direction of text.
std::string EscapeControls(std::string_view input);

}  // namespace epochd::program
