// SPDX-License-Identifier: Apache-2.0
#include "server/events/wake_list.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace epochd::events {
namespace {

const job::JobId kA(0, 1);
const job::JobId kB(0, 2);

TEST(WakeListTest, WakesOnlySubscribersOfTheTopic) {
  WakeList list;
  int a = 0;
  int b = 0;
  const Subscription to_a = list.Subscribe(kA, [&] { ++a; });
  const Subscription to_b = list.Subscribe(kB, [&] { ++b; });
  list.Wake(kA);
  list.Wake(kA);
  EXPECT_EQ(a, 2);
  EXPECT_EQ(b, 0);
  EXPECT_EQ(list.NumSubscribers(), 2);
}

TEST(WakeListTest, NeverCallsAfterTheSubscriptionEnded) {
  WakeList list;
  int calls = 0;
  {
    const Subscription subscription = list.Subscribe(kA, [&] { ++calls; });
  }
  list.Wake(kA);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(list.NumSubscribers(), 0);
}

TEST(WakeListTest, ASubscriptionMayOutliveTheList) {
  auto list = std::make_unique<WakeList>();
  const Subscription subscription = list->Subscribe(kA, [] {});
  list.reset();
}

TEST(WakeListTest, MovingASubscriptionEndsTheOneItReplaces) {
  WakeList list;
  int first = 0;
  int second = 0;
  Subscription subscription = list.Subscribe(kA, [&] { ++first; });
  subscription = list.Subscribe(kA, [&] { ++second; });
  list.Wake(kA);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

TEST(WakeListTest, EndingWaitsForARunningCall) {
  WakeList list;
  std::atomic<bool> stop = false;
  std::thread waker([&] {
    while (!stop) list.Wake(kA);
  });
  for (int i = 0; i < 500; ++i) {
    auto alive = std::make_unique<std::atomic<int>>(0);
    {
      const Subscription subscription =
          list.Subscribe(kA, [counter = alive.get()] { ++*counter; });
    }
    // Sanitizers would see a call after this.
    alive.reset();
  }
  stop = true;
  waker.join();
  EXPECT_EQ(list.NumSubscribers(), 0);
}

}  // namespace
}  // namespace epochd::events
