// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/fleet.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace epochd::fleet {
namespace {

using absl::Seconds;
using Code = absl::StatusCode;

constexpr absl::Duration kLostAfter = absl::Minutes(2);

WorkerRecord Record(const std::string& name, const std::string& incarnation,
                    const std::string& boot = "boot") {
  WorkerRecord record;
  record.id = job::WorkerId(name);
  record.incarnation = job::Incarnation(incarnation);
  record.boot_id = boot;
  record.devices = {{"cpu:0", job::DeviceKind::kCpu, "", 0},
                    {"cpu:1", job::DeviceKind::kCpu, "", 0}};
  return record;
}

class FleetTest : public testing::Test {
 protected:
  Fleet::Registered Register(const WorkerRecord& record, int64_t sequence = 1) {
    const auto registered = fleet_.Register(record, sequence, now_);
    EXPECT_TRUE(registered.ok()) << registered.status();
    return registered.value_or(Fleet::Registered{});
  }
  absl::StatusOr<bool> Renew(const std::string& name,
                             const std::string& incarnation,
                             int64_t sequence = 0) {
    return fleet_.Renew(job::WorkerId(name), job::Incarnation(incarnation),
                        sequence, now_);
  }
  WorkerState State(const std::string& name) {
    fleet_.Tick(now_);
    return fleet_.StateOf(job::WorkerId(name), now_);
  }
  bool Lost(const std::string& name, absl::Duration after = kLostAfter) {
    fleet_.Tick(now_);
    return fleet_.LostFor(job::WorkerId(name), after, now_);
  }

