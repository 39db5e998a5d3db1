// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include "client/terminal/human.h"
#include "client/terminal/width.h"

namespace epochd::terminal {
namespace {

constexpr std::array<Color, 6> kColors = {Color::kCyan,    Color::kYellow,
                                          Color::kMagenta, Color::kGreen,
                                          Color::kBlue,    Color::kRed};
constexpr std::string_view kLetters = "*o+x#@";

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Makes room where all values are the same.
  void Open() {
    if (high > low) return;
    const double room = low == 0 ? 1 : std::abs(low) * 0.05;
    low -= room;
    high += room;
  }
};

// A grid of dots, `across` by `down` of them to each column and line.
class Canvas {
 public:
  Canvas(size_t columns, size_t lines, bool unicode)
      : columns_(columns),
        lines_(lines),
        across_(unicode ? 2 : 1),
        down_(unicode ? 4 : 1),
        unicode_(unicode),
        cells_(columns * lines) {}

  size_t dots_across() const { return columns_ * across_; }
  size_t dots_down() const { return lines_ * down_; }

  // (0, 0) is the lower left dot.
  void Dot(size_t x, size_t y, size_t curve) {
    const size_t from_top = dots_down() - 1 - y;
    Cell& cell = cells_[from_top / down_ * columns_ + x / across_];
    // Braille numbers its dots down the columns, the fourth row apart.
    constexpr uint8_t kBits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cell.dots |= kBits[from_top % down_][x % across_];
    cell.curve = curve;
  }

  // Steps from dot to dot, the first included.
  void Line(std::pair<size_t, size_t> from, std::pair<size_t, size_t> to,
            size_t curve) {
    const auto x0 = static_cast<double>(from.first);
    const auto y0 = static_cast<double>(from.second);
    const double dx = static_cast<double>(to.first) - x0;
    const double dy = static_cast<double>(to.second) - y0;
    const auto num_steps =
        static_cast<size_t>(std::max(std::abs(dx), std::abs(dy)));
    for (size_t i = 0; i <= num_steps; ++i) {
      const double t = num_steps == 0 ? 0
                                      : static_cast<double>(i) /
                                            static_cast<double>(num_steps);
      Dot(static_cast<size_t>(std::lround(x0 + t * dx)),
          static_cast<size_t>(std::lround(y0 + t * dy)), curve);
    }
  }

  std::string LineText(size_t line, const Style& style) const {
    std::string result;
    size_t blanks = 0;
    for (size_t column = 0; column < columns_; ++column) {
      const Cell& cell = cells_[line * columns_ + column];
      if (cell.dots == 0) {
        ++blanks;
        continue;
      }
      result += std::string(blanks, ' ');
      blanks = 0;
      result += style.Paint(Glyph(cell), kColors[cell.curve % kColors.size()]);
    }
    return result;
  }

 private:
  struct Cell {
    uint8_t dots = 0;
    size_t curve = 0;
  };

  std::string Glyph(const Cell& cell) const {
    if (!unicode_) {
      return std::string(1, kLetters[cell.curve % kLetters.size()]);
    }
    // U+2800 plus the dots, as UTF-8.
    return {'\xe2', static_cast<char>(0xa0 + (cell.dots >> 6)),
            static_cast<char>(0x80 + (cell.dots & 0x3f))};
  }

  const size_t columns_;
  const size_t lines_;
  const size_t across_;
  const size_t down_;
  const bool unicode_;
  std::vector<Cell> cells_;
};

size_t Scale(double value, const Range& range, size_t num_dots) {
  // The range of two doubles may be more than one holds.
  const long double low = range.low;
  const long double span = range.high - low;
  const double t = span > 0 ? static_cast<double>((value - low) / span) : 0;
  return static_cast<size_t>(
      std::lround(std::clamp(t, 0.0, 1.0) * static_cast<double>(num_dots - 1)));
}

// Texts that differ from each other, with more digits where that takes them;
// those of HumanNumber where no digits that fit into `width` do.
std::vector<std::string> Marks(const std::vector<double>& values,
                               size_t width) {
  constexpr int kMostDigits = 13;
  std::vector<std::string> plain;
  for (int more_digits = 0; more_digits <= kMostDigits; ++more_digits) {
    std::vector<std::string> marks;
    size_t longest = 0;
    for (const double value : values) {
      marks.push_back(HumanNumber(value, more_digits));
      longest = std::max(longest, marks.back().size());
    }
    if (more_digits == 0) plain = marks;
    const std::set<std::string> different(marks.begin(), marks.end());
    if (different.size() == marks.size() && longest <= width) return marks;
  }
  return plain;
}

std::string Legend(const std::vector<Curve>& curves, const PlotOptions& options,
                   const Style& style) {
  std::string legend =
      Fit(options.title, static_cast<size_t>(options.width), style.unicode);
  size_t used = DisplayWidth(legend);
  for (size_t i = 0; i < curves.size(); ++i) {
    const std::string mark =
        style.unicode ? "━" : std::string(1, kLetters[i % kLetters.size()]);
    const size_t columns = 2 + 2 + DisplayWidth(curves[i].name);
    if (used + columns > static_cast<size_t>(options.width)) break;
    used += columns;
    legend += "  " + style.Paint(mark, kColors[i % kColors.size()]) + " " +
              curves[i].name;
  }
  return legend;
}

}  // namespace

