// SPDX-License-Identifier: Apache-2.0
//
// Curves with axes as text: braille dots (2 by 4 to a column), or one letter
// per curve where only ASCII can be shown, or no colour tells several curves
// apart. Stateless.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "client/terminal/style.h"

namespace epochd::terminal {

struct Curve {
  std::string name;
  // In order of x. What is not finite leaves a gap.
  std::vector<std::pair<double, double>> points;
};

struct PlotOptions {
  std::string title;
  std::string x_label;
  // Of the whole, axes and legend included.
  int width = 80;
  int height = 14;
  // Draws y by its logarithm when all of it is positive.
  bool log_y = false;
};

// Lines ending in newlines, none wider than `width`. Without any finite point:
// one line that says so.
std::string RenderPlot(const std::vector<Curve>& curves,
                       const PlotOptions& options, const Style& style);

}  // namespace epochd::terminal
