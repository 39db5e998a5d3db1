// SPDX-License-Identifier: Apache-2.0
#include "client/api/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/time/clock.h"
#include "proto/wire/status.h"
#include "tests/client/api/fake_server.h"

namespace epochd::client {
namespace {

TEST(RequestId, IsARandomUuid) {
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    const std::string id = NewRequestId();
    EXPECT_THAT(id, testing::MatchesRegex(
                        "[0-9a-f]+-[0-9a-f]+-4[0-9a-f]+-[89ab][0-9a-f]+-"
                        "[0-9a-f]+"));
    EXPECT_EQ(id.size(), 36u);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 100u);
}

TEST(Client, ReadsPagesToTheEndOrTheLimit) {
  FakeServer server;
  Client client = server.MakeClient();
  const auto all = client.ListJobs({});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size(), 3u);
  JobFilter filter;
  filter.limit = 2;
  const auto some = client.ListJobs(filter);
  ASSERT_TRUE(some.ok());
  ASSERT_EQ(some->size(), 2u);
  EXPECT_EQ((*some)[1].name(), "jobs/1");
}

TEST(Client, HandsOverTheServersViolations) {
  FakeServer server;
  server.jobs.submit_status = wire::ToGrpc(wire::BadRequest(
      {{"resources.replicas", "too many"}, {"experiment.loss", "unknown"}}));
  Client client = server.MakeClient();
  const auto job = client.SubmitJob({}, "id");
  EXPECT_EQ(job.status().code(), absl::StatusCode::kInvalidArgument);
  const auto violations = wire::Violations(job.status());
  ASSERT_EQ(violations.size(), 2u);
  EXPECT_EQ(violations[0].field, "resources.replicas");
}

TEST(Client, TriesAgainWhenTheServerHasRoomAgain) {
  FakeServer server;
  server.jobs.full_status = wire::WithRetryDelay(
      absl::ResourceExhaustedError("full"), absl::Milliseconds(1));
  Client client = server.MakeClient();
  server.jobs.num_full_submits = 4;
  EXPECT_TRUE(client.SubmitJob({}, "id").ok());
  EXPECT_EQ(server.jobs.num_submits, 5);
  // But not for ever.
  server.jobs.num_full_submits = 1000;
  EXPECT_EQ(client.SubmitJob({}, "id").status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(server.jobs.num_submits, 10);
}

TEST(Client, DoesNotTryAgainWhereTheServerSaysNotWhen) {
  FakeServer server;
  server.jobs.submit_status = {grpc::StatusCode::RESOURCE_EXHAUSTED,
                               "message larger than max"};
  Client client = server.MakeClient();
  EXPECT_EQ(client.SubmitJob({}, "id").status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(server.jobs.num_submits, 1);
}

TEST(Client, WaitsLongerAfterEachRefusal) {
  FakeServer server;
  server.jobs.full_status = wire::WithRetryDelay(
      absl::ResourceExhaustedError("full"), absl::Milliseconds(20));
  server.jobs.num_full_submits = 3;
  Client client = server.MakeClient();
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(client.SubmitJob({}, "id").ok());
  // 20 + 40 + 80, and some more so that callers drift apart.
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(140));
}

TEST(Client, UploadsInPieces) {
  FakeServer server;
  Client client = server.MakeClient();
  const std::string content(600 * 1024, 'x');
  EXPECT_EQ(client.UploadFile("abc", content), absl::OkStatus());
  EXPECT_EQ(server.jobs.uploads["abc"], content);
  EXPECT_EQ(client.UploadFile("empty", ""), absl::OkStatus());
}

TEST(Client, TellsThatNobodyAnswers) {
  net::ChannelOptions options;
  options.server = "127.0.0.1:1";
  Client client(*net::MakeChannel(options), absl::Minutes(1));
  const absl::Status status = client.GetJob("jobs/a").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

}  // namespace
}  // namespace epochd::client
