// SPDX-License-Identifier: Apache-2.0
//
// WFDB annotations in the MIT format, as annot(5) of the WFDB Applications
// Guide defines it: beats, rhythm changes, comments, each at a sample.
// Pure functions over bytes; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace epochd::engine {

struct WfdbAnnotation {
  int64_t sample = 0;       // at the annotations' own rate where one is told
  int code = 0;             // 1 to 49
  std::string symbol = {};  // such as "N", "V", "+"
  int subtype = 0;
  int channel = 0;
  int number = 0;
  std::string aux = {};  // such as "(AFIB"; trailing zero bytes are cut

  bool operator==(const WfdbAnnotation&) const = default;
};

struct WfdbAnnotations {
  double fs = 0;                    // ticks a second; 0: the record's
  std::vector<WfdbAnnotation> all;  // in order of the file
};

// Throws Error(kBadSpec) naming `path` and the byte.
WfdbAnnotations ParseWfdbAnnotations(std::string_view bytes,
                                     const std::string& path);
// Of the file `path` (RECORD.EXTENSION), at most 1 GiB.
WfdbAnnotations ReadWfdbAnnotations(const std::string& path);

// The symbol of a code; empty: it has none.
std::string_view WfdbSymbol(int code);

}  // namespace epochd::engine
