// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/server/control/rig.h"

namespace epochd::control {
namespace {

using job::AttemptState;
using Code = absl::StatusCode;

std::string Epoch(int epoch) {
  return R"({"type":"epoch_finished","epoch":)" + std::to_string(epoch) +
         R"(,"metrics":{"train/loss":0.5}})" + "\n";
}

// A gang of two ranks on two workers.
class CoreAgentsTest : public testing::Test {
 protected:
  CoreAgentsTest() {
    EXPECT_TRUE(rig_.Register("a", 1).ok());
    EXPECT_TRUE(rig_.Register("b", 1).ok());
    auto spec = Spec(2);
    // Nothing to warn of.
    spec->storage = "/shared";
    const auto job = rig_.Submit(spec);
    EXPECT_TRUE(job.ok());
    attempt_ = {job->job->id, job::AttemptNumber(1)};
  }
  int NumOf(size_t index) {
    int number = 0;
    for (const auto& event : rig_.Events(attempt_.job)) {
      number += event.body.index() == index;
    }
    return number;
  }
  int NumEpochs() {
    return NumOf(job::EventBody(job::EpochFinished{}).index());
  }

  Rig rig_;
  job::AttemptId attempt_;
};

TEST_F(CoreAgentsTest, EachAgentIsToldItsPart) {
  const auto a = rig_.Desired("a");
  const auto b = rig_.Desired("b");
  ASSERT_EQ(a->attempts.size(), 1u);
  ASSERT_EQ(b->attempts.size(), 1u);
  EXPECT_EQ(a->attempts[0].attempt, attempt_);
  EXPECT_EQ(a->attempts[0].world_size, 2);
  EXPECT_EQ(a->attempts[0].ranks.at(0).rank, 0);
  EXPECT_EQ(b->attempts[0].ranks.at(0).rank, 1);
  EXPECT_EQ(b->attempts[0].rank_workers.at(0), job::WorkerId("a"));
  EXPECT_EQ(a->attempts[0].self_fence_after, absl::Seconds(96));
  EXPECT_TRUE(a->attempts[0].run);
}

TEST_F(CoreAgentsTest, TheRendezvousIsHandedOn) {
  auto starting = Seen(attempt_, AttemptState::kStarting);
  starting.rendezvous = "10.0.0.1:4000";
  const int64_t version = rig_.Desired("b")->version;
  ASSERT_TRUE(rig_.Beat("a", {starting}).ok());
  EXPECT_EQ(rig_.Desired("b")->attempts[0].rendezvous, "10.0.0.1:4000");
  EXPECT_GT(rig_.Desired("b")->version, version);
}

TEST_F(CoreAgentsTest, RanksStartOnceEveryAgentIsReady) {
  auto starting = Seen(attempt_, AttemptState::kStarting);
  ASSERT_TRUE(rig_.Beat("a", {starting}).ok());
  starting.ready = true;
  ASSERT_TRUE(rig_.Beat("b", {starting}).ok());
  EXPECT_FALSE(rig_.Desired("a")->attempts[0].start) << "a still fetches";
  ASSERT_TRUE(rig_.Beat("a", {starting}).ok());
  EXPECT_TRUE(rig_.Desired("a")->attempts[0].start);
  EXPECT_TRUE(rig_.Desired("b")->attempts[0].start);
}

TEST_F(CoreAgentsTest, ALaterAttemptMayRemoveAnEarlierOnesCheckpoint) {
  const std::string saved =
      R"({"type":"checkpoint_saved","path":"/s/attempt-1/c"})"
      "\n";
  ASSERT_TRUE(rig_.Report("a", attempt_, 0, saved).ok());
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(rig_.Beat(name, {Seen(attempt_, AttemptState::kEnded,
                                      job::AttemptReason::kRankLost)})
                    .ok());
  }
  rig_.Pass(absl::Seconds(1));
  const job::AttemptId second{attempt_.job, attempt_.number.Next()};
  ASSERT_EQ(rig_.View(attempt_.job).job->checkpoints.size(), 1u);
  ASSERT_TRUE(
      rig_.Report("a", second, 0,
                  R"({"type":"checkpoint_removed","path":"/s/attempt-1/c"})"
                  "\n")
          .ok());
  EXPECT_TRUE(rig_.View(attempt_.job).job->checkpoints.empty());
}

TEST_F(CoreAgentsTest, ALostWorkerWithNothingToDoIsForgotten) {
  ASSERT_TRUE(rig_.Register("idle", 1).ok());
  ASSERT_TRUE(rig_.Cancel(attempt_.job).ok());
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(rig_.Beat(name, {Seen(attempt_, AttemptState::kEnded,
                                      job::AttemptReason::kCancelled)})
                    .ok());
  }
  const auto silent = [&](absl::Duration duration) {
    for (; duration > absl::ZeroDuration(); duration -= absl::Seconds(2)) {
      rig_.clock().Advance(absl::Seconds(2));
      ASSERT_TRUE(rig_.Beat("a").ok());
      ASSERT_TRUE(rig_.Beat("b").ok());
    }
  };
  silent(absl::Hours(23));
  EXPECT_EQ(rig_.board().GetWorker(job::WorkerId("idle"))->state,
            fleet::WorkerState::kLost);
  silent(absl::Hours(1) + absl::Seconds(2));
  EXPECT_EQ(rig_.board().GetWorker(job::WorkerId("idle")).status().code(),
            Code::kNotFound);
  EXPECT_EQ(rig_.Beat("idle").status().code(), Code::kNotFound);
  rig_.Restart();
  EXPECT_EQ(rig_.board().ListWorkers().size(), 2u);
  EXPECT_TRUE(rig_.Register("idle", 1).ok());
}

