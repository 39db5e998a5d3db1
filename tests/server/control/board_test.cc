// SPDX-License-Identifier: Apache-2.0
//
// What readers see, and who is woken.
#include "server/control/board.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/control/rig.h"

namespace epochd::control {
namespace {

using job::JobState;
using Code = absl::StatusCode;

class BoardTest : public testing::Test {
 protected:
  // Stores and shows a job with so many events.
  std::shared_ptr<job::Job> Show(uint64_t number, int num_events) {
    auto job = std::make_shared<job::Job>();
    job->id = job::JobId(0, number);
    std::vector<job::Event> events;
    for (int i = 1; i <= num_events; ++i) {
      job::EventBody body = job::Notice{};
      if (i == 1) {
        body = job::JobSubmitted{Spec(), static_cast<int64_t>(number)};
      }
      events.push_back({i, absl::UnixEpoch(), {}, std::move(body)});
      EXPECT_TRUE(job::Apply(*job, events.back()).ok());
    }
    EXPECT_TRUE(store_.Commit({.jobs = {{job, events}}}).ok());
    board_.PublishJob(job, events);
    return job;
  }
  void ShowWorker(const std::string& name, const std::string& incarnation) {
    fleet::WorkerRecord record;
    record.id = job::WorkerId(name);
    record.incarnation = job::Incarnation(incarnation);
    board_.PublishWorker(record, fleet::WorkerState::kReady, "");
  }
  std::vector<int64_t> Sequences(job::JobId id, int64_t after, int32_t limit) {
    std::vector<int64_t> sequences;
    const auto page = board_.ReadEvents(id, after, limit);
    EXPECT_TRUE(page.ok()) << page.status();
    if (!page.ok()) return sequences;
    for (const auto& event : page->events) {
      sequences.push_back(event->sequence);
    }
    return sequences;
  }

