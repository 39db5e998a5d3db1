// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/grpc_transport.h"

#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/epochd/v1/agent.grpc.pb.h"

namespace epochd::agent {
namespace {

using ::testing::ElementsAre;

v1::DesiredState FullState() {
  v1::DesiredState state;
  state.set_version(7);
  v1::DesiredAttempt& attempt = *state.add_attempts();
  attempt.set_attempt("jobs/7f3a/attempts/2");
  attempt.set_run(true);
  attempt.mutable_stop_grace()->set_seconds(12);
  attempt.set_world_size(3);
  for (const int rank : {2, 1}) {
    v1::RankPlacement& placement = *attempt.add_ranks();
    placement.set_rank(rank);
    placement.set_worker("workers/w");
    placement.add_devices(absl::StrCat("cpu:", rank));
  }
  attempt.set_rendezvous("node-b:1");
  attempt.add_resume()->set_path("/c/2");
  attempt.add_resume()->set_path("/c/1");
  attempt.mutable_self_fence_after()->set_seconds(96);
  attempt.set_start(true);
  v1::JobSpec& spec = *attempt.mutable_spec();
  spec.set_display_name("digits");
  spec.mutable_resources()->set_cpus(4);
  spec.mutable_resources()->set_device(v1::DEVICE_KIND_GPU);
  spec.mutable_resources()->set_memory_bytes(1 << 30);
  spec.mutable_checkpoints()->mutable_every()->set_steps(50);
  spec.mutable_checkpoints()->set_keep_last(9);
  spec.mutable_limits()->mutable_hang_after()->set_seconds(1800);
  spec.set_experiment_json("{\"seed\": 1}");
  (*spec.mutable_env())["A"] = "b";
  v1::FileRef& file = *spec.add_files();
  file.set_path("train.py");
  file.set_sha256("00");
  file.set_size_bytes(3);
  file.set_executable(true);
  // Names that are none must not become folders.
  state.add_attempts()->set_attempt("jobs/../attempts/1");
  state.add_attempts()->set_attempt("jobs/x");
  return state;
}

// Answers with what a test set, and keeps what it was sent.
class Service final : public v1::AgentService::Service {
 public:
  grpc::Status Register(grpc::ServerContext*,
                        const v1::RegisterRequest* request,
                        v1::RegisterResponse* response) override {
    registered = *request;
    response->mutable_heartbeat_interval()->set_seconds(3);
    *response->mutable_desired() = FullState();
    return grpc::Status::OK;
  }
  grpc::Status Heartbeat(grpc::ServerContext*,
                         const v1::HeartbeatRequest* request,
                         v1::HeartbeatResponse*) override {
    heartbeat = *request;
    return grpc::Status(grpc::StatusCode::ABORTED, "newer");
  }
  grpc::Status WatchDesired(
      grpc::ServerContext* context, const v1::WatchDesiredRequest*,
      grpc::ServerWriter<v1::DesiredState>* writer) override {
    v1::DesiredState state;
    for (const int version : {1, 2}) {
      state.set_version(version);
      writer->Write(state);
    }
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  }
  grpc::Status ReportEvents(grpc::ServerContext*,
                            const v1::ReportEventsRequest* request,
                            v1::ReportEventsResponse* response) override {
    response->set_next_offset(request->offset() +
                              static_cast<int64_t>(request->lines().size()));
    return grpc::Status::OK;
  }
  grpc::Status ReportLogs(grpc::ServerContext*,
                          const v1::ReportLogsRequest* request,
                          v1::ReportLogsResponse* response) override {
    log = request->data();
    response->set_next_offset(5);
    response->set_full(true);
    return grpc::Status::OK;
  }
  grpc::Status FetchFile(
      grpc::ServerContext*, const v1::FetchFileRequest*,
      grpc::ServerWriter<v1::FetchFileResponse>* writer) override {
    v1::FetchFileResponse piece;
    for (const char* data : {"one ", "two"}) {
      piece.set_data(data);
      writer->Write(piece);
    }
    return grpc::Status::OK;
  }

