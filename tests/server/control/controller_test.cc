// SPDX-License-Identifier: Apache-2.0
//
// The thread and the mailbox; what the commands do is tested with Core.
#include "server/control/controller.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/server/control/rig.h"

namespace epochd::control {
namespace {

template <typename T>
class Waiter {
 public:
  Done<T> Callback() {
    return [this](absl::StatusOr<T> answer) {
      answer_ = std::move(answer);
      done_.Notify();
    };
  }
  absl::StatusOr<T> Wait() {
    if (!done_.WaitForNotificationWithTimeout(absl::Minutes(1))) {
      return absl::DeadlineExceededError("no answer");
    }
    return answer_;
  }

 private:
  absl::Notification done_;
  absl::StatusOr<T> answer_ = absl::UnknownError("");
};

Registration Agent(const std::string& name, int num_cpus) {
  Registration registration;
  registration.worker.id = job::WorkerId(name);
  registration.worker.incarnation = job::Incarnation("1");
  for (int i = 0; i < num_cpus; ++i) {
    registration.worker.devices.push_back(
        {"cpu:" + std::to_string(i), job::DeviceKind::kCpu, "", 0});
  }
  return registration;
}

class ControllerTest : public testing::Test {
 protected:
  // Agents that do not beat keep their leases on a slow machine too.
  static Options Patient() {
    Options options;
    options.unreachable_after = absl::Hours(1);
    options.lost_after = absl::Hours(2);
    return options;
  }

