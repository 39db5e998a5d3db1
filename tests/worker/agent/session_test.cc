// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "tests/worker/agent/fake_coordinator.h"
#include "tests/worker/process/attempt_fixture.h"

namespace epochd::agent {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    worker_.name = "w";
    worker_.incarnation = "one";
    session_ = std::make_unique<Session>(
        coordinator_, worker_,
        Session::Callbacks{.desired =
                               [this](DesiredState desired, bool registered) {
                                 version_ = desired.version;
                                 if (registered) ++registrations_;
                               },
                           .renewed = [this](absl::Time) { ++renewals_; },
                           .superseded = [this] { ++superseded_; }});
  }
  ~SessionTest() override {
    coordinator_.Shutdown();
    session_.reset();
  }

  static AgentReport One(AttemptState state) {
    return {.attempts = {{.name = "jobs/a/attempts/1", .state = state}}};
  }

  FakeCoordinator coordinator_;
  WorkerInfo worker_;
  std::atomic<int64_t> version_{-1};
  std::atomic<int> registrations_{0};
  std::atomic<int> renewals_{0};
  std::atomic<int> superseded_{0};
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, RegistersWithWhatItHasAndRenewsTheLease) {
  session_->Start(One(AttemptState::kRunning));
  EXPECT_TRUE(WaitFor([&] { return renewals_ >= 3; }));
  EXPECT_EQ(coordinator_.Observed("jobs/a/attempts/1").state,
            AttemptState::kRunning);
  EXPECT_EQ(coordinator_.num_registrations(), 1);
}

TEST_F(SessionTest, HearsOfWhatIsDesired) {
  session_->Start({});
  ASSERT_TRUE(WaitFor([&] { return version_ == 0; }));
  coordinator_.Want({});
  EXPECT_TRUE(WaitFor([&] { return version_ == 1; }));
}

TEST_F(SessionTest, TellsAChangeAtOnce) {
  session_->Start({});
  ASSERT_TRUE(WaitFor([&] { return registrations_ == 1; }));
  session_->Publish(One(AttemptState::kStopping));
  EXPECT_TRUE(WaitFor([&] {
    return coordinator_.Observed("jobs/a/attempts/1").state ==
           AttemptState::kStopping;
  }));
}

TEST_F(SessionTest, RegistersAgainWithACoordinatorThatForgotIt) {
  session_->Start({});
  ASSERT_TRUE(WaitFor([&] { return registrations_ == 1; }));
  coordinator_.ForgetWorker();
  // Once more where heartbeat and watch hear of it at different times.
  EXPECT_TRUE(WaitFor([&] { return registrations_ >= 2; }));
}

TEST_F(SessionTest, OutlastsAnOutage) {
  coordinator_.SetReachable(false);
  session_->Start({});
  session_->Publish(One(AttemptState::kRunning));
  coordinator_.SetReachable(true);
  ASSERT_TRUE(WaitFor([&] { return renewals_ > 0; }));
  coordinator_.SetReachable(false);
  session_->Publish(One(AttemptState::kEnded));
  const int before = renewals_;
  coordinator_.SetReachable(true);
  EXPECT_TRUE(WaitFor([&] { return renewals_ > before + 1; }));
  EXPECT_EQ(coordinator_.Observed("jobs/a/attempts/1").state,
            AttemptState::kEnded);
}

TEST_F(SessionTest, TellsOnceThatANewerAgentTookTheName) {
  session_->Start({});
  ASSERT_TRUE(WaitFor([&] { return registrations_ == 1; }));
  coordinator_.Supersede();
  EXPECT_TRUE(WaitFor([&] { return superseded_ == 1; }));
  session_.reset();
  EXPECT_EQ(superseded_, 1);
}

TEST_F(SessionTest, TriesAgainWhileAnotherAgentHasTheName) {
  coordinator_.SetNameInUse(true);
  session_->Start({});
  ASSERT_TRUE(
      WaitFor([&] { return coordinator_.num_refused_registrations() >= 2; }));
  EXPECT_EQ(superseded_, 0);
  coordinator_.SetNameInUse(false);
  EXPECT_TRUE(WaitFor([&] { return registrations_ == 1; }));
}

TEST_F(SessionTest, TellsTheLastStateBeforeItStops) {
  session_->Start({});
  ASSERT_TRUE(WaitFor([&] { return registrations_ == 1; }));
  session_->Publish(One(AttemptState::kEnded));
  session_->Stop();
  EXPECT_TRUE(WaitFor([&] {
    return !coordinator_.Observed("jobs/a/attempts/1").name.empty();
  }));
}

TEST_F(SessionTest, TellsTheLastStateAlsoWhileACallIsInProgress) {
  const std::string name = "jobs/a/attempts/1";
  // Each round meets the call that tells kStopping at another moment.
  for (int round = 0; round < 100; ++round) {
    FakeCoordinator coordinator;
    std::atomic<bool> registered{false};
    Session session(
        coordinator, worker_,
        {.desired = [&](DesiredState,
                        bool first) { registered = registered || first; },
         .renewed = [](absl::Time) {},
         .superseded = [] {}});
    const absl::Cleanup shutdown = [&] { coordinator.Shutdown(); };
    session.Start(One(AttemptState::kRunning));
    ASSERT_TRUE(WaitFor([&] { return registered.load(); }));
    session.Publish(One(AttemptState::kStopping));
    ASSERT_TRUE(WaitFor([&] {
      return coordinator.Observed(name).state == AttemptState::kStopping;
    }));
    session.Publish(One(AttemptState::kEnded));
    session.Stop();
    ASSERT_EQ(coordinator.Observed(name).state, AttemptState::kEnded)
        << "round " << round;
  }
}

}  // namespace
}  // namespace epochd::agent