TEST_F(CoreAgentsTest, NothingNewIsToldTwice) {
  const int64_t version = rig_.Desired("a")->version;
  const auto starting = Seen(attempt_, AttemptState::kStarting);
  ASSERT_TRUE(rig_.Beat("a", {starting}).ok());
  ASSERT_TRUE(rig_.Register("a", 1, "1", "boot", {starting}).ok());
  EXPECT_EQ(rig_.Desired("a")->version, version);
}

TEST_F(CoreAgentsTest, AWatchIsToldNowAndAtEachChange) {
  std::vector<std::string> told;
  auto watch = rig_.board().WatchDesired(
      job::WorkerId("a"), job::Incarnation("1"),
      [&](absl::StatusOr<std::shared_ptr<const DesiredState>> desired) {
        told.push_back(!desired.ok()                  ? "aborted"
                       : (*desired)->attempts.empty() ? "nothing"
                       : (*desired)->attempts[0].run  ? "run"
                                                      : "stop");
      });
  ASSERT_TRUE(watch.ok());
  ASSERT_TRUE(rig_.Cancel(attempt_.job).ok());
  ASSERT_TRUE(rig_.Register("a", 1, "2").ok());
  ASSERT_TRUE(rig_.Beat("a",
                        {Seen(attempt_, AttemptState::kEnded,
                              job::AttemptReason::kCancelled)},
                        "2")
                  .ok());
  EXPECT_EQ(told, (std::vector<std::string>{"run", "stop", "aborted"}));
  EXPECT_EQ(rig_.board()
                .WatchDesired(job::WorkerId("a"), job::Incarnation("1"), {})
                .status()
                .code(),
            Code::kAborted);
}

TEST_F(CoreAgentsTest, LinesAreTakenInOnceAndInOrder) {  // P-33
  const std::string first = Epoch(1);
  const std::string second = Epoch(2);
  const auto size = static_cast<int64_t>(first.size());
  EXPECT_EQ(*rig_.Report("a", attempt_, 0, first), size);
  // The answer was lost: the same again, and with more.
  EXPECT_EQ(*rig_.Report("a", attempt_, 0, first), size);
  EXPECT_EQ(*rig_.Report("a", attempt_, 0, first + second), 2 * size);
  // Beyond what is wanted: nothing is taken in.
  EXPECT_EQ(*rig_.Report("a", attempt_, 100 * size, Epoch(9)), 2 * size);
  EXPECT_EQ(NumEpochs(), 2);
}

