// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/filter.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "tests/worker/engine/data/signal/signal_files.h"
#include "tests/worker/engine/data/signal/wave.h"

namespace epochd::engine {
namespace {

using testing::HasSubstr;

// |H| of a chain of sections at `hz`.
double Response(const std::vector<FilterSection>& sections, double hz,
                double fs) {
  const std::complex<double> z =
      std::exp(std::complex<double>(0, -2 * std::numbers::pi * hz / fs));
  std::complex<double> response = 1;
  for (const FilterSection& s : sections) {
    response *=
        (s[0] + s[1] * z + s[2] * z * z) / (1.0 + s[3] * z + s[4] * z * z);
  }
  return std::abs(response);
}

TEST(Filter, ButterworthIsScipys) {
  const auto recorded = RecordedJson("transforms.json");
  for (const auto& each : recorded.at("filters")) {
    SCOPED_TRACE(each.at("order").dump() + " " + each.at("low").dump() + " " +
                 each.at("high").dump());
    const double fs = each.at("fs");
    const auto sections =
        Butterworth(each.at("order"), each.at("low"), each.at("high"), fs);
    const double places[] = {0.3, 3, 20, 44};
    for (size_t i = 0; i < 4; ++i) {
      const double expected = each.at("response")[i];
      EXPECT_NEAR(Response(sections, places[i], fs), expected,
                  1e-9 * std::max(1.0, expected));
    }
    const at::Tensor filtered =
        FilterForwardBackward(sections, Wave(2, each.at("size")));
    ExpectRows(filtered, each.at("filtered"), 1e-8);
  }
}

TEST(Filter, RefusesWhatHasNoFilterNamingIt) {
  for (const auto& [order, low, high] : {std::tuple(0, 1.0, 2.0),
                                         {21, 1.0, 2.0},
                                         {2, 2.0, 1.0},
                                         {2, 0.0, 0.0},
                                         {2, 1.0, 50.0},
                                         {2, -1.0, 5.0},
                                         {2, 60.0, 0.0},
                                         {2, std::nan(""), 5.0}}) {
    EXPECT_THAT(ErrorOf([&, o = order, l = low, h = high] {
                  Butterworth(o, l, h, 100);
                }),
                HasSubstr("0 <= low < high < 50"));
  }
  EXPECT_THAT(ErrorOf([] {
                FilterForwardBackward(Butterworth(4, 1, 9, 100), Wave(1, 27));
              }),
              HasSubstr("the signal has 27 samples; more than 27"));
}

TEST(Filter, ResamplingIsScipys) {
  const auto recorded = RecordedJson("transforms.json");
  for (const auto& each : recorded.at("resampled")) {
    SCOPED_TRACE(each.at("up").dump() + "/" + each.at("down").dump());
    const at::Tensor wave = Wave(2, each.at("size"));
    ExpectRows(ResamplePoly(wave, each.at("up"), each.at("down")),
               each.at("zero"), 1e-12);
    ExpectRows(ResamplePoly(wave, each.at("up"), each.at("down"),
                            ResampleEdge::kRepeat),
               each.at("repeat"), 1e-12);
  }
  const at::Tensor same = Wave(1, 9).to(at::kFloat);
  EXPECT_TRUE(at::equal(ResamplePoly(same, 3, 3), same));
  EXPECT_EQ(ResamplePoly(same, 2, 1).scalar_type(), at::kFloat);
}

TEST(Filter, FindsTheRatioOfTwoRates) {
  const Ratio ratio = ResampleRatio(360, 250);
  EXPECT_EQ(ratio.up, 25);
  EXPECT_EQ(ratio.down, 36);
  EXPECT_EQ(ResampleRatio(257.5, 100).up, 40);
  EXPECT_EQ(ResampleRatio(100, 100).down, 1);
  EXPECT_EQ(ResampleRatio(1, 500).up, 500);
  EXPECT_EQ(ResampleRatio(500, 1).down, 500);
  EXPECT_THAT(ErrorOf([] { ResampleRatio(100, std::numbers::pi * 1e-5); }),
              HasSubstr("no ratio of whole numbers"));
}

}  // namespace
}  // namespace epochd::engine
