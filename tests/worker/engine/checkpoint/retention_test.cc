// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/checkpoint/retention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace epochd::engine {
namespace {

using Paths = std::set<std::string>;

bool Always(int64_t) { return true; }

std::string Name(int number) { return "step-" + std::to_string(number); }

// Adds checkpoints of these scores one by one, as they are saved.
Paths Kept(const Retention::Options& options,
           const std::vector<double>& scores) {
  Retention retention(options);
  for (size_t i = 0; i < scores.size(); ++i) {
    retention.Add({.path = Name(static_cast<int>(i)),
                   .score = scores[i],
                   .event = static_cast<int64_t>(i)});
    retention.TakeRemovable(&Always);
  }
  Paths left;
  for (const auto& item : retention.items()) left.insert(item.path);
  return left;
}

std::string Best(bool higher, const std::vector<double>& scores) {
  Retention retention({.keep_last = -1, .higher_is_better = higher});
  for (size_t i = 0; i < scores.size(); ++i) {
    retention.Add({.path = Name(static_cast<int>(i)), .score = scores[i]});
  }
  return retention.Best();
}

TEST(RetentionTest, Case57NanIsNeverTheBest) {
  const double nan = std::nan("");
  EXPECT_EQ(Best(false, {nan, 8, 7, 5}), Name(3));
  EXPECT_EQ(Best(true, {nan, 5, 7, 8}), Name(3));
  EXPECT_EQ(Best(false, {nan, nan}), "");
  EXPECT_EQ(Kept({.keep_last = 1, .keep_best = 1}, {nan, 5, nan, nan}),
            (Paths{Name(1), Name(3)}));
}

TEST(RetentionTest, Case58OfEqualsTheEarliestIsTheBest) {
  EXPECT_EQ(Best(true, {.5, .7, .7}), Name(1));
  EXPECT_EQ(Kept({.keep_last = 1, .keep_best = 1, .higher_is_better = true},
                 {.5, .7, .7, .7}),
            (Paths{Name(1), Name(3)}));
}

TEST(RetentionTest, Case63OrderIsThatOfSavingNotOfNames) {
  // "step-10" sorts before "step-9".
  EXPECT_EQ(Kept({.keep_last = 2, .keep_best = 0}, std::vector<double>(11, 0)),
            (Paths{Name(9), Name(10)}));
}

TEST(RetentionTest, Case71KeepsAsManyAsItIsTold) {
  EXPECT_EQ(Kept({.keep_last = 2, .keep_best = 0}, {1, 2, 3, 4}),
            (Paths{Name(2), Name(3)}));
}

TEST(RetentionTest, Case73MinusOneKeepsAll) {
  EXPECT_EQ(Kept({.keep_last = -1, .keep_best = 0}, {1, 2, 3}).size(), 3u);
  EXPECT_EQ(Kept({.keep_last = 1, .keep_best = -1}, {1, 2, std::nan(""), 4}),
            (Paths{Name(0), Name(1), Name(3)}));
}

TEST(RetentionTest, KeepsTheBestFewBesideTheLast) {
  EXPECT_EQ(Kept({.keep_last = 1, .keep_best = 2}, {3, 1, 2, 4, 5}),
            (Paths{Name(1), Name(2), Name(4)}));
}

TEST(RetentionTest, Case65NothingGoesBeforeANewerOneIsKnown) {
  Retention retention({.keep_last = 1, .keep_best = 0});
  retention.Add({.path = "a", .event = 1});
  retention.Add({.path = "b", .event = 2});
  EXPECT_TRUE(retention.TakeRemovable([](int64_t) { return false; }).empty());
  // That an older one is known does not help.
  EXPECT_TRUE(
      retention.TakeRemovable([](int64_t event) { return event < 2; }).empty());
  EXPECT_EQ(retention.TakeRemovable(&Always), (std::vector<std::string>{"a"}));
  EXPECT_TRUE(retention.TakeRemovable(&Always).empty());
}

TEST(RetentionTest, Case67WhatTheRunWentOnFromIsPinned) {
  Retention retention({.keep_last = 2, .keep_best = 0});
  retention.Add({.path = "2"});
  retention.Add({.path = "4", .is_pinned = true});
  // Of earlier attempts; nothing of this one is there yet.
  EXPECT_TRUE(retention.TakeRemovable(&Always).empty());
  for (const char* path : {"6", "8"}) {
    retention.Add({.path = path, .event = 1});
    retention.TakeRemovable(&Always);
  }
  Paths left;
  for (const auto& item : retention.items()) left.insert(item.path);
  EXPECT_EQ(left, (Paths{"4", "6", "8"}));
}

TEST(RetentionTest, ABrokenOneCountsForNothingAndGoes) {
  Retention retention({.keep_last = 2, .keep_best = 0});
  retention.Add({.path = "1"});
  retention.Add({.path = "2", .is_broken = true});
  EXPECT_TRUE(retention.TakeRemovable(&Always).empty());
  retention.Add({.path = "3", .event = 1});
  EXPECT_EQ(retention.TakeRemovable(&Always), (std::vector<std::string>{"2"}));
  EXPECT_EQ(retention.items().size(), 2u);
}

}  // namespace
}  // namespace epochd::engine
