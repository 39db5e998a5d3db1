// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/bar.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "client/terminal/width.h"

namespace epochd::terminal {
namespace {

constexpr size_t kWidest = 30;
constexpr size_t kNarrowest = 8;

// Fills `fraction` of `width` columns, in eighths of one where blocks exist.
std::string Filled(double fraction, size_t width, const Style& style) {
  constexpr std::array<const char*, 9> kEighths = {"",  "▏", "▎", "▍", "▌",
                                                   "▋", "▊", "▉", "█"};
  const double columns = fraction * static_cast<double>(width);
  const auto whole = std::min(static_cast<size_t>(columns), width);
  std::string result;
  if (!style.unicode) {
    result = std::string(whole, '#') + std::string(width - whole, '.');
    return "[" + result + "]";
  }
  for (size_t i = 0; i < whole; ++i) result += kEighths[8];
  size_t used = whole;
  const auto eighth =
      static_cast<size_t>((columns - static_cast<double>(whole)) * 8);
  if (used < width && eighth > 0) {
    result += kEighths[std::min<size_t>(eighth, 7)];
    ++used;
  }
  return "▕" + style.Paint(result, Color::kGreen) +
         std::string(width - used, ' ') + "▏";
}

}  // namespace

std::string RenderBar(const Bar& bar, const Style& style) {
  // The last column is left free: some terminals wrap when it is written.
  const size_t width = static_cast<size_t>(style.width) - 1;
  const std::string label = Fit(bar.label, width, style.unicode);
  if (bar.total <= 0) {
    return Fit(label + "  " + bar.text, width, style.unicode);
  }
  const double fraction = std::clamp(bar.done / bar.total, 0.0, 1.0);
  std::string percent =
      PadLeft(std::to_string(static_cast<int>(std::floor(fraction * 100))), 3) +
      "%";
  // Label, blank, two ends of the bar, blank, percent, two blanks.
  const size_t fixed = DisplayWidth(label) + 2 + 2 + percent.size() + 2;
  const size_t text_width = DisplayWidth(bar.text);
  if (fixed + kNarrowest > width) return Fit(label, width, style.unicode);
  const size_t room = width - fixed;
  const size_t bar_width =
      room > text_width ? std::clamp(room - text_width, kNarrowest, kWidest)
                        : kNarrowest;
  return label + " " + Filled(fraction, bar_width, style) + " " + percent +
         "  " + Fit(bar.text, room - std::min(room, bar_width), style.unicode);
}

}  // namespace epochd::terminal
