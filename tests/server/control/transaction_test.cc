// SPDX-License-Identifier: Apache-2.0
#include "server/control/transaction.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/server/control/rig.h"

namespace epochd::control {
namespace {

using job::JobReason;
using job::JobState;

class TransactionTest : public testing::Test {
 protected:
  absl::Status Begin(job::JobId id, int64_t number) {
    return transaction_.Emit(id, nullptr, job::AttemptNumber(),
                             absl::UnixEpoch(),
                             job::JobSubmitted{Spec(), number});
  }
  absl::Status Cancel(job::JobId id,
                      const std::shared_ptr<const job::Job>& before) {
    return transaction_.Emit(
        id, before, job::AttemptNumber(), absl::UnixEpoch(),
        job::JobStateChanged{JobState::kCancelled, JobReason::kCancelled, ""});
  }

  Transaction transaction_;
};

TEST_F(TransactionTest, EventsOfAJobFollowOneAnother) {
  const job::JobId id(0, 1);
  ASSERT_TRUE(Begin(id, 1).ok());
  ASSERT_TRUE(Cancel(id, nullptr).ok());
  EXPECT_EQ(transaction_.Find(id)->state, JobState::kCancelled);
  const store::Batch batch = transaction_.ToBatch();
  ASSERT_EQ(batch.jobs.size(), 1u);
  ASSERT_EQ(batch.jobs[0].events.size(), 2u);
  EXPECT_EQ(batch.jobs[0].events[1].sequence, 2);
}

TEST_F(TransactionTest, ARefusedEventLeavesNoTrace) {
  const job::JobId id(0, 1);
  EXPECT_FALSE(Cancel(id, nullptr).ok()) << "it was never submitted";
  EXPECT_TRUE(transaction_.empty());
  EXPECT_EQ(transaction_.Find(id), nullptr);
  ASSERT_TRUE(Begin(id, 1).ok());
  EXPECT_FALSE(Begin(id, 2).ok());
  EXPECT_EQ(transaction_.ToBatch().jobs[0].events.size(), 1u);
}

TEST_F(TransactionTest, TheCommittedJobStaysAsItIsUntilTheCommit) {
  auto committed = std::make_shared<job::Job>();
  committed->id = job::JobId(0, 1);
  ASSERT_TRUE(
      job::Apply(*committed, {1, absl::UnixEpoch(), job::AttemptNumber(),
                              job::JobSubmitted{Spec(), 1}})
          .ok());
  ASSERT_TRUE(Cancel(committed->id, committed).ok());
  EXPECT_EQ(committed->state, JobState::kQueued);
  EXPECT_EQ(transaction_.touched().at(committed->id).before, committed);
  EXPECT_EQ(transaction_.Find(committed->id)->state, JobState::kCancelled);
}

TEST_F(TransactionTest, ABatchNamesJobsInTheOrderOfTheirSubmits) {
  ASSERT_TRUE(Begin(job::JobId(0, 9), 1).ok());
  ASSERT_TRUE(Begin(job::JobId(0, 1), 2).ok());
  const store::Batch batch = transaction_.ToBatch();
  EXPECT_EQ(batch.jobs[0].job->submit_number, 1);
  EXPECT_EQ(batch.jobs[1].job->submit_number, 2);
}

TEST_F(TransactionTest, WhatItHoldsIsFoundBeforeItIsCommitted) {
  const job::JobId id(0, 1);
  EXPECT_FALSE(transaction_.FindRequest("r").has_value());
  transaction_.AddRequest("r", id);
  EXPECT_EQ(transaction_.FindRequest("r"), id);
  EXPECT_FALSE(transaction_.Deletes(id));
  transaction_.DeleteJob(id, JobState::kFailed, "d");
  EXPECT_TRUE(transaction_.Deletes(id));
  EXPECT_EQ(transaction_.FindDeletion("d"), id);
  EXPECT_EQ(transaction_.deleted().at(id), JobState::kFailed);
  const job::AttemptId attempt{id, job::AttemptNumber(1)};
  transaction_.SetOffset(attempt, 0, 7);
  transaction_.SetOffset(attempt, 0, 9);
  EXPECT_EQ(transaction_.FindOffset(attempt, 0), 9);
  EXPECT_FALSE(transaction_.FindOffset(attempt, 1).has_value());
  const store::Batch batch = transaction_.ToBatch();
  EXPECT_EQ(batch.offsets.size(), 1u);
  EXPECT_EQ(batch.deletions.size(), 1u);
}

TEST_F(TransactionTest, ADeletionWithoutARequestIdIsNotRemembered) {
  transaction_.DeleteJob(job::JobId(0, 1), JobState::kFailed, "");
  EXPECT_TRUE(transaction_.ToBatch().deletions.empty());
  EXPECT_FALSE(transaction_.empty());
}

TEST_F(TransactionTest, AForgottenWorkerIsNotWrittenBeside) {
  fleet::WorkerRecord worker;
  worker.id = job::WorkerId("a");
  transaction_.SetWorker(worker);
  transaction_.ForgetWorker(worker.id);
  const store::Batch batch = transaction_.ToBatch();
  EXPECT_TRUE(batch.workers.empty());
  EXPECT_EQ(batch.forgotten_workers.size(), 1u);
}

TEST_F(TransactionTest, ADropTakesStepsBackFromTheNewestOn) {
  std::vector<int> undone;
  transaction_.OnDrop([&] { undone.push_back(1); });
  transaction_.OnDrop([&] { undone.push_back(2); });
  ASSERT_TRUE(Begin(job::JobId(0, 1), 1).ok());
  transaction_.Drop();
  EXPECT_EQ(undone, (std::vector<int>{2, 1}));
  EXPECT_TRUE(transaction_.empty());
  transaction_.OnDrop([&] { undone.push_back(3); });
  transaction_.Clear();
  transaction_.Drop();
  EXPECT_EQ(undone.size(), 2u) << "what was committed stays";
}

}  // namespace
}  // namespace epochd::control
