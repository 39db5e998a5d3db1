// SPDX-License-Identifier: Apache-2.0
#include "server/api/read_logs.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "proto/wire/status.h"
#include "tests/server/api/service_fixture.h"

namespace epochd::api {
namespace {

class ReadLogsTest : public ServiceTest {
 protected:
  struct Result {
    std::string text;
    std::vector<v1::LogChunk> chunks;
    absl::Status status;
  };

  Result Read(const v1::ReadLogsRequest& request) {
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    const auto reader = jobs_->ReadLogs(&context, request);
    Result result;
    v1::LogChunk chunk;
    while (reader->Read(&chunk)) {
      result.text += chunk.data();
      result.chunks.push_back(chunk);
    }
    result.status = wire::FromGrpc(reader->Finish());
    return result;
  }

  // A running attempt of a fresh job.
  std::string Start(FakeAgent& agent) {
    EXPECT_TRUE(agent.Register(1).ok());
    job_ = MustSubmit(
        MakeSpec(R"({"restart": {"reasons": ["ATTEMPT_REASON_RANK_LOST"],)"
                 R"( "backoff": "0s"}})"));
    const std::string attempt = agent.WaitForAttempt(job_.name());
    agent.Run(attempt);
    return attempt;
  }

  v1::Job job_;
};

TEST_F(ReadLogsTest, ReadsAllAttemptsInOrderWithOffsets) {
  FakeAgent agent(Connect(), "worker-a");
  const std::string first = Start(agent);
  ASSERT_TRUE(agent.ReportLog(first, 0, "one\n").ok());
  agent.End(first, v1::ATTEMPT_REASON_RANK_LOST);
  const std::string second = agent.WaitForAttempt(job_.name());
  ASSERT_NE(second, first);
  agent.Run(second);
  ASSERT_TRUE(agent.ReportLog(second, 0, "two\n").ok());
  v1::ReadLogsRequest request;
  request.set_name(job_.name());
  const Result result = Read(request);
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.text, "one\ntwo\n");
  ASSERT_EQ(result.chunks.size(), 3u);
  EXPECT_EQ(result.chunks[0].attempt(), 1);
  EXPECT_EQ(result.chunks[1].attempt(), 2);
  EXPECT_TRUE(result.chunks[2].end());
  EXPECT_EQ(result.chunks[2].final_state(), v1::JOB_STATE_RUNNING);
  request.set_attempt(2);
  request.set_offset(1);
  EXPECT_EQ(Read(request).text, "wo\n");
  request.set_attempt(0);
  request.set_offset(0);
  request.set_tail_bytes(3);
  EXPECT_EQ(Read(request).text, "wo\n");
}

TEST_F(ReadLogsTest, FollowShowsTheLastLineAndEndsWithTheJob) {
  FakeAgent agent(Connect(), "worker-a");
  const std::string attempt = Start(agent);
  v1::ReadLogsRequest request;
  request.set_name(job_.name());
  request.set_follow(true);
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  const auto reader = jobs_->ReadLogs(&context, request);
  ASSERT_TRUE(agent.ReportLog(attempt, 0, "begin\n").ok());
  v1::LogChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.data(), "begin\n");
  ASSERT_TRUE(agent.ReportLog(attempt, 6, "last line\n").ok());
  agent.End(attempt, v1::ATTEMPT_REASON_COMPLETED);
  std::string rest;
  while (reader->Read(&chunk)) rest += chunk.data();
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(rest, "last line\n");
  EXPECT_TRUE(chunk.end());
  EXPECT_EQ(chunk.final_state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(ReadLogsTest, RefusesWhatContradictsItself) {
  v1::ReadLogsRequest request;
  request.set_name(MustSubmit().name());
  request.set_offset(5);
  EXPECT_EQ(wire::Violations(Read(request).status)[0].field, "offset");
  request.set_attempt(1);
  request.set_tail_bytes(5);
  EXPECT_EQ(wire::Violations(Read(request).status)[0].field, "tail_bytes");
  request.Clear();
  request.set_name("jobs/00000000000000000000000001");
  EXPECT_EQ(Read(request).status.code(), absl::StatusCode::kNotFound);
}

TEST_F(ReadLogsTest, LogsOfAStaleAttemptAreRefused) {
  FakeAgent agent(Connect(), "worker-a");
  const std::string attempt = Start(agent);
  agent.End(attempt, v1::ATTEMPT_REASON_COMPLETED);
  WaitForState(job_.name(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(agent.ReportLog(attempt, 0, "late").code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace epochd::api
