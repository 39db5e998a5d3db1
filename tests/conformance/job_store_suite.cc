// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/job_store_suite.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/conformance/job_samples.h"

namespace epochd::store {

using testing::ElementsAre;
using testing::IsEmpty;

void JobStoreSuite::Restart() {
  store_ = &site_->Reopen();
  absl::StatusOr<Snapshot> loaded = store_->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  loaded_ = *std::move(loaded);
}

namespace {

std::vector<int64_t> Numbers(const JobPage& page) {
  std::vector<int64_t> numbers;
  for (const auto& job : page.jobs) numbers.push_back(job->submit_number);
  return numbers;
}

TEST_P(JobStoreSuite, BeginsEmptyWithEveryStateCounted) {
  EXPECT_THAT(loaded_.live_jobs, IsEmpty());
  EXPECT_EQ(loaded_.next_submit_number, 1);
  EXPECT_EQ(loaded_.generation, 1);
  EXPECT_FALSE(loaded_.cluster_id.empty());
  EXPECT_EQ(loaded_.num_jobs.size(), job::AllJobStates().size());
  EXPECT_TRUE(store_->Commit({}).ok());
}

TEST_P(JobStoreSuite, CountsItsLoadsAndKeepsItsClusterId) {
  const std::string cluster_id = loaded_.cluster_id;
  Restart();
  EXPECT_EQ(loaded_.generation, 2);
  EXPECT_EQ(loaded_.cluster_id, cluster_id);
}

TEST_P(JobStoreSuite, KeepsEveryFieldOfEveryEvent) {
  SampleJob sample(1);
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Append(OneOfEach())}}).ok());
  Restart();
  const auto events = store_->ReadEvents(sample.id(), 0, 1000);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_EQ(Describe(*events), Describe(sample.events()));
}

TEST_P(JobStoreSuite, KeepsEveryFieldOfAJob) {
  SampleJob sample(1);
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Fill()}}).ok());
  Restart();
  const auto job = store_->ReadJob(sample.id());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(Describe(**job), Describe(sample.job()));
  ASSERT_EQ(loaded_.live_jobs.size(), 1);
  EXPECT_EQ(Describe(*loaded_.live_jobs[0]), Describe(sample.job()));
}

TEST_P(JobStoreSuite, KeepsDefaultsAsDefaults) {
  SampleJob sample(1, job::JobSpec{});
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  Restart();
  EXPECT_EQ(Describe(**store_->ReadJob(sample.id())), Describe(sample.job()));
  EXPECT_EQ(*(*store_->ReadJob(sample.id()))->spec, job::JobSpec{});
}

TEST_P(JobStoreSuite, ReadsEventsFromACursorInPieces) {
  SampleJob sample(1);
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Append(OneOfEach())}}).ok());
  const auto piece = store_->ReadEvents(sample.id(), 3, 2);
  ASSERT_EQ(piece->size(), 2);
  EXPECT_EQ((*piece)[0].sequence, 4);
  EXPECT_EQ((*piece)[1].sequence, 5);
  EXPECT_THAT(*store_->ReadEvents(sample.id(), 12, 2), IsEmpty());
  EXPECT_THAT(*store_->ReadEvents(sample.id(), 1000, 2), IsEmpty());
}

TEST_P(JobStoreSuite, SaysNotFoundForWhatIsNotThere) {
  const job::JobId id(1, 1);
  EXPECT_TRUE(absl::IsNotFound(store_->ReadJob(id).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->ReadEvents(id, 0, 1).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->FindRequest("none").status()));
}

TEST_P(JobStoreSuite, FindsTheJobOfARequest) {
  SampleJob sample(1);
  ASSERT_TRUE(store_
                  ->Commit({.jobs = {sample.Begin()},
                            .requests = {{"r-1", sample.id()}}})
                  .ok());
  Restart();
  EXPECT_EQ(*store_->FindRequest("r-1"), sample.id());
}

TEST_P(JobStoreSuite, WorkersAreReplacedByName) {
  fleet::WorkerRecord worker = FullWorker("w1");
  ASSERT_TRUE(store_->Commit({.workers = {FullWorker("w2"), worker}}).ok());
  worker.draining = false;
  worker.devices.clear();
  ASSERT_TRUE(store_->Commit({.workers = {worker}}).ok());
  Restart();
  EXPECT_THAT(loaded_.workers, ElementsAre(worker, FullWorker("w2")));
}

