// SPDX-License-Identifier: Apache-2.0
//
// What the two ends of a terminal may show: decided once at start from the
// streams and the environment, then passed in. Plain values.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace epochd::terminal {

enum class Color { kNone, kRed, kGreen, kYellow, kBlue, kMagenta, kCyan, kDim };

// Of one stream.
struct Style {
  // Lines may be redrawn.
  bool is_terminal = false;
  bool color = false;
  // Blocks and braille; ASCII otherwise.
  bool unicode = false;
  int width = 80;
  int height = 24;

  std::string Paint(std::string_view text, Color color_of_text) const;
};

// Asks for a variable of the environment; nullptr: it is not set.
using Environment = std::function<const char*(const char*)>;

// `color_flag`: auto, always or never; auto honours NO_COLOR, CLICOLOR_FORCE
// and TERM=dumb. COLUMNS wins over what the terminal says.
Style DetectStyle(int fd, std::string_view color_flag,
                  const Environment& environment);

}  // namespace epochd::terminal
