// SPDX-License-Identifier: Apache-2.0
//
// What callers are told when a call makes no sense, when a job has been removed
// and when the store takes nothing.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>

#include "proto/wire/status.h"
#include "tests/server/api/service_fixture.h"
#include "tests/server/control/rig.h"

namespace epochd::api {
namespace {

using Code = absl::StatusCode;

class RefusalsTest : public ServiceTest {
 protected:
  // One call that asks for one answer.
  template <typename Stub, typename Request, typename Response>
  absl::Status Call(Stub& stub,
                    grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                 const Request&, Response*),
                    const Request& request) {
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    Response response;
    return wire::FromGrpc((stub.*method)(&context, request, &response));
  }
  // Reads a stream to its end.
  template <typename Message>
  static absl::Status Drain(grpc::ClientReader<Message>& reader) {
    Message message;
    while (reader.Read(&message)) {
    }
    return wire::FromGrpc(reader.Finish());
  }
  // What every call about a job of this name is answered with, by method.
  std::map<std::string, absl::Status> CallsAbout(const std::string& name) {
    std::map<std::string, absl::Status> answers;
    using Stub = v1::JobService::Stub;
    v1::GetJobRequest get;
    get.set_name(name);
    answers["GetJob"] = Call(*jobs_, &Stub::GetJob, get);
    v1::CancelJobRequest cancel;
    cancel.set_name(name);
    answers["CancelJob"] = Call(*jobs_, &Stub::CancelJob, cancel);
    v1::DeleteJobRequest del;
    del.set_name(name);
    answers["DeleteJob"] = Call(*jobs_, &Stub::DeleteJob, del);
    v1::ListEventsRequest events;
    events.set_name(name);
    answers["ListEvents"] = Call(*jobs_, &Stub::ListEvents, events);
    v1::ListCheckpointsRequest checkpoints;
    checkpoints.set_name(name);
    answers["ListCheckpoints"] =
        Call(*jobs_, &Stub::ListCheckpoints, checkpoints);
    {
      grpc::ClientContext context;
      net::SetDeadline(context, kPatience);
      v1::WatchEventsRequest request;
      request.set_name(name);
      answers["WatchEvents"] = Drain(*jobs_->WatchEvents(&context, request));
    }
    for (const bool follow : {false, true}) {
      grpc::ClientContext context;
      net::SetDeadline(context, kPatience);
      v1::ReadLogsRequest request;
      request.set_name(name);
      request.set_follow(follow);
      answers[follow ? "ReadLogs, follow" : "ReadLogs"] =
          Drain(*jobs_->ReadLogs(&context, request));
    }
    return answers;
  }
};

TEST_F(RefusalsTest, EveryCallRefusesWhatIsNoName) {
  for (const char* name : {"", "jobs/", "jobs/x", "workers/a", "jobs/../a"}) {
    for (const auto& [method, status] : CallsAbout(name)) {
      EXPECT_EQ(status.code(), Code::kInvalidArgument) << method << " " << name;
      const auto violations = wire::Violations(status);
      ASSERT_EQ(violations.size(), 1u) << method;
      EXPECT_EQ(violations[0].field, "name") << method;
    }
  }
}

TEST_F(RefusalsTest, EveryCallSaysThatAJobIsNotThere) {
  const std::string name = job::JobId(1, 2).ResourceName();
  for (const auto& [method, status] : CallsAbout(name)) {
    EXPECT_EQ(status.code(), Code::kNotFound) << method << ": " << status;
    EXPECT_NE(std::string(status.message()).find(name), std::string::npos)
        << method << ": " << status;
  }
}

TEST_F(RefusalsTest, WorkersAreNamedFoundOrNot) {
  using Stub = v1::WorkerService::Stub;
  v1::GetWorkerRequest get;
  v1::DrainWorkerRequest drain;
  get.set_name("n1");
  drain.set_name("n1");
  EXPECT_EQ(Call(*workers_, &Stub::GetWorker, get).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Call(*workers_, &Stub::DrainWorker, drain).code(),
            Code::kInvalidArgument);
  get.set_name("workers/n1");
  drain.set_name("workers/n1");
  EXPECT_EQ(Call(*workers_, &Stub::GetWorker, get).code(), Code::kNotFound);
  EXPECT_EQ(Call(*workers_, &Stub::DrainWorker, drain).code(), Code::kNotFound);
  drain.set_undo(true);
  EXPECT_EQ(Call(*workers_, &Stub::DrainWorker, drain).code(), Code::kNotFound);
  v1::ListWorkersRequest list;
  list.set_page_token("not one");
  EXPECT_EQ(Call(*workers_, &Stub::ListWorkers, list).code(),
            Code::kInvalidArgument);
  list.clear_page_token();
  list.set_page_size(-1);
  EXPECT_EQ(Call(*workers_, &Stub::ListWorkers, list).code(),
            Code::kInvalidArgument);
}

TEST_F(RefusalsTest, RequestIdsAreShortAndVisible) {
  for (const std::string& id : {std::string(129, 'x'), std::string("a b"),
                                std::string("a\n"), std::string("\xc3\xa4")}) {
    const auto submitted = Submit(MakeSpec(), id);
    EXPECT_EQ(submitted.status().code(), Code::kInvalidArgument) << id;
    EXPECT_EQ(wire::Violations(submitted.status())[0].field, "request_id");
    v1::DeleteJobRequest del;
    del.set_name(job::JobId(1, 2).ResourceName());
    del.set_request_id(id);
    EXPECT_EQ(Call(*jobs_, &v1::JobService::Stub::DeleteJob, del).code(),
              Code::kInvalidArgument);
  }
  EXPECT_TRUE(Submit(MakeSpec(), std::string(128, 'x')).ok());
}

TEST_F(RefusalsTest, AnUnfinishedJobCannotBeDeleted) {
  const v1::Job job = MustSubmit();
  v1::DeleteJobRequest del;
  del.set_name(job.name());
  EXPECT_EQ(Call(*jobs_, &v1::JobService::Stub::DeleteJob, del).code(),
            Code::kFailedPrecondition);
  EXPECT_TRUE(Get(job.name()).ok());
}

class RemovedJobTest : public RefusalsTest {
 protected:
  RemovedJobTest() { control_options_.finished_job_ttl = absl::ZeroDuration(); }
};

TEST_F(RemovedJobTest, EveryCallSaysThatItIsNotThere) {  // P-25
  const v1::Job job = MustSubmit();
  ASSERT_TRUE(Cancel(job.name()).ok());
  const absl::Time deadline = absl::Now() + kPatience;
  while (Get(job.name()).ok()) ASSERT_LT(absl::Now(), deadline);
  for (const auto& [method, status] : CallsAbout(job.name())) {
    EXPECT_EQ(status.code(), Code::kNotFound) << method << ": " << status;
  }
  v1::ListJobsResponse listed;
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  ASSERT_TRUE(jobs_->ListJobs(&context, {}, &listed).ok());
  EXPECT_EQ(listed.jobs_size(), 0);
}

// A coordinator whose store fails when told.
class StoreFailureTest : public RefusalsTest {
 protected:
  StoreFailureTest() : failing_(store_) { used_store_ = &failing_; }