TEST_P(JobStoreSuite, ForgetsAWorker) {
  ASSERT_TRUE(
      store_->Commit({.workers = {FullWorker("a"), FullWorker("b")}}).ok());
  ASSERT_TRUE(store_
                  ->Commit({.forgotten_workers = {job::WorkerId("a"),
                                                  job::WorkerId("never")}})
                  .ok());
  const auto snapshot = store_->Load();
  ASSERT_EQ(snapshot->workers.size(), 1u);
  EXPECT_EQ(snapshot->workers[0].id, job::WorkerId("b"));
}

TEST_P(JobStoreSuite, RemembersTheNewestDeletions) {
  std::vector<RequestRecord> deletions;
  for (int i = 0; i < kDeletionsKept; ++i) {
    deletions.push_back({std::to_string(i), job::JobId(1, i)});
  }
  ASSERT_TRUE(store_->Commit({.deletions = deletions}).ok());
  EXPECT_EQ(store_->FindDeletion("0").value(), job::JobId(1, 0));
  ASSERT_TRUE(
      store_->Commit({.deletions = {{"one more", job::JobId(2, 2)}}}).ok());
  EXPECT_EQ(store_->FindDeletion("one more").value(), job::JobId(2, 2));
  EXPECT_EQ(store_->FindDeletion("1").value(), job::JobId(1, 1));
  EXPECT_TRUE(absl::IsNotFound(store_->FindDeletion("0").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->FindDeletion("").status()));
}

TEST_P(JobStoreSuite, AProbeSucceedsAndChangesNothing) {
  const auto before = store_->Load();
  EXPECT_TRUE(store_->Probe().ok());
  EXPECT_EQ(store_->Load()->generation, before->generation + 1);
}

TEST_P(JobStoreSuite, LoadsOffsetsOfLiveJobsAlone) {
  SampleJob live(1);
  SampleJob done(2);
  const EventOffset offset{{live.id(), job::AttemptNumber(1)}, 3, 100};
  EventOffset moved = offset;
  moved.next_offset = 200;
  const EventOffset gone{{done.id(), job::AttemptNumber(1)}, 0, 5};
  ASSERT_TRUE(store_
                  ->Commit({.jobs = {live.Begin(), done.Begin()},
                            .offsets = {offset, gone}})
                  .ok());
  ASSERT_TRUE(store_
                  ->Commit({.jobs = {done.MoveTo(job::JobState::kFailed)},
                            .offsets = {moved}})
                  .ok());
  Restart();
  EXPECT_THAT(loaded_.offsets, ElementsAre(moved));
  ASSERT_EQ(loaded_.live_jobs.size(), 1);
  EXPECT_EQ(loaded_.live_jobs[0]->id, live.id());
  EXPECT_EQ(loaded_.num_jobs[job::JobState::kQueued], 1);
  EXPECT_EQ(loaded_.num_jobs[job::JobState::kFailed], 1);
}

TEST_P(JobStoreSuite, NeverGivesASubmitNumberTwice) {
  SampleJob sample(41);
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  ASSERT_TRUE(store_->Commit({.deleted_jobs = {sample.id()}}).ok());
  Restart();
  EXPECT_EQ(loaded_.next_submit_number, 42);
}

TEST_P(JobStoreSuite, DeletingForgetsAllOfAJobAndNothingElse) {
  SampleJob gone(1);
  SampleJob kept(2);
  ASSERT_TRUE(
      store_
          ->Commit({.jobs = {gone.Begin(), kept.Begin()},
                    .requests = {{"r-1", gone.id()}, {"r-2", kept.id()}},
                    .offsets = {{{gone.id(), job::AttemptNumber(1)}, 0, 1},
                                {{kept.id(), job::AttemptNumber(1)}, 0, 2}}})
          .ok());
  ASSERT_TRUE(
      store_->Commit({.deleted_jobs = {gone.id(), job::JobId(9, 9)}}).ok());
  Restart();
  EXPECT_TRUE(absl::IsNotFound(store_->ReadJob(gone.id()).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->ReadEvents(gone.id(), 0, 9).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->FindRequest("r-1").status()));
  EXPECT_EQ(*store_->FindRequest("r-2"), kept.id());
  EXPECT_EQ(store_->ReadEvents(kept.id(), 0, 9)->size(), 1);
  ASSERT_EQ(loaded_.offsets.size(), 1);
  EXPECT_EQ(loaded_.offsets[0].next_offset, 2);
  // The request may come again and make another job.
  SampleJob again(3);
  EXPECT_TRUE(
      store_
          ->Commit({.jobs = {again.Begin()}, .requests = {{"r-1", again.id()}}})
          .ok());
}

