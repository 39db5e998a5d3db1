// SPDX-License-Identifier: Apache-2.0
//
// histories that older versions recorded lead today's reducer to the end
// that they had then. Files of histories/ are only ever added: one for each
// version that changes records or job::Apply. This records the present one:
//
//   EPOCHD_RECORD_HISTORY=tests/server/store/histories/0.1.txt
//   server_store_test
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/escaping.h"
#include "server/job/job.h"
#include "server/store/records.h"
#include "tests/conformance/job_samples.h"

namespace epochd::store {
namespace {

namespace fs = std::filesystem;
using job::AttemptReason;
using job::AttemptState;
using job::JobReason;
using job::JobState;

fs::path Folder() {
  const char* root = std::getenv("EPOCHD_TEST_SOURCE_DIR");
  return fs::path(root == nullptr ? "." : root) /
         "tests/server/store/histories";
}

// A job that went through everything a job can.
struct Recording {
  job::Job job;
  std::vector<job::Event> events;

  void Add(int attempt, job::EventBody body) {
    job::Event event{job.last_sequence + 1,
                     absl::FromUnixSeconds(1700000000) +
                         absl::Milliseconds(1500) * events.size(),
                     job::AttemptNumber(attempt), std::move(body)};
    const absl::Status applied = job::Apply(job, event);
    ASSERT_TRUE(applied.ok()) << applied;
    events.push_back(std::move(event));
  }
  void Move(JobState state, JobReason reason, const std::string& message = "") {
    Add(0, job::JobStateChanged{state, reason, message});
  }
  void Move(int attempt, AttemptState state,
            AttemptReason reason = AttemptReason::kUnspecified) {
    job::AttemptStateChanged changed;
    changed.state = state;
    changed.reason = reason;
    if (state == AttemptState::kAssigned || state == AttemptState::kEnded) {
      job::RankPlacement rank{0, job::WorkerId("w1"), {"cpu:0"}, "folder", {},
                              {}};
      if (state == AttemptState::kEnded) rank.term_signal = 9;
      changed.ranks = {rank};
    }
    if (state == AttemptState::kEnded) {
      changed.run_time = absl::Seconds(12);
      changed.counts_as_restart = reason == AttemptReason::kRankLost;
      changed.message = "so it ended";
    }
    Add(attempt, changed);
  }
  void Begin(int attempt) {
    Move(attempt, AttemptState::kAssigned);
    Move(JobState::kStarting, JobReason::kAssigned, "attempt on w1");
    Move(attempt, AttemptState::kStarting);
    Move(attempt, AttemptState::kRunning);
    Move(JobState::kRunning, JobReason::kTraining);
  }
  void Train(int attempt) {
    for (job::EventBody body : OneOfEach()) {
      if (std::holds_alternative<job::JobStateChanged>(body) ||
          std::holds_alternative<job::AttemptStateChanged>(body)) {
        continue;
      }
      if (auto* saved = std::get_if<job::CheckpointSaved>(&body)) {
        Save(attempt, saved->checkpoint);
        continue;
      }
      if (const auto* removed = std::get_if<job::CheckpointRemoved>(&body)) {
        Save(attempt, removed->checkpoint);
      }
      Add(attempt, std::move(body));
    }
  }
  void Save(int attempt, job::Checkpoint checkpoint) {
    checkpoint.removed = false;
    checkpoint.attempt = job::AttemptNumber(attempt);
    Add(attempt, job::CheckpointSaved{std::move(checkpoint)});
  }
};

Recording RecordToday() {
  Recording made;
  made.job.id = job::JobId(7, 1);
  made.Add(0, job::JobSubmitted{
                  std::make_shared<const job::JobSpec>(FullSpec()), 1});
  made.Begin(1);
  made.Train(1);
  made.Move(JobState::kRunning, JobReason::kWorkerUnreachable, "w1 is silent");
  made.Move(1, AttemptState::kEnded, AttemptReason::kRankLost);
  made.Move(JobState::kQueued, JobReason::kRestartBackoff, "in 1s");
  made.Begin(2);
  made.Train(2);
  made.Move(2, AttemptState::kStopping, AttemptReason::kTimeLimit);
  made.Move(JobState::kStopping, JobReason::kTimeLimit, "it was reached");
  made.Move(2, AttemptState::kEnded, AttemptReason::kTimeLimit);
  made.Move(JobState::kFailed, JobReason::kTimeLimit, "it was reached");
  return made;
}

void Write(const Recording& made, const std::string& path) {
  std::ofstream file(path);
  file << "spec " << absl::Base64Escape(EncodeSpec(*made.job.spec)) << "\n";
  for (const job::Event& event : made.events) {
    file << "event " << absl::Base64Escape(EncodeEvent(event)) << "\n";
  }
  file << "job " << absl::Base64Escape(EncodeJob(made.job)) << "\n";
  ASSERT_TRUE(file.good()) << path;
}

// Folds the events of a file, and compares with the job beside them.
void Replay(const fs::path& path) {
  job::Job folded;
  folded.id = job::JobId(7, 1);
  std::shared_ptr<const job::JobSpec> spec;
  std::string kind;
  std::string text;
  bool compared = false;
  for (std::ifstream file(path); file >> kind >> text;) {
    std::string record;
    ASSERT_TRUE(absl::Base64Unescape(text, &record));
    if (kind == "spec") {
      auto decoded = DecodeSpec(record);
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      spec = std::make_shared<const job::JobSpec>(*std::move(decoded));
    } else if (kind == "event") {
      auto event = DecodeEvent(record);
      ASSERT_TRUE(event.ok()) << event.status();
      event->sequence = folded.last_sequence + 1;
      if (std::holds_alternative<job::JobSubmitted>(event->body)) {
        event->body = job::JobSubmitted{spec, 1};
      }
      const absl::Status applied = job::Apply(folded, *event);
      ASSERT_TRUE(applied.ok()) << event->sequence << ": " << applied;
    } else {
      auto then = DecodeJob(record);
      ASSERT_TRUE(then.ok()) << then.status();
      then->id = folded.id;
      then->spec = spec;
      then->submit_number = 1;
      EXPECT_EQ(Describe(folded), Describe(*then));
      EXPECT_TRUE(folded.IsTerminal());
      compared = true;
    }
  }
  EXPECT_TRUE(compared) << path;
}

TEST(HistoryTest, EveryRecordedHistoryEndsAsItDidThen) {
  if (const char* path = std::getenv("EPOCHD_RECORD_HISTORY")) {
    ASSERT_NO_FATAL_FAILURE(Write(RecordToday(), path));
  }
  int num_replayed = 0;
  for (const auto& file : fs::directory_iterator(Folder())) {
    SCOPED_TRACE(file.path().string());
    ASSERT_NO_FATAL_FAILURE(Replay(file.path()));
    ++num_replayed;
  }
  EXPECT_GT(num_replayed, 0);
}

TEST(HistoryTest, TheNewestOneHasEveryKindOfEvent) {
  std::set<size_t> recorded;
  for (const job::Event& event : RecordToday().events) {
    recorded.insert(event.body.index());
  }
  EXPECT_EQ(recorded.size(), std::variant_size_v<job::EventBody>);
}

}  // namespace
}  // namespace epochd::store
