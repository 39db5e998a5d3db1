// SPDX-License-Identifier: Apache-2.0
#include "server/api/watch_events.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "proto/wire/status.h"
#include "tests/server/api/service_fixture.h"

namespace epochd::api {
namespace {

class WatchEventsTest : public ServiceTest {
 protected:
  struct Watch {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::Event>> reader;
  };

  std::unique_ptr<Watch> Open(const std::string& name, int64_t after = 0,
                              bool without_progress = false) {
    auto watch = std::make_unique<Watch>();
    net::SetDeadline(watch->context, kPatience);
    v1::WatchEventsRequest request;
    request.set_name(name);
    request.set_after(after);
    request.set_without_progress(without_progress);
    watch->reader = jobs_->WatchEvents(&watch->context, request);
    return watch;
  }

  // All events to the end of the stream, which has to be OK.
  std::vector<v1::Event> ReadAll(const std::string& name, int64_t after = 0) {
    const auto watch = Open(name, after, /*without_progress=*/true);
    std::vector<v1::Event> events;
    v1::Event event;
    while (watch->reader->Read(&event)) events.push_back(event);
    const grpc::Status status = watch->reader->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return events;
  }

  absl::Status Status(Watch& watch) {
    v1::Event event;
    while (watch.reader->Read(&event)) {
    }
    return wire::FromGrpc(watch.reader->Finish());
  }
};

TEST_F(WatchEventsTest, ReplaysDenseSequencesFromAnyAndEnds) {
  FakeAgent agent(Connect(), "worker-a");
  ASSERT_TRUE(agent.Register(1).ok());
  const v1::Job job = RunToSuccess(agent);
  const auto all = ReadAll(job.name());
  ASSERT_EQ(static_cast<int64_t>(all.size()), job.last_sequence());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].sequence(), static_cast<int64_t>(i) + 1);
  }
  EXPECT_EQ(all.front().job_state().state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(all.back().job_state().state(), v1::JOB_STATE_SUCCEEDED);
  for (int64_t after = 1; after <= job.last_sequence(); ++after) {
    const auto rest = ReadAll(job.name(), after);
    ASSERT_EQ(static_cast<int64_t>(rest.size()), job.last_sequence() - after);
    if (!rest.empty()) {
      EXPECT_EQ(rest.front().sequence(), after + 1);
    }
  }
}

TEST_F(WatchEventsTest, GoesOnLive) {
  FakeAgent agent(Connect(), "worker-a");
  ASSERT_TRUE(agent.Register(1).ok());
  const v1::Job job = MustSubmit();
  const auto watch = Open(job.name());
  v1::Event event;
  ASSERT_TRUE(watch->reader->Read(&event));
  EXPECT_EQ(event.sequence(), 1);
  const std::string attempt = agent.WaitForAttempt(job.name());
  agent.Run(attempt);
  agent.Report(attempt,
               R"({"type": "first_step", "time": 1, "rank": 0, "step": 1})");
  while (!event.has_first_step()) ASSERT_TRUE(watch->reader->Read(&event));
  EXPECT_EQ(event.first_step().step(), 1);
  EXPECT_EQ(event.attempt(), 1);
  agent.Report(attempt,
               R"({"type": "progress", "time": 1, "rank": 0, "epoch": 1,)"
               R"( "batch": 7, "loss": 0.25})");
  while (!event.has_progress()) ASSERT_TRUE(watch->reader->Read(&event));
  EXPECT_EQ(event.sequence(), 0);
  EXPECT_EQ(event.progress().batch(), 7);
  agent.End(attempt, v1::ATTEMPT_REASON_COMPLETED);
  EXPECT_TRUE(Status(*watch).ok());
}

TEST_F(WatchEventsTest, RefusesBadNamesUnknownJobsAndNegativeCursors) {
  EXPECT_EQ(Status(*Open("nonsense")).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Status(*Open("jobs/00000000000000000000000001")).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(Status(*Open(MustSubmit().name(), -1)).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(WatchEventsTest, ClientMayLeaveAtAnyTime) {
  const v1::Job job = MustSubmit();
  for (int i = 0; i < 50; ++i) {
    const auto watch = Open(job.name());
    v1::Event event;
    if (i % 2 == 0) {
      ASSERT_TRUE(watch->reader->Read(&event));
    }
    watch->context.TryCancel();
    EXPECT_EQ(Status(*watch).code(), absl::StatusCode::kCancelled);
  }
  EXPECT_TRUE(Get(job.name()).ok());
}

TEST_F(WatchEventsTest, StoppingServerEndsStreamsAsUnavailable) {
  const v1::Job job = MustSubmit();
  std::vector<std::unique_ptr<Watch>> watches;
  v1::Event event;
  for (int i = 0; i < 20; ++i) {
    watches.push_back(Open(job.name()));
    ASSERT_TRUE(watches.back()->reader->Read(&event));
  }
  std::thread stopper([&] { server_->Stop(kPatience); });
  for (const auto& watch : watches) {
    EXPECT_EQ(Status(*watch).code(), absl::StatusCode::kUnavailable);
  }
  stopper.join();
}

TEST_F(WatchEventsTest, ListEventsPagesTheSameJournal) {
  FakeAgent agent(Connect(), "worker-a");
  ASSERT_TRUE(agent.Register(1).ok());
  const v1::Job job = RunToSuccess(agent);
  std::vector<int64_t> sequences;
  v1::ListEventsRequest request;
  request.set_name(job.name());
  request.set_page_size(2);
  do {
    v1::ListEventsResponse response;
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    ASSERT_TRUE(jobs_->ListEvents(&context, request, &response).ok());
    ASSERT_LE(response.events_size(), 2);
    for (const v1::Event& listed : response.events()) {
      sequences.push_back(listed.sequence());
    }
    request.set_after(response.next_after());
  } while (request.after() != 0);
  ASSERT_EQ(static_cast<int64_t>(sequences.size()), job.last_sequence());
  EXPECT_EQ(sequences.back(), job.last_sequence());
}

}  // namespace
}  // namespace epochd::api
