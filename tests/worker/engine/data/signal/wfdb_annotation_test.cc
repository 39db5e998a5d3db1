// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_annotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/engine/data/signal/signal_files.h"
#include "worker/engine/data/signal/record_labels.h"

namespace epochd::engine {
namespace {

using testing::HasSubstr;
using std::string_literals::operator""s;

TEST(WfdbAnnotations, AreThoseOfThePythonPackage) {
  const auto recorded = RecordedJson("wfdb.json");
  for (const auto& [name, expected] : recorded.at("annotations").items()) {
    SCOPED_TRACE(name);
    const WfdbAnnotations read = ReadWfdbAnnotations(Recorded(name));
    EXPECT_EQ(read.fs, expected.at("fs").get<double>());
    const auto& all = expected.at("annotations");
    ASSERT_EQ(read.all.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(read.all[i].sample, all[i][0].get<int64_t>());
      EXPECT_EQ(read.all[i].symbol, all[i][1].get<std::string>());
      EXPECT_EQ(read.all[i].subtype, all[i][2].get<int>());
      EXPECT_EQ(read.all[i].channel, all[i][3].get<int>());
      EXPECT_EQ(read.all[i].number, all[i][4].get<int>());
      EXPECT_EQ(read.all[i].aux, all[i][5].get<std::string>());
    }
  }
}

// Each row of a file: two bytes, low one first.
std::string Words(std::initializer_list<int> words) {
  std::string bytes;
  for (int word : words) {
    bytes += static_cast<char>(word & 0xff);
    bytes += static_cast<char>(word >> 8);
  }
  return bytes;
}

TEST(WfdbAnnotations, ASkipMayGoBack) {
  const WfdbAnnotations read = ParseWfdbAnnotations(
      Words({1 << 10 | 100, 59 << 10, 0xffff, 0xfff6, 5 << 10 | 3, 0}), "a");
  ASSERT_EQ(read.all.size(), 2);
  EXPECT_EQ(read.all[0].sample, 100);
  EXPECT_EQ(read.all[1].sample, 93);
  EXPECT_EQ(read.all[1].symbol, "V");
}

TEST(WfdbAnnotations, NumberAndChannelCarryOverSubtypeDoesNot) {
  const WfdbAnnotations read =
      ParseWfdbAnnotations(Words({1 << 10 | 1, 60 << 10 | 0xff, 61 << 10 | 0xfe,
                                  62 << 10 | 200, 1 << 10 | 1, 0}),
                           "a");
  ASSERT_EQ(read.all.size(), 2);
  EXPECT_EQ(read.all[0].number, -1);
  EXPECT_EQ(read.all[0].subtype, -2);
  EXPECT_EQ(read.all[0].channel, 200);
  EXPECT_EQ(read.all[1].number, -1);
  EXPECT_EQ(read.all[1].subtype, 0);
  EXPECT_EQ(read.all[1].channel, 200);
}

TEST(WfdbAnnotations, RefusesWhatEndsEarlyNamingTheByte) {
  const std::string whole =
      Words({1 << 10 | 1, 63 << 10 | 3}) + "abc\0"s + Words({0});
  EXPECT_EQ(ParseWfdbAnnotations(whole, "a").all[0].aux, "abc");
  for (size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const std::string error =
        ErrorOf([&] { ParseWfdbAnnotations(whole.substr(0, size), "x.atr"); });
    EXPECT_THAT(error, HasSubstr("\"x.atr\": byte "));
    EXPECT_THAT(error, HasSubstr("ends"));
  }
}

TEST(LabelsWithin, WhatIsCoveredLessThanNothingIsHasNoLabel) {
  const std::vector<LabelSpan> spans = {
      {.from = 0, .to = 4, .label = "N"},
      {.from = 4, .to = 4.2, .label = "V"},
      {.from = 10, .to = 15, .label = "AFIB"}};
  using Names = std::vector<std::string>;
  EXPECT_EQ(LabelsWithin(spans, 0, 5, false), Names{"N"});
  EXPECT_EQ(LabelsWithin(spans, 4, 9, false), Names{});
  EXPECT_EQ(LabelsWithin(spans, 8, 12, false), Names{"AFIB"});
  EXPECT_EQ(LabelsWithin(spans, 6, 11, false), Names{});
  EXPECT_EQ(LabelsWithin(spans, 6, 11, true), Names{"AFIB"});
}

TEST(ClassRule, AClassMayHaveSeveralNames) {
  const ClassRule rule{.names = {"713427006|59118001", "(AFIB"}};
  EXPECT_EQ(rule.Find("59118001"), 0);
  EXPECT_EQ(rule.Find("713427006"), 0);
  EXPECT_EQ(rule.Find("713427006|59118001"), 0);
  EXPECT_EQ(rule.Find("AFIB"), 1);
  EXPECT_EQ(rule.Find("5911800"), -1);
}

}  // namespace
}  // namespace epochd::engine