TEST_F(CoreAgentsTest, OffsetsSurviveARestart) {
  const std::string lines = Epoch(1) + Epoch(2);
  const auto size = static_cast<int64_t>(lines.size());
  ASSERT_EQ(*rig_.Report("a", attempt_, 0, lines), size);
  rig_.Restart();
  EXPECT_EQ(*rig_.Report("a", attempt_, 0, lines), size);
  EXPECT_EQ(NumEpochs(), 2);
}

TEST_F(CoreAgentsTest, LinesAreWhole) {
  EXPECT_EQ(rig_.Report("a", attempt_, 0, "{\"type\"").status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(rig_.Report("a", attempt_, -5, Epoch(1)).status().code(),
            Code::kInvalidArgument);
  const std::string first = Epoch(1);
  ASSERT_TRUE(rig_.Report("a", attempt_, 0, first).ok());
  // The wanted offset lies inside a line of this report.
  EXPECT_EQ(rig_.Report("a", attempt_, 1, Epoch(1) + "xx\n").status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(NumEpochs(), 1);
}

TEST_F(CoreAgentsTest, OneBadLineIsSaidOnceAndHarmsNobody) {
  ASSERT_TRUE(
      rig_.Report("a", attempt_, 0, "nonsense\n" + Epoch(1) + "more\n").ok());
  EXPECT_EQ(NumEpochs(), 1);
  EXPECT_EQ(NumOf(job::EventBody(job::Notice{}).index()), 1);
}

TEST_F(CoreAgentsTest, OnlyRankZeroSpeaksForTheJob) {
  ASSERT_TRUE(rig_.Report("b", attempt_, 0,
                          Epoch(1) + R"({"type":"notice","severity":"info",)"
                                     R"("text":"hello"})"
                                     "\n",
                          1)
                  .ok());
  EXPECT_EQ(NumEpochs(), 0);
  EXPECT_EQ(NumOf(job::EventBody(job::Notice{}).index()), 1);
}

TEST_F(CoreAgentsTest, StrangersAreRefused) {
  EXPECT_EQ(rig_.Report("nobody", attempt_, 0, Epoch(1)).status().code(),
            Code::kNotFound);
  EXPECT_EQ(rig_.Report("a", attempt_, 0, Epoch(1), 0, "old").status().code(),
            Code::kAborted);
  EXPECT_EQ(rig_.Report("a", attempt_, 0, Epoch(1), 1).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(rig_.Report("a", attempt_, 0, Epoch(1), -1).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(rig_.Report("a", {attempt_.job, job::AttemptNumber(2)}, 0, Epoch(1))
                .status()
                .code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(rig_.Beat("nobody").status().code(), Code::kNotFound);
  EXPECT_EQ(rig_.Beat("a", {}, "old").status().code(), Code::kAborted);
}

TEST_F(CoreAgentsTest, ProgressIsNewestAndNotJournalled) {
  const auto num_events = rig_.Events(attempt_.job).size();
  const int commits = rig_.store().num_commits();
  const auto progress = [](int step) {
    return R"({"type":"progress","step":)" + std::to_string(step) + "}\n";
  };
  ASSERT_TRUE(rig_.Report("a", attempt_, 0, progress(10) + progress(20)).ok());
  EXPECT_EQ(rig_.View(attempt_.job).progress->step, 20);
  const auto read = rig_.board().ReadProgress(attempt_.job, 0);
  ASSERT_TRUE(read.has_value());
  EXPECT_FALSE(rig_.board().ReadProgress(attempt_.job, read->number));
  EXPECT_EQ(rig_.Events(attempt_.job).size(), num_events);
  EXPECT_EQ(rig_.store().num_commits(), commits);
  // Forgotten by a restart; what the agent is then asked for again is harmless.
  rig_.Restart();
  EXPECT_EQ(*rig_.Report("a", attempt_, 1000, Epoch(1)), 0);
}

TEST_F(CoreAgentsTest, TheNextAttemptResumesFromRecordedCheckpoints) {
  const auto saved = [](const std::string& path) {
    return R"({"type":"checkpoint_saved","path":")" + path + "\"}\n";
  };
  ASSERT_TRUE(
      rig_.Report("a", attempt_, 0,
                  saved("/s/1") + saved("/s/2") + saved("/s/3") +
                      R"({"type":"checkpoint_removed","path":"/s/1"})" + "\n" +
                      R"({"type":"checkpoint_removed","path":"/s/never"})" +
                      "\n")
          .ok());
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(rig_.Beat(name, {Seen(attempt_, AttemptState::kEnded,
                                      job::AttemptReason::kRankLost)})
                    .ok());
  }
  rig_.Pass(absl::Seconds(1));
  ASSERT_EQ(rig_.Desired("a")->attempts.size(), 1u);
  const auto& resume = rig_.Desired("a")->attempts[0].resume;
  ASSERT_EQ(resume.size(), 2u);
  EXPECT_EQ(resume[0].path, "/s/3");
  EXPECT_EQ(resume[1].path, "/s/2");
}

TEST_F(CoreAgentsTest, LinesComeBeforeTheEndTheyBelongTo) {  // P-75
  const auto ended = [&](bool drained) {
    return Seen(attempt_, AttemptState::kEnded, job::AttemptReason::kCompleted,
                drained);
  };
  ASSERT_TRUE(rig_.Beat("b", {ended(true)}).ok());
  ASSERT_TRUE(rig_.Beat("a", {ended(false)}).ok());
  EXPECT_FALSE(rig_.View(attempt_.job).job->IsTerminal());
  ASSERT_TRUE(rig_.Report("a", attempt_, 0, Epoch(1)).ok());
  ASSERT_TRUE(rig_.Beat("a", {ended(true)}).ok());
  EXPECT_EQ(rig_.State(attempt_.job), job::JobState::kSucceeded);
  EXPECT_EQ(NumEpochs(), 1);
}

TEST_F(CoreAgentsTest, WatchersReadWithoutGapAcrossTailAndStore) {
  int woken = 0;
  auto watch = rig_.board().WatchJob(attempt_.job, [&] { ++woken; });
  ASSERT_TRUE(watch.ok());
  std::string lines;
  for (int i = 0; i < 600; ++i) lines += Epoch(i);
  ASSERT_TRUE(rig_.Report("a", attempt_, 0, lines).ok());
  EXPECT_EQ(woken, 1);
  int64_t after = 0;
  for (;;) {
    const auto page = rig_.board().ReadEvents(attempt_.job, after, 100);
    ASSERT_TRUE(page.ok());
    if (page->events.empty()) break;
    for (const auto& event : page->events) {
      ASSERT_EQ(event->sequence, ++after);
    }
  }
  EXPECT_EQ(after, static_cast<int64_t>(rig_.Events(attempt_.job).size()));
  watch->reset();
  ASSERT_TRUE(rig_.Cancel(attempt_.job).ok());
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(rig_.board().WatchJob(job::JobId(9, 9), [] {}).status().code(),
            Code::kNotFound);
}

TEST_F(CoreAgentsTest, ShowsWhoHoldsWhichDevice) {
  const auto worker = rig_.board().GetWorker(job::WorkerId("a"));
  ASSERT_TRUE(worker.ok());
  EXPECT_EQ(worker->held.at("cpu:0"), attempt_);
  const auto stats = rig_.board().GetStats();
  EXPECT_EQ(stats.devices.at(job::DeviceKind::kCpu).total, 2);
  EXPECT_EQ(stats.devices.at(job::DeviceKind::kCpu).held, 2);
  EXPECT_EQ(stats.workers.at(fleet::WorkerState::kReady), 2);
}

}  // namespace
}  // namespace epochd::control