std::string RenderPlot(const std::vector<Curve>& curves,
                       const PlotOptions& options, const Style& given_style) {
  Style style = given_style;
  style.unicode = style.unicode && (style.color || curves.size() == 1);
  Range x_range;
  Range y_range;
  for (const Curve& curve : curves) {
    for (const auto& [x, y] : curve.points) {
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      x_range.Add(x);
      y_range.Add(y);
    }
  }
  if (x_range.low > x_range.high) {
    return (options.title.empty() ? "" : options.title + ": ") +
           "nothing to plot yet\n";
  }
  const bool log_y = options.log_y && y_range.low > 0;
  const auto scaled = [log_y](double y) { return log_y ? std::log10(y) : y; };
  Range drawn = {scaled(y_range.low), scaled(y_range.high)};
  drawn.Open();
  const Range x_drawn = [&x_range] {
    Range open = x_range;
    if (!(open.high > open.low)) open.high = open.low + 1;
    return open;
  }();

  // Legend, x axis and its numbers take three lines.
  const auto num_lines = static_cast<size_t>(std::max(options.height - 3, 2));
  std::vector<std::string> y_labels(num_lines);
  std::vector<size_t> labelled = {0};
  if (num_lines > 2) labelled.push_back((num_lines - 1) / 2);
  labelled.push_back(num_lines - 1);
  std::vector<double> values;
  for (const size_t line : labelled) {
    const double t =
        1 - static_cast<double>(line) / static_cast<double>(num_lines - 1);
    const double value = (1 - t) * drawn.low + t * drawn.high;
    values.push_back(log_y ? std::pow(10, value) : value);
  }
  // Not more than half of the width.
  const auto most = static_cast<size_t>(std::max(options.width, 0)) / 2;
  const std::vector<std::string> marks = Marks(values, most);
  size_t label_width = 0;
  for (size_t i = 0; i < labelled.size(); ++i) {
    y_labels[labelled[i]] = marks[i];
    label_width = std::max(label_width, marks[i].size());
  }
  const size_t axis_width = label_width + 2;
  const size_t num_columns = std::max<size_t>(
      static_cast<size_t>(options.width) -
          std::min(axis_width + 1, static_cast<size_t>(options.width)),
      8);
  Canvas canvas(num_columns, num_lines, style.unicode);
  for (size_t i = 0; i < curves.size(); ++i) {
    bool is_begun = false;
    std::pair<size_t, size_t> previous = {0, 0};
    for (const auto& [x, y] : curves[i].points) {
      if (!std::isfinite(x) || !std::isfinite(y)) {
        is_begun = false;
        continue;
      }
      const std::pair<size_t, size_t> dot = {
          Scale(x, x_drawn, canvas.dots_across()),
          Scale(scaled(y), drawn, canvas.dots_down())};
      canvas.Line(is_begun ? previous : dot, dot, i);
      previous = dot;
      is_begun = true;
    }
  }

  std::string result = Legend(curves, options, style) + "\n";
  for (size_t line = 0; line < num_lines; ++line) {
    const bool is_labelled = !y_labels[line].empty();
    const char* edge =
        style.unicode ? (is_labelled ? "┤" : "│") : (is_labelled ? "+" : "|");
    std::string row = PadLeft(y_labels[line], label_width) + " " + edge;
    result += row + canvas.LineText(line, style) + "\n";
  }
  std::string axis = std::string(label_width + 1, ' ');
  axis += style.unicode ? "└" : "+";
  for (size_t i = 0; i < num_columns; ++i) axis += style.unicode ? "─" : "-";
  result += axis + "\n";
  std::string left = HumanCount(x_range.low);
  std::string right = HumanCount(x_range.high);
  if (left == right && x_range.high > x_range.low) {
    const auto ends = Marks({x_range.low, x_range.high}, num_columns / 2);
    left = ends[0];
    right = ends[1];
  }
  if (left.size() + right.size() >= num_columns) right.clear();
  const std::string& middle = options.x_label;
  std::string numbers = std::string(axis_width, ' ') + left;
  const size_t room =
      num_columns - std::min(num_columns, left.size() + right.size());
  if (x_range.high > x_range.low) {
    const size_t middle_width = DisplayWidth(middle);
    if (middle_width + 2 <= room) {
      const size_t before = (room - middle_width) / 2;
      numbers += std::string(before, ' ') + middle +
                 std::string(room - before - middle_width, ' ');
    } else {
      numbers += std::string(room, ' ');
    }
    numbers += right;
  } else if (!middle.empty()) {
    numbers += " " + middle;
  }
  return result +
         Fit(numbers, static_cast<size_t>(options.width), style.unicode) + "\n";
}

}  // namespace epochd::terminal
