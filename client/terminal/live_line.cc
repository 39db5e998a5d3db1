// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/live_line.h"

namespace epochd::terminal {
namespace {

constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

void LiveLine::Show(const std::string& line) {
  if (!is_terminal_ || line == shown_) return;
  out_ << kEraseLine << line << std::flush;
  shown_ = line;
}

void LiveLine::Print(const std::string& line) {
  const std::string below = shown_;
  Clear();
  out_ << line << '\n';
  if (!below.empty()) Show(below);
  out_ << std::flush;
}

void LiveLine::Clear() {
  if (shown_.empty()) return;
  out_ << kEraseLine << std::flush;
  shown_.clear();
}

}  // namespace epochd::terminal
