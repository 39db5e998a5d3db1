// SPDX-License-Identifier: Apache-2.0
//
// What each call sends, and what it makes of the answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/wire/status.h"
#include "tests/client/api/fake_server.h"

namespace epochd::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CallsTest : public testing::Test {
 protected:
  CallsTest() : client_(server_.MakeClient()) {
    server_.jobs.job.set_name("jobs/a1");
    server_.workers.worker.set_name("workers/n1");
  }

  FakeServer server_;
  Client client_;
};

TEST_F(CallsTest, SubmitSendsSpecIdAndWhetherItIsMeant) {
  v1::JobSpec spec;
  spec.set_display_name("digits");
  const auto job = client_.SubmitJob(spec, "id-1", true);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->name(), "jobs/a1");
  EXPECT_EQ(server_.jobs.submitted.spec().display_name(), "digits");
  EXPECT_EQ(server_.jobs.submitted.request_id(), "id-1");
  EXPECT_TRUE(server_.jobs.submitted.validate_only());
}

TEST_F(CallsTest, ValidateHandsOverViolationsAndHint) {
  server_.jobs.validation.add_violations()->set_field("command");
  server_.jobs.validation.set_scheduling_hint("soon");
  const auto answer = client_.ValidateJob({});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->violations(0).field(), "command");
  EXPECT_EQ(answer->scheduling_hint(), "soon");
}

TEST_F(CallsTest, GetFindsTheJobOrSaysSo) {
  EXPECT_TRUE(client_.GetJob("jobs/a1").ok());
  const absl::Status status = client_.GetJob("jobs/b").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "no job jobs/b");
}

TEST_F(CallsTest, ListAsksForPagesNoLargerThanItsLimit) {
  JobFilter filter;
  EXPECT_THAT(*client_.ListJobs(filter), SizeIs(3));
  filter.limit = 1;
  EXPECT_THAT(*client_.ListJobs(filter), SizeIs(1));
  filter.limit = 5000;
  EXPECT_THAT(*client_.ListJobs(filter), SizeIs(3));
  const auto& requests = server_.jobs.list_requests;
  ASSERT_THAT(requests, SizeIs(7));
  EXPECT_EQ(requests[0].page_size(), 500);
  EXPECT_EQ(requests[1].page_token(), "1");
  EXPECT_EQ(requests[3].page_size(), 1);
  EXPECT_EQ(requests[4].page_size(), 500);
}

TEST_F(CallsTest, ListEndsWithTheFailureOfAnyPage) {
  server_.jobs.failure = {grpc::StatusCode::ABORTED, "the page token is old"};
  EXPECT_EQ(client_.ListJobs({}).status().code(), absl::StatusCode::kAborted);
}

TEST_F(CallsTest, CancelAndDeleteCarryTheirRequestIds) {
  const auto job = client_.CancelJob("jobs/a1", "c1");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::JOB_STATE_STOPPING);
  EXPECT_TRUE(client_.DeleteJob("jobs/a1", "d1").ok());
  EXPECT_THAT(server_.jobs.request_ids, ElementsAre("c1", "d1"));
  EXPECT_THAT(server_.jobs.deleted, ElementsAre("jobs/a1"));
}

TEST_F(CallsTest, EventsBeginAfterTheSequenceGiven) {
  server_.jobs.listed = {Numbered(1), Numbered(2), Numbered(3)};
  const auto events = client_.ListEvents("jobs/a1", 1);
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_THAT(*events, SizeIs(2));
  EXPECT_EQ((*events)[0].sequence(), 2);
}

TEST_F(CallsTest, CheckpointsLeaveOutTheRemovedUnlessAsked) {
  v1::Checkpoint checkpoint;
  checkpoint.set_path("/a");
  server_.jobs.checkpoints.push_back(checkpoint);
  checkpoint.set_removed(true);
  server_.jobs.checkpoints.push_back(checkpoint);
  EXPECT_THAT(*client_.ListCheckpoints("jobs/a1"), SizeIs(1));
  EXPECT_THAT(*client_.ListCheckpoints("jobs/a1", true), SizeIs(2));
}

TEST_F(CallsTest, WorkersAreListedFoundAndDrained) {
  EXPECT_THAT(*client_.ListWorkers(), SizeIs(1));
  EXPECT_TRUE(client_.GetWorker("workers/n1").ok());
  EXPECT_TRUE(absl::IsNotFound(client_.GetWorker("workers/x").status()));
  EXPECT_EQ(client_.DrainWorker("workers/n1", false)->state(),
            v1::WORKER_STATE_DRAINING);
  EXPECT_EQ(client_.DrainWorker("workers/n1", true)->state(),
            v1::WORKER_STATE_READY);
  server_.workers.is_empty = true;
  EXPECT_THAT(*client_.ListWorkers(), IsEmpty());
}

TEST_F(CallsTest, ServerTellsWhoItIsAndWhatCanBeBuilt) {
  server_.server.info.set_version("9.9");
  EXPECT_EQ(client_.GetServerInfo()->version(), "9.9");
  EXPECT_TRUE(absl::IsNotFound(client_.GetCatalogue().status()));
  server_.server.catalogue = "{}";
  EXPECT_EQ(client_.GetCatalogue()->json(), "{}");
}

TEST_F(CallsTest, EveryCallHandsOverTheServersStatus) {
  server_.FailWith({grpc::StatusCode::UNAUTHENTICATED, "no such token"});
  for (const absl::Status& status : {
           client_.SubmitJob({}, "x").status(),
           client_.ValidateJob({}).status(),
           client_.GetJob("jobs/a1").status(),
           client_.ListJobs({}).status(),
           client_.CancelJob("jobs/a1", "x").status(),
           client_.DeleteJob("jobs/a1", "x"),
           client_.ListEvents("jobs/a1").status(),
           client_.ListCheckpoints("jobs/a1").status(),
           client_.ListWorkers().status(),
           client_.GetWorker("workers/n1").status(),
           client_.DrainWorker("workers/n1", false).status(),
           client_.GetServerInfo().status(),
           client_.GetCatalogue().status(),
       }) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
    EXPECT_EQ(status.message(), "no such token");
  }
}

TEST(JobState, IsTerminalWhereItStays) {
  for (const v1::JobState state :
       {v1::JOB_STATE_SUCCEEDED, v1::JOB_STATE_FAILED,
        v1::JOB_STATE_CANCELLED}) {
    EXPECT_TRUE(IsTerminal(state));
  }
  for (const v1::JobState state :
       {v1::JOB_STATE_UNSPECIFIED, v1::JOB_STATE_QUEUED, v1::JOB_STATE_STARTING,
        v1::JOB_STATE_RUNNING, v1::JOB_STATE_STOPPING}) {
    EXPECT_FALSE(IsTerminal(state));
  }
}

}  // namespace
}  // namespace epochd::client
