// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/spool_forwarder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "tests/worker/agent/fake_coordinator.h"
#include "tests/worker/process/attempt_fixture.h"
#include "worker/link/attempt_folder.h"
#include "worker/link/command_socket.h"

namespace epochd::agent {
namespace {

constexpr char kAttempt[] = "jobs/a/attempts/1";

class Forwarder : public ::testing::Test {
 protected:
  Forwarder() {
    worker_.incarnation = "one";
    EXPECT_TRUE(coordinator_.Register(worker_, {}).ok());
    std::filesystem::create_directories(rank_dir());
    Restart();
  }
  ~Forwarder() override { coordinator_.Shutdown(); }

  void Restart() {
    forwarder_.reset();
    forwarder_ = std::make_unique<SpoolForwarder>(
        coordinator_, worker_,
        SpoolForwarder::Callbacks{
            .drained = [] {},
            .refused = [this](const std::string&) { ++refusals_; },
            .broken =
                [this](const std::string&, const std::string& problem,
                       bool lines) {
                  const absl::MutexLock lock(&mutex_);
                  (lines ? lines_broken_ : log_broken_) += problem;
                },
            .stale = [this](const absl::Status&) { ++stale_; }});
  }

  std::string rank_dir() const { return dir_ / "rank-0"; }
  std::string events_path() const { return link::EventsPath(rank_dir()); }
  std::string log_path() const { return link::LogPath(rank_dir()); }

  bool EventsBecome(const std::string& text) {
    return WaitFor([&] { return coordinator_.Events(kAttempt) == text; });
  }
  bool IsDrainedSoon() {
    return WaitFor([&] { return forwarder_->IsDrained(kAttempt); });
  }

  std::string LinesBroken() {
    const absl::MutexLock lock(&mutex_);
    return lines_broken_;
  }
  std::string LogBroken() {
    const absl::MutexLock lock(&mutex_);
    return log_broken_;
  }

  const TempDir dir_;
  absl::Mutex mutex_;
  std::string lines_broken_;
  std::string log_broken_;
  FakeCoordinator coordinator_;
  WorkerInfo worker_;
  std::atomic<int> refusals_{0};
  std::atomic<int> stale_{0};
  std::unique_ptr<SpoolForwarder> forwarder_;
};

TEST_F(Forwarder, ForwardsLinesAsTheyComeAndNoTornOne) {
  forwarder_->Add(kAttempt, 0, rank_dir());
  Append(events_path(), "{\"a\":1}\n{\"b\"");
  EXPECT_TRUE(EventsBecome("{\"a\":1}\n"));
  Append(events_path(), ":2}\n");
  EXPECT_TRUE(EventsBecome("{\"a\":1}\n{\"b\":2}\n"));
  EXPECT_FALSE(forwarder_->IsDrained(kAttempt));
}

TEST_F(Forwarder, DrainsToTheLastByteAfterTheEnd) {
  const std::string log("a\0b\xe2\x82\xff no newline", 16);
  Append(events_path(), "{}\n{\"torn");
  Append(log_path(), log);
  forwarder_->Add(kAttempt, 0, rank_dir());
  forwarder_->SetEnded(kAttempt, 0);
  EXPECT_TRUE(IsDrainedSoon());
  EXPECT_EQ(coordinator_.Events(kAttempt), "{}\n");
  EXPECT_EQ(coordinator_.Log(kAttempt), log);
}

TEST_F(Forwarder, TellsTheRankWhatIsRecorded) {
  link::CommandSocket socket(link::ControlPath(rank_dir()));
  Append(events_path(), "{\"a\":1}\n");
  forwarder_->Add(kAttempt, 0, rank_dir());
  const auto command = socket.Wait(60000);
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->name, "recorded");
  EXPECT_EQ(command->offset, 8);
}

TEST_F(Forwarder, GoesOnFromWhatWasAcknowledgedBeforeTheRestart) {
  Append(events_path(), "{\"a\":1}\n");
  forwarder_->Add(kAttempt, 0, rank_dir());
  ASSERT_TRUE(WaitFor([&] {
    return link::ReadAcked(rank_dir()).value_or(link::AckedRecord{}).events ==
           8;
  }));
  Restart();
  Append(events_path(), "{\"b\":2}\n");
  forwarder_->Add(kAttempt, 0, rank_dir());
  EXPECT_TRUE(EventsBecome("{\"a\":1}\n{\"b\":2}\n"));
}

TEST_F(Forwarder, ALostRecordOfWhatWasAcknowledgedDoublesNothing) {
  Append(events_path(), "{\"a\":1}\n");
  forwarder_->Add(kAttempt, 0, rank_dir());
  ASSERT_TRUE(EventsBecome("{\"a\":1}\n"));
  Restart();
  std::filesystem::remove(link::AckedPath(rank_dir()));
  Append(events_path(), "{\"b\":2}\n");
  forwarder_->Add(kAttempt, 0, rank_dir());
  forwarder_->SetEnded(kAttempt, 0);
  EXPECT_TRUE(IsDrainedSoon());
  EXPECT_EQ(coordinator_.Events(kAttempt), "{\"a\":1}\n{\"b\":2}\n");
}

TEST_F(Forwarder, SendsLaterWhatWasWrittenDuringAnOutage) {
  coordinator_.SetReachable(false);
  forwarder_->Add(kAttempt, 0, rank_dir());
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    all += "{\"line\":" + std::to_string(i) + "}\n";
  }
  Append(events_path(), all);
  forwarder_->SetEnded(kAttempt, 0);
  forwarder_->Retry();
  EXPECT_FALSE(forwarder_->IsDrained(kAttempt));
  coordinator_.SetReachable(true);
  forwarder_->Retry();
  EXPECT_TRUE(IsDrainedSoon());
  EXPECT_EQ(coordinator_.Events(kAttempt), all);
}

