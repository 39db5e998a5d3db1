// SPDX-License-Identifier: Apache-2.0
#include "server/schedule/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/schedule/cluster.h"

namespace epochd::schedule {
namespace {

using job::JobReason;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> Workers(const Assignment& assignment) {
  std::vector<std::string> names;
  for (const auto& rank : assignment.ranks) names.push_back(rank.worker.name());
  return names;
}

TEST(PlanTest, GivesEachRankItsOwnDevices) {
  Cluster cluster;
  cluster.AddWorker("a", 4);
  cluster.AddJob(2).resources.cpus = 2;
  const Decision decision = cluster.Plan();
  ASSERT_THAT(decision.assignments, SizeIs(1));
  const auto& ranks = decision.assignments[0].ranks;
  ASSERT_THAT(ranks, SizeIs(2));
  EXPECT_EQ(ranks[1].rank, 1);
  EXPECT_THAT(ranks[0].devices, ElementsAre("cpu:0", "cpu:1"));
  EXPECT_THAT(ranks[1].devices, ElementsAre("cpu:2", "cpu:3"));
  EXPECT_THAT(decision.waiting, IsEmpty());
}

TEST(PlanTest, AGpuRankTakesOneGpuAndNoSlot) {
  Cluster cluster;
  cluster.AddWorker("a", 1, 2);
  cluster.AddJob(2, 2, job::DeviceKind::kGpu).resources.cpus = 8;
  const Decision decision = cluster.Plan();
  ASSERT_THAT(decision.assignments, SizeIs(1));
  EXPECT_THAT(decision.assignments[0].ranks[0].devices, ElementsAre("GPU-0"));
}

TEST(PlanTest, AGangGetsAllOrNothing) {  // P-39, P-41
  Cluster cluster;
  cluster.AddWorker("a", 2);
  cluster.AddWorker("b", 1);
  cluster.AddJob(2);
  cluster.AddJob(2);
  const Decision decision = cluster.Plan();
  ASSERT_THAT(decision.assignments, SizeIs(1));
  EXPECT_THAT(Workers(decision.assignments[0]), ElementsAre("a", "a"));
  ASSERT_THAT(decision.waiting, SizeIs(1));
  EXPECT_EQ(decision.waiting[0].reason, JobReason::kNoFreeDevices);
  EXPECT_THAT(decision.waiting[0].message,
              HasSubstr("needs 2 cpu ranks, 1 would fit now"));
}

TEST(PlanTest, AJobGoesBackToItsCheckpointsWhereAllOfItFits) {
  Cluster cluster;
  cluster.AddWorker("a", 2);
  cluster.AddWorker("b", 2);
  cluster.AddJob(2);
  cluster.AddJob(1);
  cluster.queued(0).prefer = job::WorkerId("b");
  const Decision decision = cluster.Plan();
  ASSERT_THAT(decision.assignments, SizeIs(2));
  EXPECT_THAT(Workers(decision.assignments[0]), ElementsAre("b", "b"));
  EXPECT_EQ(decision.assignments[0].ranks[1].rank, 1);
  EXPECT_THAT(Workers(decision.assignments[1]), ElementsAre("a"));
}

TEST(PlanTest, AJobWhoseCheckpointsAreOutOfReachStartsElsewhere) {
  for (const char* why : {"busy", "unusable", "avoided", "unknown"}) {
    Cluster cluster;
    cluster.AddWorker("a", 1);
    Offer& b = cluster.AddWorker("b", 1);
    cluster.AddJob(1);
    cluster.queued(0).prefer = job::WorkerId("b");
    const std::string word = why;
    if (word == "busy") b.held = {"cpu:0"};
    if (word == "unusable") b.usable = false;
    if (word == "avoided") cluster.queued(0).avoid = {job::WorkerId("b")};
    if (word == "unknown") cluster.queued(0).prefer = job::WorkerId("c");
    const Decision decision = cluster.Plan();
    ASSERT_THAT(decision.assignments, SizeIs(1)) << why;
    EXPECT_THAT(Workers(decision.assignments[0]), ElementsAre("a")) << why;
  }
}

TEST(PlanTest, HeldDevicesAreNotFree) {
  Cluster cluster;
  cluster.AddWorker("a", 3).held = {"cpu:0", "cpu:2"};
  cluster.AddJob(1);
  cluster.AddJob(1);
  const Decision decision = cluster.Plan();
  ASSERT_THAT(decision.assignments, SizeIs(1));
  EXPECT_THAT(decision.assignments[0].ranks[0].devices, ElementsAre("cpu:1"));
}

TEST(PlanTest, AnElasticJobTakesWhatIsFreeFromMinToMax) {
  for (const auto& [free, expected] :
       std::vector<std::pair<int, size_t>>{{1, 0}, {2, 2}, {3, 3}, {9, 4}}) {
    Cluster cluster;
    cluster.AddWorker("a", free);
    cluster.AddJob(2, 4);
    const Decision decision = cluster.Plan();
    const size_t got =
        decision.assignments.empty() ? 0 : decision.assignments[0].ranks.size();
    EXPECT_EQ(got, expected) << free;
  }
}

TEST(PlanTest, PrefersOneNodeAndSpreadsWhenItMust) {
  Cluster cluster;
  cluster.AddWorker("a", 1);
  cluster.AddWorker("b", 3);
  cluster.AddJob(3);
  EXPECT_THAT(Workers(cluster.Plan().assignments.at(0)),
              ElementsAre("b", "b", "b"));
  cluster.queue().clear();
  cluster.AddJob(4);
  EXPECT_THAT(Workers(cluster.Plan().assignments.at(0)),
              ElementsAre("b", "b", "b", "a"));
}

TEST(PlanTest, SameNodeRequiredNeverSpreads) {
  Cluster cluster;
  cluster.AddWorker("a", 2);
  cluster.AddWorker("b", 2);
  cluster.AddJob(3).resources.same_node = job::Placement::kRequired;
  cluster.AddJob(1, 4).resources.same_node = job::Placement::kRequired;
  const Decision decision = cluster.Plan();
  ASSERT_THAT(decision.waiting, SizeIs(1));
  EXPECT_EQ(decision.waiting[0].reason, JobReason::kUnsatisfiable);
  EXPECT_THAT(decision.waiting[0].message, HasSubstr("on one worker"));
  EXPECT_THAT(Workers(decision.assignments.at(0)), ElementsAre("a", "a"));
}

TEST(PlanTest, NothingSmallOvertakesAHeadThatCouldRun) {
  Cluster cluster;
  cluster.AddWorker("a", 4).held = {"cpu:0"};
  cluster.AddJob(4);
  cluster.AddJob(1);
  const Decision decision = cluster.Plan();
  EXPECT_THAT(decision.assignments, IsEmpty());
  ASSERT_THAT(decision.waiting, SizeIs(2));
  EXPECT_EQ(decision.waiting[0].reason, JobReason::kNoFreeDevices);
  EXPECT_EQ(decision.waiting[1].reason, JobReason::kBehindOthers);
  EXPECT_EQ(decision.waiting[1].message, "behind 1 other job");
  EXPECT_EQ(decision.waiting[1].position, 2);
}

TEST(PlanTest, AHeadHoldsUpOnlyItsKindOfDevice) {
  Cluster cluster;
  cluster.AddWorker("a", 4, 1).held = {"GPU-0"};
  cluster.AddJob(1, 1, job::DeviceKind::kGpu);
  cluster.AddJob(1);
  const Decision decision = cluster.Plan();
  ASSERT_THAT(decision.assignments, SizeIs(1));
  EXPECT_EQ(decision.assignments[0].job, cluster.queued(1).id);
}

TEST(PlanTest, AnImpossibleHeadIsPassedOver) {  // P-45, P-97
  Cluster cluster;
  cluster.AddWorker("a", 2);
  cluster.AddJob(100);
  cluster.AddJob(1);
  const Decision decision = cluster.Plan();
  ASSERT_THAT(decision.assignments, SizeIs(1));
  EXPECT_EQ(decision.assignments[0].job, cluster.queued(1).id);
  EXPECT_EQ(decision.waiting.at(0).reason, JobReason::kUnsatisfiable);
  EXPECT_THAT(decision.waiting[0].message,
              HasSubstr("needs 100 ranks on cpu, the present workers could "
                        "hold 2"));
}

TEST(PlanTest, ABusyOrSilentFleetIsNotAnImpossibleOne) {
  Cluster cluster;
  cluster.AddWorker("a", 2).usable = false;
  cluster.AddJob(2);
  EXPECT_EQ(cluster.Plan().waiting.at(0).reason, JobReason::kNoFreeDevices);
  cluster.offers()[0].present = false;
  EXPECT_EQ(cluster.Plan().waiting.at(0).reason, JobReason::kNoWorkers);
  EXPECT_EQ(cluster.Plan().waiting[0].message,
            "no worker takes new work: 1 is draining or stopping");
  cluster.offers()[0].connected = false;
  EXPECT_EQ(cluster.Plan().waiting[0].message, "no worker is connected");
}

TEST(PlanTest, AWorkerThatIsNotReadyIsNamedInTheReasonToWait) {
  Cluster cluster;
  for (const char* name : {"a", "b", "c"}) {
    Offer& offer = cluster.AddWorker(name, 1);
    if (std::string(name) == "c") continue;
    offer.usable = offer.present = false;
    offer.not_ready = "its disk is full";
  }
  cluster.AddJob(1);
  cluster.AddJob(2);
  const Decision decision = cluster.Plan();
  EXPECT_THAT(Workers(decision.assignments.at(0)), ElementsAre("c"));
  EXPECT_EQ(decision.waiting.at(0).reason, JobReason::kUnsatisfiable);
  EXPECT_EQ(decision.waiting[0].message,
            "needs 2 ranks on cpu, the present workers could hold 1; a is not "
            "ready: its disk is full; 1 more is not ready");
  cluster.offers()[2].held = {"cpu:0"};
  EXPECT_EQ(cluster.Plan().waiting.at(0).message,
            "needs 1 cpu rank, 0 would fit now; a is not ready: its disk is "
            "full; 1 more is not ready");
  cluster.offers()[2].usable = cluster.offers()[2].present = false;
  EXPECT_EQ(cluster.Plan().waiting.at(0).message,
            "no worker takes new work: 1 is draining or stopping; a is not "
            "ready: its disk is full; 1 more is not ready");
  cluster.offers()[2].not_ready = "full as well";
  EXPECT_EQ(cluster.Plan().waiting.at(0).message,
            "no worker takes new work; a is not ready: its disk is full; 2 "
            "more are not ready");
}

TEST(PlanTest, AJobThatFitsOnceQuarantineEndsSaysSoAndHoldsUpNobody) {
  Cluster cluster;
  for (const char* name : {"a", "b", "c"}) cluster.AddWorker(name, 1);
  for (const size_t resting : {0, 1}) {
    Offer& offer = cluster.offers()[resting];
    offer.usable = offer.present = false;
    offer.not_ready = "gets no new work";
    offer.rests_until = resting == 0 ? "10:00:00 UTC" : "10:05:00 UTC";
  }
  cluster.AddJob(3);
  cluster.AddJob(4);
  cluster.AddJob(1);
  Decision decision = cluster.Plan();
  ASSERT_THAT(decision.assignments, SizeIs(1));
  EXPECT_EQ(decision.assignments[0].job, cluster.queued(2).id);
  ASSERT_THAT(decision.waiting, SizeIs(2));
  EXPECT_EQ(decision.waiting[0].reason, JobReason::kNoFreeDevices);
  EXPECT_EQ(decision.waiting[0].message,
            "needs 3 ranks on cpu, which fit once quarantine ends: a until "
            "10:00:00 UTC, b until 10:05:00 UTC");
  EXPECT_EQ(decision.waiting[1].reason, JobReason::kUnsatisfiable)
      << "more than all hold";
  // Only those that can take of it are waited for.
  cluster.record(1).devices[0].kind = job::DeviceKind::kGpu;
  cluster.queue().erase(cluster.queue().begin(), cluster.queue().begin() + 2);
  cluster.AddJob(2);
  decision = cluster.Plan();
  ASSERT_THAT(decision.waiting, SizeIs(1));
  EXPECT_THAT(decision.waiting[0].message,
              HasSubstr("quarantine ends: a until 10:00:00 UTC"));
  EXPECT_THAT(decision.waiting[0].message, Not(HasSubstr("b until")));
}

TEST(PlanTest, WhereAllThatTakeWorkAreInQuarantineThatIsTheReason) {
  Cluster cluster;
  Offer& resting = cluster.AddWorker("a", 1);
  resting.usable = resting.present = false;
  resting.not_ready = "gets no new work";
  resting.rests_until = "10:00:00 UTC";
  Offer& draining = cluster.AddWorker("b", 1);
  draining.usable = draining.present = false;
  cluster.AddJob(1);
  EXPECT_EQ(cluster.Plan().waiting.at(0).reason, JobReason::kNoFreeDevices);
  cluster.AddJob(2);
  EXPECT_EQ(cluster.Plan().waiting.at(1).reason, JobReason::kNoWorkers)
      << "it would not fit later either";
}

TEST(PlanTest, AWorkerThatCouldNotStartAJobGetsItOnlyIfNoOtherCanHoldIt) {
  Cluster cluster;  // P-68
  cluster.AddWorker("a", 2);
  cluster.AddWorker("b", 1);
  cluster.AddJob(1);
  cluster.queued(0).avoid = {job::WorkerId("a")};
  EXPECT_THAT(Workers(cluster.Plan().assignments.at(0)), ElementsAre("b"));
  // It waits for another that is busy.
  cluster.offers()[1].held = {"cpu:0"};
  EXPECT_THAT(cluster.Plan().assignments, IsEmpty());
  EXPECT_EQ(cluster.Plan().waiting.at(0).message,
            "needs 1 cpu rank, 0 would fit now; not on a, which could not "
            "start it");
  cluster.offers()[1].usable = cluster.offers()[1].present = false;
  EXPECT_THAT(Workers(cluster.Plan().assignments.at(0)), ElementsAre("a"));
}

TEST(PlanTest, BackoffIsWaitedOutWithoutHoldingUpOthers) {
  Cluster cluster;
  cluster.AddWorker("a", 1);
  cluster.AddJob(1);
  cluster.AddJob(1);
  const fleet::SteadyTime now(absl::Seconds(100));
  cluster.queued(0).not_before = now + absl::Seconds(3);
  Decision decision = cluster.Plan(now);
  EXPECT_EQ(decision.assignments.at(0).job, cluster.queued(1).id);
  EXPECT_EQ(decision.waiting.at(0).reason, JobReason::kRestartBackoff);
  EXPECT_EQ(decision.waiting[0].message, "starts again in 3s");
  decision = cluster.Plan(now + absl::Seconds(3));
  EXPECT_EQ(decision.assignments.at(0).job, cluster.queued(0).id);
}

TEST(PlanTest, LabelsModelsAndMemoryLimitWhere) {
  Cluster cluster;
  cluster.AddWorker("a", 4, 4);
  cluster.AddWorker("b", 4, 4).memory_held = 6;
  cluster.record(1).labels = {{"zone", "x"}};
  cluster.record(1).memory_bytes = 10;

  cluster.AddJob(1).resources.node_labels = {{"zone", "x"}};
  EXPECT_THAT(Workers(cluster.Plan().assignments.at(0)), ElementsAre("b"));

  cluster.queue().clear();
  auto& models = cluster.AddJob(1, 1, job::DeviceKind::kGpu).resources.models;
  models = {"h200"};
  EXPECT_THAT(cluster.Plan().assignments, SizeIs(1));
  models = {"H100"};
  EXPECT_EQ(cluster.Plan().waiting.at(0).reason, JobReason::kUnsatisfiable);

  cluster.queue().clear();
  auto& spec = cluster.AddJob(1, 8);
  spec.resources.node_labels = {{"zone", "x"}};
  spec.resources.memory_bytes = 2;
  EXPECT_THAT(cluster.Plan().assignments.at(0).ranks, SizeIs(2));
  spec.resources.memory_bytes = int64_t{3} << 29;
  EXPECT_EQ(cluster.Plan().waiting.at(0).reason, JobReason::kUnsatisfiable);
  EXPECT_EQ(cluster.Plan().waiting[0].message,
            "needs 1 rank on cpu with 1.5 GiB of memory each, the present "
            "workers could hold 0");
}

TEST(PlanTest, AJobGoesOnlyWhereItsComponentsAre) {
  Cluster cluster;
  cluster.AddWorker("a", 4);
  cluster.AddWorker("b", 4);
  cluster.record(1).components = {"MLP", "Adam"};
  auto& spec = cluster.AddJob(1);
  spec.required_components = {"Adam", "MLP"};
  EXPECT_THAT(Workers(cluster.Plan().assignments.at(0)), ElementsAre("b"));
  spec.required_components = {"Adam", "ResNet"};
  const Decision decision = cluster.Plan();
  EXPECT_EQ(decision.waiting.at(0).reason, JobReason::kComponentsMissing);
  EXPECT_EQ(decision.waiting[0].message, "no worker has component 'ResNet'");
}

TEST(PlanTest, QueueKeyIsPriorityThenSubmitOrder) {  // P-43
  EXPECT_TRUE((QueueKey{90, 5} < QueueKey{10, 1}));
  EXPECT_TRUE((QueueKey{50, 1} < QueueKey{50, 2}));
  EXPECT_FALSE((QueueKey{50, 2} < QueueKey{50, 2}));
}

}  // namespace
}  // namespace epochd::schedule