TEST_P(JobStoreSuite, FinishedJobsComeInTheOrderInWhichTheyFinished) {
  SampleJob first(1);
  SampleJob second(2);
  SampleJob running(3);
  SampleJob third(4);
  ASSERT_TRUE(store_
                  ->Commit({.jobs = {first.Begin(), second.Begin(),
                                     running.Begin(), third.Begin()}})
                  .ok());
  EXPECT_THAT(*store_->FinishedJobs(9), IsEmpty());
  const absl::Time time = absl::FromUnixSeconds(1700000000);
  ASSERT_TRUE(
      store_
          ->Commit({.jobs = {second.Finish(job::JobState::kFailed, time),
                             first.Finish(job::JobState::kSucceeded,
                                          time + absl::Milliseconds(1)),
                             third.Finish(job::JobState::kCancelled,
                                          time + absl::Hours(1))}})
          .ok());
  Restart();
  const auto two = store_->FinishedJobs(2);
  ASSERT_TRUE(two.ok()) << two.status();
  ASSERT_EQ(two->size(), 2);
  EXPECT_EQ((*two)[0].id, second.id());
  EXPECT_EQ((*two)[0].state, job::JobState::kFailed);
  EXPECT_EQ((*two)[0].end_time, time);
  EXPECT_EQ((*two)[1].id, first.id());
  ASSERT_TRUE(store_->Commit({.deleted_jobs = {first.id(), second.id()}}).ok());
  const auto left = store_->FinishedJobs(9);
  ASSERT_EQ(left->size(), 1);
  EXPECT_EQ((*left)[0].id, third.id());
}

TEST_P(JobStoreSuite, KnowsWhichFilesJobsUse) {
  job::JobSpec spec = FullSpec();
  const std::string both(64, 'b');
  const std::string one(64, 'c');
  // The same content under two names is one file.
  spec.files = {{"a", both, 1, false}, {"b", both, 1, false}};
  SampleJob first(1, spec);
  spec.files.push_back({"c", one, 1, false});
  SampleJob second(2, spec);
  ASSERT_TRUE(store_->Commit({.jobs = {first.Begin(), second.Begin()}}).ok());
  EXPECT_TRUE(*store_->UsesFile(both));
  EXPECT_TRUE(*store_->UsesFile(one));
  EXPECT_FALSE(*store_->UsesFile(std::string(64, 'd')));
  ASSERT_TRUE(store_->Commit({.deleted_jobs = {second.id()}}).ok());
  Restart();
  EXPECT_TRUE(*store_->UsesFile(both));
  EXPECT_FALSE(*store_->UsesFile(one));
}

TEST_P(JobStoreSuite, SweepingEndsAndLeavesOtherJobsAlone) {
  SampleJob gone(1);
  SampleJob kept(2);
  ASSERT_TRUE(store_->Commit({.jobs = {gone.Begin(), kept.Begin()}}).ok());
  ASSERT_TRUE(store_
                  ->Commit({.jobs = {gone.Append(OneOfEach()),
                                     kept.Append(OneOfEach())}})
                  .ok());
  EXPECT_FALSE(*store_->Sweep(5)) << "nothing was deleted";
  ASSERT_TRUE(store_->Commit({.deleted_jobs = {gone.id()}}).ok());
  int num_steps = 0;
  for (absl::StatusOr<bool> more = true; *more; ++num_steps) {
    more = store_->Sweep(5);
    ASSERT_TRUE(more.ok()) << more.status();
    ASSERT_LT(num_steps, 100);
  }
  EXPECT_EQ(Describe(*store_->ReadEvents(kept.id(), 0, 99)),
            Describe(kept.events()));
}

TEST_P(JobStoreSuite, ListsNewestFirstInPagesThatHoldStill) {
  std::vector<JobWrite> writes;
  for (int64_t number = 1; number <= 5; ++number) {
    writes.push_back(SampleJob(number).Begin());
  }
  ASSERT_TRUE(store_->Commit({.jobs = writes}).ok());
  const auto first = store_->ListJobs({.limit = 2});
  EXPECT_THAT(Numbers(*first), ElementsAre(5, 4));
  ASSERT_TRUE(first->next_before.has_value());
  ASSERT_TRUE(store_->Commit({.jobs = {SampleJob(6).Begin()}}).ok());
  const auto second =
      store_->ListJobs({.before = first->next_before, .limit = 2});
  EXPECT_THAT(Numbers(*second), ElementsAre(3, 2));
  const auto third =
      store_->ListJobs({.before = second->next_before, .limit = 2});
  EXPECT_THAT(Numbers(*third), ElementsAre(1));
  EXPECT_FALSE(third->next_before.has_value());
  EXPECT_FALSE(store_->ListJobs({.limit = 6})->next_before.has_value());
}

