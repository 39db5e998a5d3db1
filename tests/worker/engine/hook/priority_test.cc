// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/hook/priority.h"

#include <gtest/gtest.h>

#include <string>

#include "worker/engine/core/error.h"
#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook_point.h"

namespace epochd::engine {
namespace {

TEST(PriorityTest, RunsLowerNumbersFirstAndEqualOnesAsBound) {
  HookPoint<std::string> point;
  auto bind = [&point](int priority, const char* name) {
    const BindingPriority bound(priority);
    point.Bind([name](std::string& trace) { trace += name; });
  };
  bind(kNormalPriority, "b");
  bind(kLowestPriority, "z");
  bind(kHighestPriority, "a");
  bind(kNormalPriority, "c");
  point.Bind([](std::string& trace) { trace += "d"; });
  std::string trace;
  point.Fire(trace);
  EXPECT_EQ(trace, "abcdz");
}

TEST(PriorityTest, KnowsTheNamesInEitherCase) {
  EXPECT_EQ(PriorityByName("HIGHEST"), 0);
  EXPECT_EQ(PriorityByName("below_normal"), 60);
  EXPECT_EQ(PriorityByName("VERY_LOW"), 90);
  EXPECT_FALSE(PriorityByName("urgent").has_value());
}

TEST(PriorityTest, UnbindsFromTheNextTimeOn) {
  HookPoint<std::string> point;
  HookPoint<std::string>::Id second = 0;
  point.Bind([&](std::string& trace) {
    trace += "a";
    point.Unbind(second);
  });
  second = point.Bind([](std::string& trace) { trace += "b"; });
  std::string trace;
  point.Fire(trace);
  EXPECT_EQ(trace, "ab");
  point.Fire(trace);
  EXPECT_EQ(trace, "aba");
  point.Unbind(second);  // again: nothing
  EXPECT_TRUE(point.is_bound());
}

TEST(ContextTest, RefusesMetricsUnderANameThatIsTaken) {
  RunnerContext context;
  context.losses.emplace_back("l1", at::Tensor());
  context.AddMetric("grad_norm", 1.0);
  EXPECT_THROW(context.AddMetric("grad_norm", 2.0), Error);
  EXPECT_THROW(context.AddMetric("l1", 2.0), Error);
  EXPECT_THROW(context.AddMetric("loss", 2.0), Error);
  EXPECT_THROW(context.AddMetric("", 2.0), Error);
  TrainerContext trainer;
  trainer.AddScore("val/extra", 1.0);
  EXPECT_THROW(trainer.AddScore("val/extra", 1.0), Error);
}

}  // namespace
}  // namespace epochd::engine
