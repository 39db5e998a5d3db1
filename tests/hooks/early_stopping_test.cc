// SPDX-License-Identifier: Apache-2.0
#include "hooks/early_stopping.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace epochd::hooks {
namespace {

struct Case {
  int64_t patience;
  double min_delta;
  bool higher_is_better;
  std::vector<double> values;
  int stops_after;  // values; 0: never
};

const Case kCases[] = {
    {3, 0.1, false, {1, .95, .9, .85}, 3},
    {3, 0.0, false, {1, .95, .9, .85}, 0},
    {2, 0.0, false, {1, 1}, 2},
    {2, 0.0, false, {1, .5, .25, .25}, 4},
    {3, 0.0, true, {.5, .6, .7, .65, .6}, 5},
    // Compares with the first of the window, not with the best ever.
    {3, 0.0, false, {1, 2, 3, 2.5, 2.4}, 3},
    {3, 0.0, false, {1, NAN, NAN}, 3},
    // A gain must be larger than min_delta.
    {2, 0.5, false, {1, 0.5}, 2},
};

TEST(EarlyStoppingTest, StopsByTheRule) {
  for (const Case& each : kCases) {
    EarlyStopping hook(each.patience, each.min_delta);
    int stopped = 0;
    for (size_t i = 0; i < each.values.size() && stopped == 0; ++i) {
      if (hook.ShouldStop(each.values[i], each.higher_is_better)) {
        stopped = static_cast<int>(i) + 1;
      }
    }
    EXPECT_EQ(stopped, each.stops_after)
        << "patience " << each.patience << ", first " << each.values[0];
  }
}

TEST(EarlyStoppingTest, RemembersItsWindowAcrossARestart) {
  EarlyStopping before(3, 0.1);
  EXPECT_FALSE(before.ShouldStop(1, false));
  EXPECT_FALSE(before.ShouldStop(NAN, false));
  EarlyStopping after(3, 0.1);
  after.LoadState(before.State());
  EXPECT_TRUE(after.ShouldStop(0.95, false));
}

}  // namespace
}  // namespace epochd::hooks
