// SPDX-License-Identifier: Apache-2.0
//
// A progress bar as one line of text. Stateless.
#pragma once

#include <string>

#include "client/terminal/style.h"

namespace epochd::terminal {

struct Bar {
  std::string label;  // left of the bar
  double done = 0;
  double total = 0;  // 0: unknown, no bar is drawn
  std::string text;  // right of the bar
};

// At most `style.width - 1` columns: the bar shrinks first, then the text.
std::string RenderBar(const Bar& bar, const Style& style);

}  // namespace epochd::terminal
