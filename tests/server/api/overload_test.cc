// SPDX-License-Identifier: Apache-2.0
//
// More than the coordinator can do: it refuses with a time to come again, and
// goes on with what it took.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "proto/wire/status.h"
#include "server/api/work_pool.h"
#include "tests/server/api/service_fixture.h"

namespace epochd::api {
namespace {

TEST(WorkPoolTest, LetsOnlySoManyCallsWait) {
  // What its tasks use outlives the pool, whose end waits for them.
  std::atomic<int> num_run = 0;
  absl::Notification entered;
  absl::Notification go_on;
  absl::Notification last;
  WorkPool pool(1, 3);
  pool.Post([&] {
    entered.Notify();
    go_on.WaitForNotification();
  });
  entered.WaitForNotification();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(pool.TryPost([&] { ++num_run; }).ok());
  }
  EXPECT_EQ(pool.TryPost([&] { ++num_run; }).code(),
            absl::StatusCode::kResourceExhausted);
  // A stream's one task is always taken.
  pool.Post([&] { last.Notify(); });
  go_on.Notify();
  last.WaitForNotification();
  EXPECT_EQ(num_run, 3) << "what was refused never runs";
  EXPECT_TRUE(pool.TryPost([&] { ++num_run; }).ok()) << "there is room again";
}

class OverloadTest : public ServiceTest {
 protected:
  OverloadTest() {
    server_options_.max_streams = 2;
    control_options_.max_live_jobs = 2;
  }
};

TEST_F(OverloadTest, MoreStreamsThanMayBeAreRefusedWithATimeToComeAgain) {
  const v1::Job job = MustSubmit();
  v1::WatchEventsRequest request;
  request.set_name(job.name());
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  const auto open = [&] {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    net::SetDeadline(*contexts.back(), kPatience);
    return jobs_->WatchEvents(contexts.back().get(), request);
  };
  auto first = open();
  auto second = open();
  v1::Event event;
  // Open for certain once something came.
  ASSERT_TRUE(first->Read(&event));
  ASSERT_TRUE(second->Read(&event));
  const auto refused = open();
  while (refused->Read(&event)) {
  }
  const absl::Status status = wire::FromGrpc(refused->Finish());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(wire::RetryDelay(status), absl::Seconds(5));
  // The others are not disturbed, and their end makes room.
  ASSERT_TRUE(Cancel(job.name()).ok());
  while (first->Read(&event)) {
  }
  EXPECT_TRUE(first->Finish().ok());
  while (second->Read(&event)) {
  }
  EXPECT_TRUE(second->Finish().ok());
  absl::Status again = absl::ResourceExhaustedError("");
  // The server notices the end of a stream a moment after its client.
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::IsResourceExhausted(again) && absl::Now() < deadline) {
    const auto reader = open();
    while (reader->Read(&event)) {
    }
    again = wire::FromGrpc(reader->Finish());
  }
  EXPECT_TRUE(again.ok()) << again;
}

TEST_F(OverloadTest, MoreUnfinishedJobsThanMayBeAreRefused) {
  const v1::Job first = MustSubmit();
  MustSubmit();
  const auto refused = Submit(MakeSpec());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(wire::RetryDelay(refused.status()).has_value());
  ASSERT_TRUE(Cancel(first.name()).ok());
  EXPECT_TRUE(Submit(MakeSpec()).ok());
}

}  // namespace
}  // namespace epochd::api