  control::FailingStore failing_;
};

TEST_F(StoreFailureTest, AFullDiskRefusesChangesWithATimeToComeAgain) {
  const v1::Job job = MustSubmit();
  FakeAgent agent(Connect(), "worker-a");
  failing_.FailWith(absl::ResourceExhaustedError("disk full"));
  const auto submitted = Submit(MakeSpec(), "again");
  EXPECT_EQ(submitted.status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(wire::RetryDelay(submitted.status()).has_value());
  EXPECT_EQ(Cancel(job.name()).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(agent.Register(1).code(), Code::kResourceExhausted);
  // What was kept can be read.
  EXPECT_EQ(Get(job.name())->state(), v1::JOB_STATE_QUEUED);
  EXPECT_FALSE(controller_->StoreStatus().ok());
  failing_.FailWith(absl::OkStatus());
  EXPECT_TRUE(Submit(MakeSpec(), "again").ok());
  EXPECT_TRUE(Cancel(job.name()).ok());
  EXPECT_TRUE(controller_->StoreStatus().ok());
}

TEST_F(StoreFailureTest, LeasesGoOnWhileTheDiskIsFull) {
  FakeAgent agent(Connect(), "worker-a");
  ASSERT_TRUE(agent.Register(1).ok());
  failing_.FailWith(absl::ResourceExhaustedError("disk full"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(agent.Heartbeat().ok());
  failing_.FailWith(absl::OkStatus());
}

class BrokenStoreTest : public StoreFailureTest {
 protected:
  BrokenStoreTest() {
    control_options_.on_fatal = [this](const absl::Status&) { ++num_fatal_; };
  }
  std::atomic<int> num_fatal_ = 0;
};

TEST_F(BrokenStoreTest, ABrokenDiskEndsEveryChangeAsUnavailable) {
  const v1::Job job = MustSubmit();
  failing_.FailWith(absl::InternalError("fsync failed"));
  Submit(MakeSpec()).status().IgnoreError();
  EXPECT_EQ(num_fatal_, 1);
  failing_.FailWith(absl::OkStatus());
  // A sync that failed once is never trusted again.
  v1::CancelJobRequest request;
  request.set_name(job.name());
  const auto status = Call(*jobs_, &v1::JobService::Stub::CancelJob, request);
  EXPECT_EQ(status.code(), Code::kUnavailable) << status;
  EXPECT_EQ(num_fatal_, 1) << "told once";
  EXPECT_TRUE(Get(job.name()).ok());
}

}  // namespace
}  // namespace epochd::api
