// SPDX-License-Identifier: Apache-2.0
//
// Where checkpoints lie, and what people are told of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/control/rig.h"

namespace epochd::control {
namespace {

using job::AttemptReason;
using job::AttemptState;
using job::JobState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CoreStorageTest : public testing::Test {
 protected:
  void Register(const std::string& name, int num_cpus,
                const std::string& storage = "") {
    Registration registration;
    registration.worker.id = job::WorkerId(name);
    registration.worker.incarnation = job::Incarnation("1");
    registration.worker.work_dir = "folder";
    if (!storage.empty()) registration.worker.labels["storage"] = storage;
    for (int i = 0; i < num_cpus; ++i) {
      registration.worker.devices.push_back(
          {"cpu:" + std::to_string(i), job::DeviceKind::kCpu, "", 0});
    }
    const auto registered =
        rig_.Ask<RegisterResult>([&](Core& core, Done<RegisterResult> done) {
          core.Register(std::move(registration), rig_.clock().Steady(),
                        std::move(done));
        });
    ASSERT_TRUE(registered.ok()) << registered.status();
  }
  // Runs an attempt on one worker up to a checkpoint, and loses its rank.
  void Checkpoint(const std::string& worker, job::JobId id) {
    const job::AttemptId attempt{id, job::AttemptNumber(1)};
    ASSERT_TRUE(
        rig_.Beat(worker, {Seen(attempt, AttemptState::kRunning)}).ok());
    ASSERT_TRUE(rig_.Report(worker, attempt, 0,
                            R"({"type":"checkpoint_saved","path":"/s/c"})"
                            "\n")
                    .ok());
    ASSERT_TRUE(rig_.Beat(worker, {Seen(attempt, AttemptState::kEnded,
                                        AttemptReason::kRankLost)})
                    .ok());
    ASSERT_EQ(rig_.State(id), JobState::kQueued);
  }
  std::vector<std::string> Notices(job::JobId id) {
    std::vector<std::string> texts;
    for (const job::Event& event : rig_.Events(id)) {
      const auto* notice = std::get_if<job::Notice>(&event.body);
      if (notice != nullptr) texts.push_back(notice->text);
    }
    return texts;
  }
  std::string WorkerOf(job::JobId id) {
    const job::Attempt* attempt = rig_.View(id).job->LiveAttempt();
    return attempt == nullptr ? "" : attempt->ranks[0].worker.name();
  }

  Rig rig_;
};

TEST_F(CoreStorageTest, AJobOverWorkersWithoutACommonStorageIsWarned) {
  Register("a", 1);
  Register("b", 1, "nfs");
  const auto id = rig_.Submit(Spec(2))->job->id;
  ASSERT_EQ(rig_.State(id), JobState::kStarting);
  EXPECT_THAT(Notices(id),
              ElementsAre(HasSubstr("its ranks are on 2 workers")));
}

TEST_F(CoreStorageTest, WorkersThatSayTheyShareOneAreNoReasonToWarn) {
  Register("a", 1, "nfs");
  Register("b", 1, "nfs");
  const auto id = rig_.Submit(Spec(2))->job->id;
  ASSERT_EQ(rig_.State(id), JobState::kStarting);
  EXPECT_THAT(Notices(id), IsEmpty());
}

TEST_F(CoreStorageTest, TwoStoragesAreNotOne) {
  Register("a", 1, "nfs");
  Register("b", 1, "ceph");
  const auto id = rig_.Submit(Spec(2))->job->id;
  EXPECT_THAT(Notices(id), ElementsAre(HasSubstr("label storage=NAME")));
}

TEST_F(CoreStorageTest, AJobThatNamesItsStorageKnowsWhatItDoes) {
  Register("a", 1);
  Register("b", 1);
  auto spec = Spec(2);
  spec->storage = "/mnt/shared";
  const auto id = rig_.Submit(spec)->job->id;
  ASSERT_EQ(rig_.State(id), JobState::kStarting);
  EXPECT_THAT(Notices(id), IsEmpty());
}

TEST_F(CoreStorageTest, ARestartGoesBackToItsCheckpoints) {
  Register("b", 1);
  const auto id = rig_.Submit(Spec())->job->id;
  ASSERT_EQ(WorkerOf(id), "b");
  Checkpoint("b", id);
  // The first by name would be taken otherwise.
  Register("a", 1);
  rig_.Pass(absl::Seconds(2));
  EXPECT_EQ(WorkerOf(id), "b");
  EXPECT_THAT(Notices(id), IsEmpty());
}

TEST_F(CoreStorageTest, ARestartElsewhereIsToldWhatItDependsOn) {
  Register("b", 1);
  const auto id = rig_.Submit(Spec())->job->id;
  Checkpoint("b", id);
  auto urgent = Spec();
  urgent->priority = 90;
  ASSERT_EQ(WorkerOf(rig_.Submit(urgent)->job->id), "b");
  Register("a", 1);
  rig_.Pass(absl::Seconds(2));
  EXPECT_EQ(WorkerOf(id), "a") << "better than to wait for ever";
  EXPECT_THAT(Notices(id),
              ElementsAre(HasSubstr("its checkpoints were written on b")));
}

TEST_F(CoreStorageTest, WhereStorageIsSharedAnyWorkerWillDo) {
  Register("b", 1, "nfs");
  const auto id = rig_.Submit(Spec())->job->id;
  Checkpoint("b", id);
  Register("a", 1, "nfs");
  rig_.Pass(absl::Seconds(2));
  EXPECT_EQ(WorkerOf(id), "a");
  EXPECT_THAT(Notices(id), IsEmpty());
}

}  // namespace
}  // namespace epochd::control
