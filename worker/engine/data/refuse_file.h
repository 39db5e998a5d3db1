// SPDX-License-Identifier: Apache-2.0
//
// How readers say what is wrong with a file, and at which byte of it. Readers
// of text say the line instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "worker/engine/core/error.h"

namespace epochd::engine {

// `subject` "path": byte N: `problem`. The byte is where that begins which is
// not accepted, or where the file ends too early; of a gzip file it counts what
// is inflated.
inline std::string FileProblem(std::string_view subject, std::string_view path,
                               uint64_t byte, std::string_view problem) {
  std::string message(subject);
  message.append(" \"").append(path).append("\": byte ");
  message.append(std::to_string(byte)).append(": ").append(problem);
  return message;
}

// Throws it.
[[noreturn]] inline void RefuseFile(std::string_view subject,
                                    std::string_view path, uint64_t byte,
                                    std::string_view problem,
                                    ErrorKind kind = ErrorKind::kBadSpec) {
  throw Error(kind, FileProblem(subject, path, byte, problem));
}

}  // namespace epochd::engine
