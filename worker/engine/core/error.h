// SPDX-License-Identifier: Apache-2.0
//
// The one exception type of the engine. LibTorch throws, so the engine does
// too; the trainer binary turns what escapes into an exit code and a line.
#pragma once

#include <stdexcept>
#include <string>

namespace epochd::engine {

// Whose fault it is, which decides what happens next.
enum class ErrorKind {
  kBadSpec,         // the experiment cannot be built or run as written
  kTraining,        // training itself went wrong (NaN policy, shapes)
  kInfrastructure,  // storage, peers or a device went away
};

class Error : public std::runtime_error {
 public:
  // `message`: subject or field path, problem, the value, what is accepted.
  Error(ErrorKind error_kind, const std::string& message)
      : std::runtime_error(message), kind_(error_kind) {}

  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace epochd::engine