TEST_P(JobStoreSuite, ListsByStateProjectAndLabels) {
  job::JobSpec other;
  other.project = "audio";
  other.labels = {{"team", "vision"}};
  SampleJob first(1);
  SampleJob second(2, other);
  SampleJob third(3);
  ASSERT_TRUE(
      store_->Commit({.jobs = {first.Begin(), second.Begin(), third.Begin()}})
          .ok());
  ASSERT_TRUE(
      store_->Commit({.jobs = {third.MoveTo(job::JobState::kSucceeded)}}).ok());
  const struct {
    ListQuery query;
    std::vector<int64_t> expected;
  } rows[] = {
      {{}, {3, 2, 1}},
      {{.states = {job::JobState::kSucceeded}}, {3}},
      {{.states = {job::JobState::kSucceeded, job::JobState::kQueued}},
       {3, 2, 1}},
      {{.project = "audio"}, {2}},
      {{.project = "vision"}, {3, 1}},
      {{.labels = {{"team", "vision"}}}, {3, 2, 1}},
      {{.labels = {{"team", "vision"}, {"tier", "gold"}}}, {3, 1}},
      {{.labels = {{"team", "' OR 1=1 --"}}}, {}},
      {{.states = {job::JobState::kQueued},
        .project = "vision",
        .labels = {{"tier", "gold"}}},
       {1}},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(Numbers(*store_->ListJobs(row.query)), row.expected)
        << row.query.project;
  }
}

TEST_P(JobStoreSuite, ABatchThatContradictsItselfChangesNothing) {
  SampleJob sample(1);
  ASSERT_TRUE(store_
                  ->Commit({.jobs = {sample.Begin()},
                            .requests = {{"r-1", sample.id()}}})
                  .ok());
  SampleJob other(2);
  JobWrite begin = other.Begin();
  JobWrite gap = sample.Append({job::FirstStep{1}, job::FirstStep{2}});
  gap.events.erase(gap.events.begin());
  gap.events[0].sequence = 9;
  SampleJob twin(1);
  SampleJob unborn(3);
  unborn.Begin();
  const Batch bad[] = {
      {.jobs = {begin, gap}},
      {.jobs = {begin, begin}},
      {.jobs = {begin}, .deleted_jobs = {other.id()}},
      {.jobs = {begin, twin.Begin()}},
      {.jobs = {begin, unborn.Append({job::FirstStep{1}})}},
      {.jobs = {begin}, .requests = {{"r-1", other.id()}}},
      {.jobs = {begin, JobWrite{}}},
  };
  for (const Batch& batch : bad) {
    EXPECT_EQ(store_->Commit(batch).code(), absl::StatusCode::kInternal)
        << "row " << &batch - bad;
    EXPECT_TRUE(absl::IsNotFound(store_->ReadJob(other.id()).status()))
        << "row " << &batch - bad;
  }
  EXPECT_TRUE(store_->Commit({.jobs = {begin}}).ok());
}

TEST_P(JobStoreSuite, ReadersOfOtherThreadsSeeWholeBatches) {
  SampleJob sample(1);
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  std::atomic<bool> done = false;
  std::atomic<int> num_reads = 0;
  std::thread reader([&] {
    while (!done || num_reads == 0) {
      // The row is read first: the journal may only be ahead of it.
      const auto job = store_->ReadJob(sample.id());
      const auto events = store_->ReadEvents(sample.id(), 0, 100000);
      if (!job.ok() || !events.ok()) {
        ADD_FAILURE() << job.status() << events.status();
        break;
      }
      EXPECT_GE(events->back().sequence, (*job)->last_sequence);
      EXPECT_EQ(events->size() % 3, 1) << "batches of three came apart";
      ++num_reads;
    }
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(store_
                    ->Commit({.jobs = {sample.Append({job::FirstStep{1},
                                                      job::FirstStep{2},
                                                      job::FirstStep{3}})}})
                    .ok());
  }
  done = true;
  reader.join();
  EXPECT_EQ(store_->ReadEvents(sample.id(), 0, 1000)->size(), 151);
}

}  // namespace
}  // namespace epochd::store