  SteadyTime now_{Seconds(1000)};
  Fleet fleet_{FleetOptions{}};
};

TEST_F(FleetTest, AStoppingAgentGetsNothingNewAndItsSuccessorDoes) {
  const job::WorkerId id("a");
  Register(Record("a", "1"));
  fleet_.SetStopping(id, true);
  EXPECT_EQ(State("a"), WorkerState::kDraining);
  EXPECT_EQ(fleet_.MessageOf(id, now_), "is stopping, gets no new work");
  Register(Record("a", "1"), 2);
  EXPECT_TRUE(fleet_.IsStopping(id)) << "the same agent";
  Register(Record("a", "2"));
  EXPECT_FALSE(fleet_.IsStopping(id));
  EXPECT_EQ(State("a"), WorkerState::kReady);
  fleet_.SetStopping(job::WorkerId("nobody"), true);
  EXPECT_FALSE(fleet_.IsStopping(job::WorkerId("nobody")));
}

TEST_F(FleetTest, AnAgentThatCanStartNothingIsNotReadyAndSaysWhy) {
  const job::WorkerId id("a");
  Register(Record("a", "1"));
  fleet_.SetNotReady(id, "the disk is full");
  EXPECT_EQ(State("a"), WorkerState::kNotReady);
  EXPECT_EQ(fleet_.MessageOf(id, now_), "the disk is full");
  Register(Record("a", "1"), 2);
  EXPECT_EQ(State("a"), WorkerState::kNotReady) << "the same agent";
  ASSERT_TRUE(fleet_.SetDraining(id, true));
  EXPECT_EQ(State("a"), WorkerState::kDraining) << "what people want is shown";
  ASSERT_TRUE(fleet_.SetDraining(id, false));
  now_ += Seconds(20);
  EXPECT_EQ(State("a"), WorkerState::kUnreachable);
  Register(Record("a", "2"));
  EXPECT_EQ(State("a"), WorkerState::kReady);
  fleet_.SetNotReady(job::WorkerId("nobody"), "of no account");
}

TEST_F(FleetTest, TellsWhoHasBeenSilentForLong) {
  Register(Record("a", "1"));
  now_ += Seconds(50);
  Register(Record("b", "1"));
  now_ += Seconds(50);
  EXPECT_EQ(fleet_.SilentFor(Seconds(100), now_),
            std::vector<job::WorkerId>{job::WorkerId("a")});
  fleet_.Forget(job::WorkerId("a"));
  EXPECT_EQ(fleet_.Find(job::WorkerId("a")), nullptr);
  EXPECT_EQ(Renew("a", "1").status().code(), Code::kNotFound);
}

TEST_F(FleetTest, SilenceMakesUnreachableThenLost) {
  Register(Record("a", "1"));
  EXPECT_EQ(State("a"), WorkerState::kReady);
  now_ += Seconds(9.9);
  EXPECT_EQ(State("a"), WorkerState::kReady);
  now_ += Seconds(0.1);
  EXPECT_EQ(State("a"), WorkerState::kUnreachable);
  EXPECT_FALSE(Lost("a"));
  now_ += Seconds(110);
  EXPECT_EQ(State("a"), WorkerState::kLost);
  EXPECT_TRUE(Lost("a"));
  ASSERT_TRUE(Renew("a", "1").ok());
  EXPECT_EQ(State("a"), WorkerState::kReady);
}

TEST_F(FleetTest, EachJobHasItsOwnTerm) {
  Register(Record("a", "1"));
  now_ += Seconds(5);
  EXPECT_TRUE(Lost("a", Seconds(5)));
  EXPECT_FALSE(Lost("a", Seconds(6)));
}

TEST_F(FleetTest, AnUnknownWorkerHasToRegister) {
  EXPECT_EQ(Renew("a", "1").status().code(), Code::kNotFound);
  EXPECT_TRUE(Lost("a"));
}

TEST_F(FleetTest, ANewerAgentTakesTheNameOverAndTheOlderIsRefused) {
  Register(Record("a", "old"));
  const auto second = Register(Record("a", "new"));
  EXPECT_TRUE(second.new_incarnation);
  EXPECT_FALSE(second.new_boot);
  EXPECT_EQ(Renew("a", "old").status().code(), Code::kAborted);
  // A registration of the older one that was held up on its way.
  EXPECT_EQ(fleet_.Register(Record("a", "old"), 2, now_).status().code(),
            Code::kAborted);
  EXPECT_TRUE(Renew("a", "new").ok());
}

TEST_F(FleetTest, ASecondAgentOnAnotherFolderGetsTheNameOnceTheFirstIsSilent) {
  auto first = Record("a", "first");
  first.work_dir = "one";
  first.hostname = "host";
  auto second = Record("a", "second");
  second.work_dir = "two";
  Register(first);
  now_ += Seconds(9);
  const auto refused = fleet_.Register(second, 1, now_);
  EXPECT_EQ(refused.status().code(), Code::kAlreadyExists);
  EXPECT_EQ(refused.status().message(),
            "workers/a: this name is in use by an agent on another work "
            "folder, on host 'host', give each worker a name of its own with "
            "--name");
  EXPECT_TRUE(Renew("a", "first").ok()) << "it goes on";
  now_ += Seconds(9);
  EXPECT_FALSE(fleet_.Register(second, 1, now_).ok());
  now_ += Seconds(1);
  EXPECT_TRUE(Register(second).new_incarnation);
  EXPECT_EQ(Renew("a", "first").status().code(), Code::kAborted);
}

TEST_F(FleetTest, ARestoredWorkerKeepsItsNameUntilItIsSilent) {
  auto first = Record("a", "first");
  first.work_dir = "one";
  auto second = Record("a", "second");
  second.work_dir = "two";
  fleet_.Restore(first, now_);
  EXPECT_EQ(fleet_.Register(second, 1, now_).status().code(),
            Code::kAlreadyExists);
  now_ += Seconds(10);
  EXPECT_TRUE(fleet_.Register(second, 1, now_).ok());
}

TEST_F(FleetTest, ANewBootIsTold) {
  Register(Record("a", "1", "boot"));
  EXPECT_TRUE(Register(Record("a", "2", "another")).new_boot);
}

TEST_F(FleetTest, OvertakenCallsRenewButAreNotNews) {
  Register(Record("a", "1"), 1);
  EXPECT_TRUE(*Renew("a", "1", 3));
  EXPECT_FALSE(*Renew("a", "1", 2));
  EXPECT_FALSE(*Renew("a", "1", 3));
  EXPECT_TRUE(*Renew("a", "1", 4));
  EXPECT_TRUE(*Renew("a", "1", 0));
  EXPECT_FALSE(Register(Record("a", "1"), 1).newest);
  // A new agent counts from one again.
  EXPECT_TRUE(Register(Record("a", "2"), 1).newest);
  EXPECT_TRUE(*Renew("a", "2", 2));
}

TEST_F(FleetTest, DeviceIdsAreDifferent) {
  auto record = Record("a", "1");
  record.devices.push_back({"cpu:0", job::DeviceKind::kGpu, "", 0});
  EXPECT_EQ(fleet_.Register(record, 1, now_).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(fleet_.Find(record.id), nullptr);
}

TEST_F(FleetTest, DrainOutlivesTheAgent) {
  Register(Record("a", "1"));
  ASSERT_TRUE(fleet_.SetDraining(job::WorkerId("a"), true));
  EXPECT_EQ(State("a"), WorkerState::kDraining);
  Register(Record("a", "2"));
  EXPECT_EQ(State("a"), WorkerState::kDraining);
  EXPECT_FALSE(fleet_.SetDraining(job::WorkerId("b"), true));
}

TEST_F(FleetTest, ARestoredWorkerHasAFullTermButNoNewWork) {
  fleet_.Restore(Record("a", "1"), now_);
  EXPECT_EQ(State("a"), WorkerState::kUnreachable);
  EXPECT_FALSE(fleet_.IsSilent(job::WorkerId("a"), now_));
  now_ += kLostAfter - Seconds(1);
  EXPECT_FALSE(Lost("a"));
  ASSERT_TRUE(Renew("a", "1").ok());
  EXPECT_EQ(State("a"), WorkerState::kReady);
}

TEST_F(FleetTest, WhenAllFallSilentNobodyIsLostAndAllStartAgain) {  // P-14
  Register(Record("a", "1"));
  Register(Record("b", "1"));
  Register(Record("c", "1"));
  for (int i = 0; i < 1000; ++i) {
    now_ += Seconds(1);
    EXPECT_FALSE(Lost("a")) << i;
    EXPECT_FALSE(Lost("c")) << i;
  }
  EXPECT_EQ(State("a"), WorkerState::kUnreachable);
  // Those who asked for an end need not wait: trainers ended themselves.
  EXPECT_TRUE(fleet_.CertainlyEnded(job::WorkerId("a"), kLostAfter, now_));
  ASSERT_TRUE(Renew("a", "1").ok());
  EXPECT_FALSE(Lost("b"));
  now_ += kLostAfter - Seconds(1);
  ASSERT_TRUE(Renew("a", "1").ok());
  EXPECT_FALSE(Lost("b"));
  now_ += Seconds(1);
  EXPECT_TRUE(Lost("b"));
}

TEST_F(FleetTest, AfterAllWereSilentOnlyWhoIsHeardGetsNewWork) {
  Register(Record("a", "1"));
  Register(Record("b", "1"));
  now_ += Seconds(30);
  EXPECT_EQ(State("b"), WorkerState::kUnreachable);
  ASSERT_TRUE(Renew("a", "1").ok());
  EXPECT_EQ(State("a"), WorkerState::kReady);
  EXPECT_EQ(State("b"), WorkerState::kUnreachable);
  EXPECT_EQ(fleet_.MessageOf(job::WorkerId("b"), now_),
            "not heard from since all workers were silent");
  EXPECT_FALSE(fleet_.IsSilent(job::WorkerId("b"), now_))
      << "its term has just begun";
  ASSERT_TRUE(Renew("b", "1").ok());
  EXPECT_EQ(State("b"), WorkerState::kReady);
  EXPECT_EQ(fleet_.MessageOf(job::WorkerId("b"), now_), "");
}

TEST_F(FleetTest, WhoWasLostBeforeAllFellSilentStaysLost) {
  Register(Record("a", "1"));
  Register(Record("b", "1"));
  Register(Record("c", "1"));
  for (int i = 0; i < 130; ++i) {
    now_ += Seconds(1);
    ASSERT_TRUE(Renew("a", "1").ok());
    ASSERT_TRUE(Renew("b", "1").ok());
    fleet_.Tick(now_);
  }
  ASSERT_EQ(State("c"), WorkerState::kLost);
  now_ += Seconds(60);
  EXPECT_EQ(State("a"), WorkerState::kUnreachable);
  EXPECT_TRUE(fleet_.frozen());
  ASSERT_TRUE(Renew("a", "1").ok());
  EXPECT_FALSE(fleet_.frozen());
  EXPECT_EQ(State("b"), WorkerState::kUnreachable);
  EXPECT_EQ(State("c"), WorkerState::kLost);
}

TEST_F(FleetTest, AWorkerThatAJobGaveUpGetsNothingUntilItIsHeard) {
  const job::WorkerId id("a");
  Register(Record("a", "1"));
  now_ += Seconds(2);
  fleet_.Suspect(id);
  EXPECT_EQ(State("a"), WorkerState::kUnreachable);
  EXPECT_EQ(fleet_.MessageOf(id, now_), "silent, a job has given it up");
  ASSERT_TRUE(Renew("a", "1").ok());
  EXPECT_EQ(State("a"), WorkerState::kReady);
  fleet_.Suspect(job::WorkerId("nobody"));
}

TEST_F(FleetTest, MessagesOfSilenceSayForHowLong) {
  const job::WorkerId id("a");
  Register(Record("a", "1"));
  EXPECT_EQ(fleet_.MessageOf(id, now_), "");
  now_ += Seconds(11);
  EXPECT_EQ(fleet_.MessageOf(id, now_), "silent for 10s or more");
  now_ += kLostAfter;
  EXPECT_EQ(fleet_.MessageOf(id, now_), "silent for 2m or more");
  EXPECT_EQ(fleet_.MessageOf(job::WorkerId("nobody"), now_), "");
}

TEST_F(FleetTest, AStallWhileAllAreSilentTakesNothingFromAnyTerm) {
  Register(Record("a", "1"));
  Register(Record("b", "1"));
  now_ += Seconds(15);
  EXPECT_FALSE(Lost("a"));
  const absl::Duration stall = absl::Hours(1);
  now_ += stall;
  fleet_.NoteStall(stall, now_);
  EXPECT_FALSE(Lost("a"));
  ASSERT_TRUE(Renew("a", "1").ok());
  now_ += kLostAfter - Seconds(1);
  ASSERT_TRUE(Renew("a", "1").ok());
  EXPECT_FALSE(Lost("b"));
  now_ += Seconds(1);
  EXPECT_TRUE(Lost("b"));
}

TEST_F(FleetTest, OnlySoManyOlderAgentsAreRemembered) {
  for (int i = 0; i < 20; ++i) Register(Record("a", std::to_string(i)));
  EXPECT_EQ(fleet_.Register(Record("a", "18"), 1, now_).status().code(),
            Code::kAborted);
  // Nobody's call is on its way for so long; memory stays bounded.
  EXPECT_TRUE(fleet_.Register(Record("a", "0"), 1, now_).ok());
}

TEST_F(FleetTest, OneOfManyIsLostAsUsual) {
  Register(Record("a", "1"));
  Register(Record("b", "1"));
  for (int i = 0; i < 120; ++i) {
    now_ += Seconds(1);
    ASSERT_TRUE(Renew("a", "1").ok());
    EXPECT_EQ(Lost("b"), i == 119) << i;
  }
}

TEST_F(FleetTest, ALoneWorkerIsLostAsUsual) {
  Register(Record("a", "1"));
  for (int i = 0; i < 120; ++i) {
    now_ += Seconds(1);
    EXPECT_EQ(Lost("a"), i == 119) << i;
  }
}

TEST_F(FleetTest, AStalledCoordinatorGivesTheTimeBack) {  // P-19
  Register(Record("a", "1"));
  now_ += Seconds(5);
  const absl::Duration stall = absl::Minutes(30);
  now_ += stall;
  fleet_.NoteStall(stall, now_);
  EXPECT_EQ(State("a"), WorkerState::kReady);
  now_ += kLostAfter - Seconds(6);
  EXPECT_FALSE(Lost("a"));
  now_ += Seconds(1);
  EXPECT_TRUE(Lost("a"));
}

}  // namespace
}  // namespace epochd::fleet
