// SPDX-License-Identifier: Apache-2.0
//
// Makes a log safe for a terminal, piece by piece: text, tabs, line ends and
// carriage returns pass, escape sequences go, other control characters and
// bytes that are no UTF-8 are written out. A character or sequence that is cut
// by the end of a piece waits for the next one.
#pragma once

#include <string>
#include <string_view>

namespace epochd::epochctl {

class LogFilter {
 public:
  std::string Filter(std::string_view piece);
  // What still waits.
  std::string Finish();

 private:
  std::string waiting_;
};

}  // namespace epochd::epochctl