  store::MemoryJobStore store_;
  Board board_{store_, 4};
};

TEST_F(BoardTest, ReadersGetTheSameEventsFromMemoryAndFromTheStore) {
  const auto id = Show(1, 10)->id;
  // The newest four are in memory.
  EXPECT_EQ(Sequences(id, 8, 99), (std::vector<int64_t>{9, 10}));
  EXPECT_EQ(Sequences(id, 6, 2), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(Sequences(id, 2, 3), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(Sequences(id, -5, 2), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(Sequences(id, 10, 99).empty());
  EXPECT_TRUE(Sequences(id, 11, 99).empty());
  EXPECT_EQ(board_.ReadEvents(id, 3, 1)->last_sequence, 10);
  EXPECT_FALSE(board_.ReadEvents(id, 10, 1)->finished);
}

TEST_F(BoardTest, AQueuedJobShowsWhyItWaitsNow) {
  const auto id = Show(1, 1)->id;
  EXPECT_EQ(board_.Get(id)->reason, job::JobReason::kSubmitted);
  auto waiting = std::make_shared<Board::WaitingMap>();
  waiting->emplace(id, schedule::Waiting{id, job::JobReason::kNoWorkers,
                                         "no worker is connected", 3});
  board_.PublishWaiting(waiting);
  const auto view = board_.Get(id);
  EXPECT_EQ(view->reason, job::JobReason::kNoWorkers);
  EXPECT_EQ(view->message, "no worker is connected");
  EXPECT_EQ(view->queue_position, 3);
  EXPECT_EQ(board_.List({})->jobs[0].queue_position, 3);
}

TEST_F(BoardTest, ProgressIsNumberedAndGoesWithItsJob) {
  const auto job = Show(1, 1);
  EXPECT_FALSE(board_.ReadProgress(job->id, 0).has_value());
  job::Progress progress;
  progress.epoch = 2;
  board_.PublishProgress(job->id, job::AttemptNumber(1), absl::UnixEpoch(),
                         progress);
  const auto first = board_.ReadProgress(job->id, 0);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->progress.epoch, 2);
  EXPECT_FALSE(board_.ReadProgress(job->id, first->number).has_value());
  // Of a job that is not shown it is dropped.
  board_.PublishProgress(job::JobId(0, 9), job::AttemptNumber(1),
                         absl::UnixEpoch(), progress);
  EXPECT_FALSE(board_.ReadProgress(job::JobId(0, 9), 0).has_value());
}

TEST_F(BoardTest, AWatcherIsWokenUntilItLeaves) {
  const auto id = Show(1, 1)->id;
  int num_wakes = 0;
  auto watch = board_.WatchJob(id, [&] { ++num_wakes; });
  ASSERT_TRUE(watch.ok());
  board_.WakeJob(id);
  board_.WakeJob(job::JobId(0, 9));
  EXPECT_EQ(num_wakes, 1);
  watch->reset();
  board_.WakeJob(id);
  EXPECT_EQ(num_wakes, 1);
  EXPECT_EQ(board_.WatchJob(job::JobId(0, 9), [] {}).status().code(),
            Code::kNotFound);
}

TEST_F(BoardTest, ThousandsOfWatchersThatLeftLeaveNothingBehind) {
  std::vector<job::JobId> ids;
  for (uint64_t number = 1; number <= 300; ++number) {
    ids.push_back(Show(number, 1)->id);
  }
  for (int round = 0; round < 10; ++round) {
    for (const job::JobId id : ids)
      ASSERT_TRUE(board_.WatchJob(id, [] {}).ok());
  }
  int num_wakes = 0;
  std::vector<std::unique_ptr<Subscription>> watches;
  for (int i = 0; i < 1000; ++i) {
    watches.push_back(*board_.WatchJob(ids[0], [&] { ++num_wakes; }));
  }
  board_.WakeJob(ids[0]);
  EXPECT_EQ(num_wakes, 1000);
}

TEST_F(BoardTest, AnOlderAgentIsToldOnceThatItWasSuperseded) {
  ShowWorker("a", "1");
  std::vector<absl::Status> told;
  const auto watch =
      board_.WatchDesired(job::WorkerId("a"), job::Incarnation("1"),
                          [&](const absl::StatusOr<Board::DesiredPtr>& news) {
                            told.push_back(news.status());
                          });
  ASSERT_TRUE(watch.ok());
  EXPECT_TRUE(told.empty()) << "nothing is desired yet";
  board_.PublishDesired(job::WorkerId("a"), std::make_shared<DesiredState>());
  ASSERT_EQ(told.size(), 1u);
  board_.Supersede(job::WorkerId("a"), job::Incarnation("2"));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].code(), Code::kAborted);
  board_.PublishDesired(job::WorkerId("a"), std::make_shared<DesiredState>());
  EXPECT_EQ(told.size(), 2u);
  EXPECT_EQ(board_
                .WatchDesired(job::WorkerId("a"), job::Incarnation("2"),
                              [](const auto&) {})
                .status()
                .code(),
            Code::kAborted)
      << "the record is still of the older one";
}

TEST_F(BoardTest, AForgottenWorkersAgentIsToldToRegister) {
  ShowWorker("a", "1");
  absl::Status told;
  const auto watch =
      board_.WatchDesired(job::WorkerId("a"), job::Incarnation("1"),
                          [&](const absl::StatusOr<Board::DesiredPtr>& news) {
                            told = news.status();
                          });
  board_.ForgetWorker(job::WorkerId("a"));
  EXPECT_EQ(told.code(), Code::kNotFound);
  EXPECT_TRUE(board_.ListWorkers().empty());
  board_.ForgetWorker(job::WorkerId("a"));
  EXPECT_EQ(board_.GetWorker(job::WorkerId("a")).status().code(),
            Code::kNotFound);
}

TEST_F(BoardTest, OnlyAChangeOfTheStoreIsNews) {
  EXPECT_TRUE(board_.StoreStatus().ok());
  EXPECT_FALSE(board_.SetStoreStatus(absl::OkStatus()));
  EXPECT_TRUE(board_.SetStoreStatus(absl::ResourceExhaustedError("full")));
  EXPECT_FALSE(board_.SetStoreStatus(absl::InternalError("broken")));
  EXPECT_EQ(board_.StoreStatus().message(), "broken");
  EXPECT_TRUE(board_.SetStoreStatus(absl::OkStatus()));
}

TEST_F(BoardTest, CountsEveryStateAlsoThoseOfNobody) {
  Show(1, 1);
  board_.SetTerminalCounts({{JobState::kFailed, 2}});
  board_.AddTerminal(JobState::kFailed, -1);
  board_.AddTerminal(JobState::kSucceeded, 4);
  EXPECT_EQ(board_.NumTerminal(), 5);
  const Stats stats = board_.GetStats();
  EXPECT_EQ(stats.jobs.size(), job::AllJobStates().size());
  EXPECT_EQ(stats.jobs.at(JobState::kQueued), 1);
  EXPECT_EQ(stats.jobs.at(JobState::kFailed), 1);
  EXPECT_EQ(stats.jobs.at(JobState::kRunning), 0);
  EXPECT_EQ(stats.workers.size(), fleet::AllWorkerStates().size());
  EXPECT_TRUE(stats.active_jobs.empty()) << "a queued one is not active";
}

}  // namespace
}  // namespace epochd::control
