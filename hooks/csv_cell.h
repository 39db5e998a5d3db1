// SPDX-License-Identifier: Apache-2.0
//
// Text as a cell of CSV (RFC 4180). Pure.
#pragma once

#include <string>
#include <string_view>

namespace epochd::hooks {

inline std::string QuotedCell(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

// Quoted only where it must be.
inline std::string CsvCell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  return QuotedCell(text);
}

}  // namespace epochd::hooks
