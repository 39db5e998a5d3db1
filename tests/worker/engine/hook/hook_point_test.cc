// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/hook/hook_point.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace epochd::engine {
namespace {

struct Context {
  std::string trace;
};

TEST(HookPointTest, RunsCallbacksInTheOrderOfBinding) {
  HookPoint<Context> point;
  EXPECT_FALSE(point.is_bound());
  point.Bind([](Context& context) { context.trace += "a"; });
  point.Bind([](Context& context) { context.trace += "b"; });
  EXPECT_TRUE(point.is_bound());
  Context context;
  point.Fire(context);
  EXPECT_EQ(context.trace, "ab");
}

TEST(HookPointTest, RunsWhatIsBoundMeanwhileFromTheNextTimeOn) {
  HookPoint<Context> point;
  bool bound = false;
  point.Bind([&](Context& context) {
    context.trace += "a";
    if (bound) return;
    bound = true;
    for (int i = 0; i < 100; ++i) {
      point.Bind([](Context& inner) { inner.trace += "b"; });
    }
  });
  Context context;
  point.Fire(context);
  EXPECT_EQ(context.trace, "a");
  point.Fire(context);
  EXPECT_EQ(context.trace, "aa" + std::string(100, 'b'));
}

TEST(HookPointTest, LetsExceptionsThrough) {
  HookPoint<Context> point;
  point.Bind([](Context&) { throw std::runtime_error("stop"); });
  Context context;
  EXPECT_THROW(point.Fire(context), std::runtime_error);
}

}  // namespace
}  // namespace epochd::engine