TEST_F(Forwarder, SendsABigLogWholeAndInPieces) {
  std::string log;
  for (int i = 0; i < 300000; ++i) log += std::to_string(i) + "\n";
  Append(log_path(), log);
  forwarder_->Add(kAttempt, 0, rank_dir());
  forwarder_->SetEnded(kAttempt, 0);
  EXPECT_TRUE(IsDrainedSoon());
  EXPECT_EQ(coordinator_.Log(kAttempt), log);
}

TEST_F(Forwarder, StopsAtTheLimitOfTheLog) {
  coordinator_.LimitLogs(10);
  Append(log_path(), std::string(100, 'x'));
  forwarder_->Add(kAttempt, 0, rank_dir());
  forwarder_->SetEnded(kAttempt, 0);
  EXPECT_TRUE(IsDrainedSoon());
  EXPECT_EQ(coordinator_.Log(kAttempt).size(), 10U);
}

TEST_F(Forwarder, ARefusedAttemptIsToldAndDrained) {
  coordinator_.RefuseAttempt(kAttempt);
  Append(events_path(), "{}\n");
  forwarder_->Add(kAttempt, 0, rank_dir());
  EXPECT_TRUE(IsDrainedSoon());
  EXPECT_GT(refusals_, 0);
}

TEST_F(Forwarder, TellsThatTheCoordinatorForgotUs) {
  coordinator_.ForgetWorker();
  Append(events_path(), "{}\n");
  forwarder_->Add(kAttempt, 0, rank_dir());
  EXPECT_TRUE(WaitFor([&] { return stale_ > 0; }));
}

TEST_F(Forwarder, AFileThatWasCutDoesNotKeepTheAttemptForEver) {
  Append(events_path(), "{\"a\":1}\n");
  forwarder_->Add(kAttempt, 0, rank_dir());
  ASSERT_TRUE(EventsBecome("{\"a\":1}\n"));
  std::filesystem::resize_file(events_path(), 2);
  forwarder_->SetEnded(kAttempt, 0);
  EXPECT_TRUE(IsDrainedSoon());
}

TEST_F(Forwarder, AnUnknownAttemptIsDrained) {
  EXPECT_TRUE(forwarder_->IsDrained("jobs/x/attempts/1"));
}

TEST_F(Forwarder, LinesThatAreNotTakenAreTold) {
  coordinator_.TakeNoLines();
  Append(events_path(), "{}\n");
  forwarder_->Add(kAttempt, 0, rank_dir());
  forwarder_->SetEnded(kAttempt, 0);
  EXPECT_TRUE(IsDrainedSoon());
  EXPECT_EQ(LinesBroken(),
            "rank 0: events.jsonl is not taken from byte 0 on: a torn line");
}

TEST_F(Forwarder, ACutFileIsTold) {
  Append(events_path(), "{\"a\":1}\n");
  forwarder_->Add(kAttempt, 0, rank_dir());
  ASSERT_TRUE(EventsBecome("{\"a\":1}\n"));
  std::filesystem::resize_file(events_path(), 3);
  EXPECT_TRUE(WaitFor([&] { return !LinesBroken().empty(); }));
  EXPECT_EQ(LinesBroken(),
            "rank 0: events.jsonl was cut: it is shorter than the 8 bytes that "
            "were handed in");
}

TEST_F(Forwarder, ALogThatCannotBeReadIsToldOnceItIsGivenUp) {
  std::filesystem::create_directories(log_path());
  forwarder_->Add(kAttempt, 0, rank_dir());
  forwarder_->SetEnded(kAttempt, 0);
  EXPECT_TRUE(IsDrainedSoon());
  EXPECT_EQ(LogBroken(), "rank 0: log cannot be read: log: Is a directory");
  EXPECT_EQ(LinesBroken(), "");
}

TEST_F(Forwarder, CountsWhatIsAcknowledged) {
  Append(events_path(), "{}\n");
  Append(log_path(), "12345");
  forwarder_->Add(kAttempt, 0, rank_dir());
  EXPECT_TRUE(
      WaitFor([&] { return forwarder_->Acknowledged(kAttempt) == 3 + 5; }));
  EXPECT_EQ(forwarder_->Acknowledged("another"), 0);
}

}  // namespace
}  // namespace epochd::agent
