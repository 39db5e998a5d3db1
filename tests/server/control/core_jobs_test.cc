// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/server/control/rig.h"

namespace epochd::control {
namespace {

using job::JobReason;
using job::JobState;
using Code = absl::StatusCode;

TEST(CoreJobsTest, AnAcknowledgedSubmitIsStored) {  // P-12, R-01
  Rig rig;
  const auto job = rig.Submit(Spec());
  ASSERT_TRUE(job.ok()) << job.status();
  rig.Restart();
  EXPECT_EQ(rig.State(job->job->id), JobState::kQueued);
  EXPECT_EQ(rig.Events(job->job->id).size(), 1u);
}

TEST(CoreJobsTest, TheSameRequestGivesTheSameJob) {  // P-27, P-28
  Rig rig;
  const auto first = rig.Submit(Spec(), "r");
  const auto second = rig.Submit(Spec(), "r");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(first->job->id, second->job->id);
  rig.Restart();
  const auto third = rig.Submit(Spec(), "r");
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(first->job->id, third->job->id);
  ASSERT_TRUE(rig.Cancel(first->job->id).ok());
  EXPECT_EQ(rig.Submit(Spec(), "r")->job->id, first->job->id);
  EXPECT_EQ(rig.board().GetStats().jobs[JobState::kQueued], 0);
}

TEST(CoreJobsTest, TheSameRequestTwiceInOneTurnGivesOneJob) {
  Rig rig;
  std::vector<absl::StatusOr<JobView>> answers;
  const auto keep = [&](absl::StatusOr<JobView> view) {
    answers.push_back(std::move(view));
  };
  rig.core().BeginTurn();
  rig.core().Submit(Spec(), "r", keep);
  rig.core().Submit(Spec(), "r", keep);
  rig.core().Submit(Spec(2), "r", keep);
  EXPECT_TRUE(answers.empty()) << "answered before the commit";
  rig.core().Settle();
  ASSERT_EQ(answers.size(), 3u);
  // A refusal comes with the others' answers.
  EXPECT_EQ(answers[0]->job->id, answers[1]->job->id);
  EXPECT_EQ(answers[2].status().code(), Code::kInvalidArgument);
  EXPECT_EQ(rig.store().num_commits(), 1);
}

TEST(CoreJobsTest, ARepeatBesideTheDeletionOfItsJobIsToldToComeAgain) {
  for (const bool delete_first : {true, false}) {
    Rig rig;
    const auto id = rig.Submit(Spec(), "r")->job->id;
    ASSERT_TRUE(rig.Cancel(id).ok());
    absl::Status deleted = absl::UnknownError("");
    absl::StatusOr<JobView> repeated = absl::UnknownError("");
    const auto call_delete = [&] {
      rig.core().Delete(id, "", [&](absl::Status told) { deleted = told; });
    };
    rig.core().BeginTurn();
    if (delete_first) call_delete();
    rig.core().Submit(Spec(), "r", [&](absl::StatusOr<JobView> told) {
      repeated = std::move(told);
    });
    if (!delete_first) call_delete();
    rig.core().Settle();
    EXPECT_TRUE(deleted.ok()) << deleted;
    EXPECT_EQ(repeated.status().code(), absl::StatusCode::kUnavailable)
        << "not a job that nobody finds";
    const auto again = rig.Submit(Spec(), "r");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_NE(again->job->id, id);
  }
}

TEST(CoreJobsTest, TheSameRequestWithAnotherSpecIsRefused) {
  Rig rig;
  ASSERT_TRUE(rig.Submit(Spec(1), "r").ok());
  EXPECT_EQ(rig.Submit(Spec(2), "r").status().code(), Code::kInvalidArgument);
  // What the spec needs may be found differently by another catalogue.
  auto spec = Spec(1);
  spec->required_components = {"MLP"};
  EXPECT_TRUE(rig.Submit(spec, "r").ok());
}

TEST(CoreJobsTest, AQueuedJobSaysWhyItWaitsAndWhere) {
  Rig rig;
  const auto first = *rig.Submit(Spec());
  EXPECT_EQ(first.reason, JobReason::kNoWorkers);
  EXPECT_EQ(first.queue_position, 1);
  ASSERT_TRUE(rig.Register("a", 1).ok());
  EXPECT_EQ(rig.State(first.job->id), JobState::kStarting);
  const auto second = *rig.Submit(Spec());
  EXPECT_EQ(second.reason, JobReason::kNoFreeDevices);
  const auto third = *rig.Submit(Spec());
  EXPECT_EQ(third.reason, JobReason::kBehindOthers);
  EXPECT_EQ(third.queue_position, 2);
  auto urgent = Spec();
  urgent->priority = 90;
  EXPECT_EQ(rig.Submit(urgent)->queue_position, 1);
  EXPECT_EQ(rig.View(third.job->id).queue_position, 3);
}

TEST(CoreJobsTest, QueueOrderSurvivesARestart) {  // P-09
  Rig rig;
  std::vector<job::JobId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(rig.Submit(Spec())->job->id);
  rig.clock().JumpWall(-absl::Hours(5));
  rig.Restart();
  ids.push_back(rig.Submit(Spec())->job->id);
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(rig.View(ids[i]).queue_position, static_cast<int>(i) + 1);
  }
}

TEST(CoreJobsTest, CancelOfAQueuedJobIsImmediateAndRepeatable) {
  Rig rig;
  const auto id = rig.Submit(Spec())->job->id;
  EXPECT_EQ(rig.Cancel(id)->job->state, JobState::kCancelled);
  EXPECT_EQ(rig.Cancel(id)->job->state, JobState::kCancelled);
  EXPECT_EQ(rig.Events(id).size(), 2u);
  ASSERT_TRUE(rig.Register("a", 1).ok());
  EXPECT_TRUE(rig.Desired("a")->attempts.empty());
}

TEST(CoreJobsTest, CancelChecksTheEtagAndTheName) {
  Rig rig;
  const auto job = *rig.Submit(Spec());
  EXPECT_EQ(rig.Cancel(job.job->id, "stale").status().code(), Code::kAborted);
  EXPECT_EQ(rig.State(job.job->id), JobState::kQueued);
  EXPECT_TRUE(rig.Cancel(job.job->id, job.Etag()).ok());
  EXPECT_EQ(rig.Cancel(job::JobId(9, 9)).status().code(), Code::kNotFound);
}

TEST(CoreJobsTest, OnlyAFinishedJobCanBeDeleted) {
  Rig rig;
  const auto id = rig.Submit(Spec(), "r")->job->id;
  EXPECT_EQ(rig.Delete(id).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(rig.Cancel(id).ok());
  EXPECT_EQ(rig.board().GetStats().jobs[JobState::kCancelled], 1);
  EXPECT_TRUE(rig.Delete(id).ok());
  EXPECT_EQ(rig.Delete(id).code(), Code::kNotFound);
  EXPECT_EQ(rig.board().Get(id).status().code(), Code::kNotFound);
  EXPECT_EQ(rig.board().ReadEvents(id, 0, 10).status().code(), Code::kNotFound);
  EXPECT_EQ(rig.board().GetStats().jobs[JobState::kCancelled], 0);
}

TEST(CoreJobsTest, ARepeatedDeletionIsAnsweredAgain) {
  Rig rig;
  const auto id = rig.Submit(Spec())->job->id;
  const auto other = rig.Submit(Spec())->job->id;
  ASSERT_TRUE(rig.Cancel(id).ok());
  ASSERT_TRUE(rig.Delete(id, "d").ok());
  EXPECT_TRUE(rig.Delete(id, "d").ok());
  EXPECT_EQ(rig.board().GetStats().jobs[JobState::kCancelled], 0);
  rig.Restart();
  EXPECT_TRUE(rig.Delete(id, "d").ok());
  EXPECT_EQ(rig.Delete(id, "e").code(), Code::kNotFound);
  EXPECT_EQ(rig.Delete(other, "d").code(), Code::kInvalidArgument);
}

TEST(CoreJobsTest, AHintSaysWhatWouldHappen) {
  Rig rig;
  const auto hint = [&](std::shared_ptr<const job::JobSpec> spec) {
    return *rig.Ask<std::string>([&](Core& core, Done<std::string> done) {
      core.Hint(spec, std::move(done));
    });
  };
  EXPECT_EQ(hint(Spec()), "would wait: no worker is connected (no_workers)");
  ASSERT_TRUE(rig.Register("a", 2).ok());
  EXPECT_EQ(hint(Spec(2)), "would start now with 2 ranks, the first on a");
  EXPECT_NE(hint(Spec(3)).find("unsatisfiable"), std::string::npos);
  EXPECT_EQ(rig.board().GetStats().jobs[JobState::kQueued], 0);
}

TEST(CoreJobsTest, ADrainedWorkerGetsNothingNewButKeepsWhatItHas) {
  Rig rig;
  ASSERT_TRUE(rig.Register("a", 2).ok());
  const auto running = rig.Submit(Spec())->job->id;
  const auto drain = [&](const char* name, bool undo) {
    return rig.Ask<fleet::WorkerView>(
        [&](Core& core, Done<fleet::WorkerView> done) {
          core.DrainWorker(job::WorkerId(name), undo, std::move(done));
        });
  };
  EXPECT_EQ(drain("b", false).status().code(), Code::kNotFound);
  EXPECT_EQ(drain("a", false)->state, fleet::WorkerState::kDraining);
  const auto waiting = rig.Submit(Spec())->job->id;
  EXPECT_EQ(rig.State(waiting), JobState::kQueued);
  EXPECT_EQ(rig.Desired("a")->attempts.size(), 1u);
  rig.Restart();
  ASSERT_TRUE(rig.Register("a", 2).ok());
  EXPECT_EQ(rig.State(waiting), JobState::kQueued);
  EXPECT_EQ(drain("a", true)->state, fleet::WorkerState::kReady);
  EXPECT_EQ(rig.State(waiting), JobState::kStarting);
  EXPECT_EQ(rig.State(running), JobState::kStarting);
}

}  // namespace
}  // namespace epochd::control
