// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "client/terminal/width.h"

namespace epochd::terminal {
namespace {

std::vector<Curve> Curves() {
  return {{"train/loss", {{1, 2.0}, {2, 1.0}, {3, 0.5}, {4, 0.25}}},
          {"val/loss", {{1, 1.5}, {2, 1.25}, {3, 1.0}, {4, 1.0}}}};
}

PlotOptions Options() {
  PlotOptions options;
  options.title = "loss";
  options.x_label = "epoch";
  options.width = 40;
  options.height = 9;
  return options;
}

TEST(Plot, DrawsLettersInAscii) {
  EXPECT_EQ(RenderPlot(Curves(), Options(), Style{}),
            R"PLOT(loss  * train/loss  o val/loss
2.0000 +**
       |oooooo
1.3000 +      oooooooooo
       |         *******ooooooooooooooo
       |                **********
0.2500 +                          *****
       +-------------------------------
        1            epoch            4
)PLOT");
}

TEST(Plot, DrawsBraille) {
  Style style;
  style.unicode = true;
  // Without colour the two curves would look the same.
  EXPECT_EQ(RenderPlot(Curves(), Options(), style),
            RenderPlot(Curves(), Options(), Style{}));
  style.color = true;
  PlotOptions options = Options();
  options.height = 6;
  const std::string plot = RenderPlot(Curves(), options, style);
  EXPECT_NE(plot.find("━\x1b[0m train/loss"), std::string::npos);
  EXPECT_NE(plot.find("┤"), std::string::npos);
  EXPECT_NE(plot.find("└──"), std::string::npos);
  // Some cell holds more than one dot of a falling line.
  EXPECT_NE(plot.find("⠉"), std::string::npos) << plot;
}

TEST(Plot, StaysWithinItsWidthAndHeight) {
  Style style;
  style.unicode = true;
  const std::vector<Curve> one = {Curves().front()};
  for (int width = 24; width < 120; width += 7) {
    for (int height = 5; height < 30; height += 3) {
      PlotOptions options = Options();
      options.width = width;
      options.height = height;
      std::istringstream lines(RenderPlot(one, options, style));
      std::string line;
      int num_lines = 0;
      while (std::getline(lines, line)) {
        ++num_lines;
        ASSERT_LE(DisplayWidth(line), static_cast<size_t>(width)) << line;
      }
      ASSERT_EQ(num_lines, height);
    }
  }
}

TEST(Plot, CutsATitleAndLeavesOutNamesThatDoNotFit) {
  PlotOptions options = Options();
  options.title = std::string(100, 't');
  const std::string plot = RenderPlot(Curves(), options, Style{});
  EXPECT_EQ(plot.substr(0, plot.find('\n')), std::string(39, 't') + "~");
  options.title = "loss of all";
  options.width = 28;
  const std::string narrow = RenderPlot(Curves(), options, Style{});
  EXPECT_EQ(narrow.substr(0, narrow.find('\n')), "loss of all  * train/loss");
}

TEST(Plot, LeavesGapsWhereNumbersAreNotFinite) {
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  const std::string plot = RenderPlot(
      {{"x", {{1, 1}, {2, nan}, {3, inf}, {4, 2}}}}, Options(), Style{});
  EXPECT_NE(plot.find("2.0000"), std::string::npos);
  EXPECT_EQ(RenderPlot({{"x", {{1, nan}}}}, Options(), Style{}),
            "loss: nothing to plot yet\n");
  EXPECT_EQ(RenderPlot({}, Options(), Style{}), "loss: nothing to plot yet\n");
}

TEST(Plot, KeepsItsFrameWhateverItDraws) {
  std::mt19937 random(7);
  const auto number = [&]() -> double {
    switch (random() % 6) {
      case 0:
        return std::nan("");
      case 1:
        return random() % 2 == 0 ? HUGE_VAL : -HUGE_VAL;
      case 2:
        return 0;
      default:
        return std::ldexp(static_cast<double>(random()) - 2e9,
                          static_cast<int>(random() % 2000) - 1000);
    }
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<Curve> curves(random() % 4);
    for (Curve& curve : curves) {
      curve.name = "c";
      for (auto i = random() % 6; i > 0; --i) {
        curve.points.emplace_back(number(), number());
      }
    }
    PlotOptions options = Options();
    options.log_y = random() % 2 == 0;
    options.width = 30 + static_cast<int>(random() % 60);
    Style style;
    style.unicode = random() % 2 == 0;
    const std::string plot = RenderPlot(curves, options, style);
    if (plot == "loss: nothing to plot yet\n") continue;
    std::istringstream lines(plot);
    std::string line;
    int num_lines = 0;
    for (; std::getline(lines, line); ++num_lines) {
      ASSERT_LE(DisplayWidth(line), static_cast<size_t>(options.width))
          << round << "\n"
          << plot;
    }
    ASSERT_EQ(num_lines, options.height) << round;
  }
}

// Texts of the axes: those before the edge, then the ends of the last line.
std::vector<std::string> Marks(const std::string& plot) {
  std::vector<std::string> marks;
  std::istringstream lines(plot);
  std::string line;
  while (std::getline(lines, line)) {
    const size_t edge = line.find(" +");
    if (edge != std::string::npos && line[0] != ' ') {
      marks.push_back(line.substr(0, edge));
    }
  }
  std::istringstream last(plot.substr(plot.rfind('\n', plot.size() - 2)));
  for (std::string word; last >> word;) marks.push_back(word);
  return marks;
}

TEST(Plot, WritesAsManyDigitsAsTellItsMarksApart) {
  using testing::ElementsAre;
  const auto marks = [](double x, double y, double x2, double y2,
                        int width = 40) {
    PlotOptions options = Options();
    options.width = width;
    return Marks(RenderPlot({{"x", {{x, y}, {x2, y2}}}}, options, Style{}));
  };
  EXPECT_THAT(marks(1, 33.401, 4, 33.406),
              ElementsAre("33.406", "33.404", "33.401", "1", "epoch", "4"));
  EXPECT_THAT(
      marks(12340, 0.91711, 12345, 0.91713),
      ElementsAre("0.91713", "0.91712", "0.91711", "12340", "epoch", "12345"));
  EXPECT_THAT(
      marks(1, 1.2341e-5, 2, 1.2344e-5),
      ElementsAre("1.2344e-05", "1.2343e-05", "1.2341e-05", "1", "epoch", "2"));
  // Where there is no room for them they are as ever.
  EXPECT_THAT(marks(1, 1, 2, 1 + 1e-12, 24),
              ElementsAre("1.0000", "1.0000", "1.0000", "1", "epoch", "2"));
}

TEST(Plot, ShowsASinglePointAndAConstant) {
  for (const std::vector<std::pair<double, double>>& points :
       {std::vector<std::pair<double, double>>{{1, 0.5}},
        std::vector<std::pair<double, double>>{{1, 0}, {2, 0}}}) {
    const std::string plot = RenderPlot({{"x", points}}, Options(), Style{});
    EXPECT_NE(plot.find('*', plot.find('\n')), std::string::npos) << plot;
  }
}

TEST(Plot, DrawsNumbersAtTheEndsOfWhatADoubleHolds) {
  constexpr double kMost = std::numeric_limits<double>::max();
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  for (const std::vector<std::pair<double, double>>& points :
       {std::vector<std::pair<double, double>>{{1, -kMost}, {2, kMost}},
        std::vector<std::pair<double, double>>{{-kMost, 1}, {kMost, 2}},
        std::vector<std::pair<double, double>>{{1, kMost}},
        std::vector<std::pair<double, double>>{{1, kLeast}, {2, 0}},
        std::vector<std::pair<double, double>>{{0, kLeast}, {kLeast, 1}}}) {
    for (const bool log_y : {false, true}) {
      PlotOptions options = Options();
      options.log_y = log_y;
      std::istringstream lines(RenderPlot({{"x", points}}, options, Style{}));
      std::string line;
      int num_marks = 0;
      while (std::getline(lines, line)) {
        EXPECT_LE(DisplayWidth(line), 40u) << line;
        num_marks += line.find('*') != std::string::npos;
      }
      EXPECT_GE(num_marks, 2) << "the legend's and a dot";
    }
  }
}

TEST(Plot, UsesALogarithmOnlyOfPositiveNumbers) {
  PlotOptions options = Options();
  options.log_y = true;
  const std::string log =
      RenderPlot({{"x", {{1, 1e-4}, {2, 1}}}}, options, Style{});
  EXPECT_NE(log.find("1.000e-04"), std::string::npos);
  EXPECT_EQ(log.find("0.5"), std::string::npos) << log;
  const std::string linear =
      RenderPlot({{"x", {{1, -1}, {2, 1}}}}, options, Style{});
  EXPECT_NE(linear.find("-1.0000"), std::string::npos);
}

}  // namespace
}  // namespace epochd::terminal