  v1::RegisterRequest registered;
  v1::HeartbeatRequest heartbeat;
  std::string log;
};

class GrpcTransportTest : public ::testing::Test {
 protected:
  GrpcTransportTest() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    net::ChannelOptions options;
    options.server = absl::StrCat("127.0.0.1:", port);
    transport_ = MakeGrpcTransport(options).value();
    worker_.name = "w";
    worker_.incarnation = "one";
  }
  ~GrpcTransportTest() override { transport_->Shutdown(); }

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Transport> transport_;
  WorkerInfo worker_;
};

TEST_F(GrpcTransportTest, RegistersWithEverythingAndReadsWhatIsDesired) {
  worker_.boot_id = "boot";
  worker_.labels = {{"zone", "a"}};
  worker_.devices = {{.id = "GPU-1",
                      .kind = DeviceKind::kGpu,
                      .model = "H200",
                      .memory_bytes = 5}};
  worker_.catalogue_json = "{}";
  worker_.folder_id = "folder";
  const ObservedAttempt attempt_seen{.name = "jobs/a/attempts/1",
                                     .state = AttemptState::kEnded,
                                     .ranks = {{.rank = 1, .exit_code = 70}},
                                     .reason = AttemptReason::kOomHost,
                                     .message = "m",
                                     .drained = true,
                                     .ready = true,
                                     .acknowledged_bytes = 9,
                                     .problems = {"p"},
                                     .lost_peers = true};
  const auto answer = transport_->Register(
      worker_,
      {.attempts = {attempt_seen}, .stopping = true, .not_ready = "full"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->heartbeat_interval, absl::Seconds(3));

  const v1::RegisterRequest& sent = service_.registered;
  EXPECT_EQ(sent.sequence(), 1);
  EXPECT_EQ(sent.devices(0).kind(), v1::DEVICE_KIND_GPU);
  EXPECT_EQ(sent.labels().at("zone"), "a");
  EXPECT_EQ(sent.observed(0).state(), v1::ATTEMPT_STATE_ENDED);
  EXPECT_EQ(sent.observed(0).reason(), v1::ATTEMPT_REASON_OOM_HOST);
  EXPECT_EQ(sent.observed(0).ranks(0).exit_code(), 70);
  EXPECT_FALSE(sent.observed(0).ranks(0).has_term_signal());
  EXPECT_TRUE(sent.observed(0).drained());
  EXPECT_TRUE(sent.observed(0).ready());
  EXPECT_EQ(sent.observed(0).acknowledged_bytes(), 9);
  EXPECT_EQ(sent.observed(0).problems(0), "p");
  EXPECT_EQ(sent.work_dir_id(), "folder");
  EXPECT_TRUE(sent.observed(0).lost_peers());
  EXPECT_TRUE(sent.stopping());
  EXPECT_EQ(sent.not_ready(), "full");

  ASSERT_EQ(answer->desired.attempts.size(), 1U);
  const DesiredAttempt& attempt = answer->desired.attempts[0];
  EXPECT_EQ(attempt.name, "jobs/7f3a/attempts/2");
  EXPECT_TRUE(attempt.start);
  EXPECT_EQ(attempt.files.at(0).path, "train.py");
  EXPECT_TRUE(attempt.files.at(0).executable);
  const link::AttemptSpec& spec = attempt.spec;
  EXPECT_EQ(spec.job, "7f3a");
  EXPECT_EQ(spec.attempt, 2);
  EXPECT_EQ(spec.job_name, "digits");
  EXPECT_EQ(spec.world_size, 3);
  EXPECT_EQ(spec.local_world_size, 2);
  EXPECT_EQ(spec.ranks.at(0).rank, 1);
  EXPECT_EQ(spec.ranks.at(1).local_rank, 1);
  EXPECT_THAT(spec.ranks.at(1).devices, ElementsAre("cpu:2"));
  EXPECT_EQ(spec.device, "gpu");
  EXPECT_EQ(spec.cpus, 4);
  EXPECT_EQ(spec.memory_bytes, 1 << 30);
  EXPECT_EQ(spec.rendezvous, "node-b:1");
  EXPECT_THAT(spec.resume, ElementsAre("/c/2", "/c/1"));
  EXPECT_EQ(spec.checkpoints.every.steps, 50);
  EXPECT_EQ(spec.checkpoints.keep_last, 9);
  EXPECT_EQ(spec.checkpoints.keep_best, 1);
  EXPECT_EQ(spec.self_fence_after, 96);
  EXPECT_EQ(spec.stop_grace, 12);
  EXPECT_EQ(spec.hang_after, 1800);
  EXPECT_EQ(spec.experiment_json, "{\"seed\": 1}");
  EXPECT_EQ(spec.env.at("A"), "b");
}

TEST_F(GrpcTransportTest, CountsItsCallsAndKeepsCodes) {
  ASSERT_TRUE(transport_->Register(worker_, {}).ok());
  EXPECT_EQ(transport_->Heartbeat(worker_, {}).status().code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(service_.heartbeat.sequence(), 2);
  EXPECT_FALSE(service_.heartbeat.stopping());
}

TEST_F(GrpcTransportTest, CarriesLinesAndAnyLogBytes) {
  EXPECT_EQ(
      *transport_->ReportEvents(worker_, "jobs/a/attempts/1", 0, 10, "{}\n"),
      13);
  const std::string bytes("a\0\xff\xe2", 4);
  const auto answer =
      transport_->ReportLogs(worker_, "jobs/a/attempts/1", 0, 1, bytes);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(service_.log, bytes);
  EXPECT_TRUE(answer->full);
}

TEST_F(GrpcTransportTest, FetchesAFileInPiecesAndEndsWhenTold) {
  std::string content;
  EXPECT_TRUE(transport_
                  ->FetchFile("00",
                              [&](std::string_view data) {
                                content += data;
                                return true;
                              })
                  .ok());
  EXPECT_EQ(content, "one two");
  int pieces = 0;
  EXPECT_EQ(transport_
                ->FetchFile("00",
                            [&](std::string_view) {
                              ++pieces;
                              return pieces < 0;
                            })
                .code(),
            absl::StatusCode::kCancelled);
}

TEST_F(GrpcTransportTest, ShutdownEndsAWatch) {
  std::vector<int64_t> versions;
  const absl::Status status =
      transport_->WatchDesired(worker_, [&](const DesiredState& state) {
        versions.push_back(state.version);
        if (state.version == 2) transport_->Shutdown();
      });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(versions, ElementsAre(1, 2));
  EXPECT_EQ(transport_->Register(worker_, {}).status().code(),
            absl::StatusCode::kCancelled);
}

TEST_F(GrpcTransportTest, ACoordinatorThatIsNotThereIsUnavailable) {
  net::ChannelOptions options;
  options.server = "127.0.0.1:1";
  transport_ = MakeGrpcTransport(options).value();
  EXPECT_EQ(transport_->Register(worker_, {}).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace epochd::agent