  SystemClock clock_;
  store::MemoryJobStore store_;
  Controller controller_{Patient(), clock_, store_};
};

TEST_F(ControllerTest, RefusesCommandsUnlessItRuns) {
  Waiter<JobView> before;
  controller_.Submit(Spec(), "", before.Callback());
  EXPECT_EQ(before.Wait().status().code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(controller_.Start().ok());
  Waiter<JobView> running;
  controller_.Submit(Spec(), "", running.Callback());
  EXPECT_TRUE(running.Wait().ok());
  controller_.Stop();
  Waiter<JobView> after;
  controller_.Submit(Spec(), "", after.Callback());
  EXPECT_EQ(after.Wait().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ControllerTest, AnIdleWorkerIsToldOfASubmitAtOnce) {
  ASSERT_TRUE(controller_.Start().ok());
  Waiter<RegisterResult> registered;
  controller_.Register(Agent("a", 1), registered.Callback());
  ASSERT_TRUE(registered.Wait().ok());
  absl::Notification told;
  auto watch = controller_.WatchDesired(
      job::WorkerId("a"), job::Incarnation("1"),
      [&](absl::StatusOr<std::shared_ptr<const DesiredState>> desired) {
        if (desired.ok() && !(*desired)->attempts.empty()) told.Notify();
      });
  ASSERT_TRUE(watch.ok());
  Waiter<JobView> submitted;
  controller_.Submit(Spec(), "", submitted.Callback());
  const auto job = submitted.Wait();
  ASSERT_TRUE(job.ok());
  // Told before the submit was answered: there is nothing left to wait for.
  EXPECT_TRUE(told.HasBeenNotified());
  EXPECT_EQ(job->job->state, job::JobState::kStarting);
}

TEST_F(ControllerTest, ManyThreadsAtOnceLoseNothing) {
  ASSERT_TRUE(controller_.Start().ok());
  constexpr int kThreads = 8;
  constexpr int kEach = 200;
  std::atomic<int> answered = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        Waiter<JobView> waiter;
        controller_.Submit(Spec(), "", waiter.Callback());
        const auto job = waiter.Wait();
        // A command's own effects are visible once it answered.
        if (job.ok() && controller_.Get(job->job->id).ok()) ++answered;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(answered, kThreads * kEach);
  EXPECT_EQ(controller_.GetStats().jobs[job::JobState::kQueued],
            kThreads * kEach);
}

TEST_F(ControllerTest, StopAnswersEverybody) {
  ASSERT_TRUE(controller_.Start().ok());
  std::atomic<int> answered = 0;
  std::atomic<bool> go_on = true;
  int asked = 0;
  std::thread asker([&] {
    // Enough to be in the middle of, not so much that it is a load test.
    while (go_on && asked < 20000) {
      ++asked;
      controller_.Submit(Spec(), "",
                         [&](absl::StatusOr<JobView>) { ++answered; });
    }
  });
  while (answered < 100) std::this_thread::yield();
  controller_.Stop();
  go_on = false;
  asker.join();
  EXPECT_EQ(answered, asked);
}

// Keeps the control thread inside one command until it is let go.
class BusyThread {
 public:
  explicit BusyThread(Controller& controller) {
    controller.Hint(Spec(), [this](absl::StatusOr<std::string>) {
      entered_.Notify();
      go_on_.WaitForNotification();
    });
    entered_.WaitForNotification();
  }
  void LetGo() { go_on_.Notify(); }

 private:
  absl::Notification entered_;
  absl::Notification go_on_;
};

TEST(ControllerOverloadTest, RefusesWhatItCannotTakeAndAnswersTheRest) {
  SystemClock clock;
  store::MemoryJobStore store;
  Options options;
  options.max_mailbox = 8;
  Controller controller(options, clock, store);
  ASSERT_TRUE(controller.Start().ok());
  Waiter<RegisterResult> registered;
  controller.Register(Agent("a", 1), registered.Callback());
  ASSERT_TRUE(registered.Wait().ok());

  BusyThread busy(controller);
  constexpr int kSubmits = 100;
  std::vector<Waiter<JobView>> submits(kSubmits);
  for (int i = 0; i < kSubmits; ++i) {
    controller.Submit(Spec(), "request-" + std::to_string(i),
                      submits[i].Callback());
  }
  EXPECT_EQ(controller.GetStats().mailbox_length, 4);
  EXPECT_EQ(controller.GetStats().num_overloads, kSubmits - 4);
  // A flood of submits costs no worker its lease.
  Waiter<std::shared_ptr<const DesiredState>> beat;
  controller.SendHeartbeat({job::WorkerId("a"), job::Incarnation("1"), {}, 0},
                           beat.Callback());
  // Reads never wait.
  EXPECT_TRUE(controller.List({}).ok());
  busy.LetGo();

  EXPECT_TRUE(beat.Wait().ok());
  int num_taken = 0;
  for (auto& submit : submits) {
    const auto job = submit.Wait();
    if (job.ok()) {
      ++num_taken;
    } else {
      EXPECT_EQ(job.status().code(), absl::StatusCode::kResourceExhausted);
    }
  }
  EXPECT_EQ(num_taken, 4);
  EXPECT_EQ(controller.List({.limit = 1000})->jobs.size(), 4u)
      << "never half accepted";
  // Whoever comes again gets in.
  Waiter<JobView> again;
  controller.Submit(Spec(), "request-99", again.Callback());
  EXPECT_TRUE(again.Wait().ok());
}

TEST(ControllerOverloadTest, LargeSpecsAreRefusedByTheirBytes) {
  SystemClock clock;
  store::MemoryJobStore store;
  Options options;
  options.max_mailbox_bytes = 1 << 20;
  Controller controller(options, clock, store);
  ASSERT_TRUE(controller.Start().ok());
  BusyThread busy(controller);
  auto spec = Spec();
  spec->experiment_json = std::string(200 << 10, ' ');
  std::vector<Waiter<JobView>> submits(5);
  for (auto& submit : submits) controller.Submit(spec, "", submit.Callback());
  EXPECT_EQ(controller.GetStats().mailbox_length, 2);
  Waiter<JobView> small;
  controller.Submit(Spec(), "", small.Callback());
  busy.LetGo();
  EXPECT_TRUE(small.Wait().ok());
  for (auto& submit : submits) submit.Wait().status().IgnoreError();
}

TEST_F(ControllerTest, AWatchEndsWithItsSubscription) {
  ASSERT_TRUE(controller_.Start().ok());
  Waiter<JobView> submitted;
  controller_.Submit(Spec(), "", submitted.Callback());
  const auto id = submitted.Wait()->job->id;
  absl::Notification woken;
  auto watch = controller_.WatchJob(id, [&] { woken.Notify(); });
  ASSERT_TRUE(watch.ok());
  Waiter<JobView> cancelled;
  controller_.Cancel(id, "", cancelled.Callback());
  ASSERT_TRUE(cancelled.Wait().ok());
  EXPECT_TRUE(woken.HasBeenNotified());
  const auto page = controller_.ReadEvents(id, 0, 10);
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->finished);
  EXPECT_EQ(page->events.size(), 2u);
  watch->reset();
}

}  // namespace
}  // namespace epochd::control
