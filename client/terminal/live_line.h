// SPDX-License-Identifier: Apache-2.0
//
// A line that changes in place below lines that stay. On what is no terminal
// only the lines that stay are written. Not safe across threads.
#pragma once

#include <ostream>
#include <string>

namespace epochd::terminal {

class LiveLine {
 public:
  LiveLine(std::ostream& out, bool is_terminal)
      : out_(out), is_terminal_(is_terminal) {}
  ~LiveLine() { Clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  // Replaces the changing line; drawn only if it differs.
  void Show(const std::string& line);
  // Writes a line that stays, above the changing one.
  void Print(const std::string& line);
  // Takes the changing line away.
  void Clear();

 private:
  std::ostream& out_;
  const bool is_terminal_;
  std::string shown_;
};

}  // namespace epochd::terminal
