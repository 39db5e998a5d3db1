// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/grpc_transport.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "proto/epochd/v1/agent.grpc.pb.h"
#include "proto/wire/status.h"
#include "proto/wire/time.h"

namespace epochd::agent {
namespace {

// Files are at most some MiB; slow links are fine.
constexpr absl::Duration kFetchDeadline = absl::Minutes(10);

v1::AttemptState ToProto(AttemptState state) {
  switch (state) {
    case AttemptState::kStarting:
      return v1::ATTEMPT_STATE_STARTING;
    case AttemptState::kRunning:
      return v1::ATTEMPT_STATE_RUNNING;
    case AttemptState::kStopping:
      return v1::ATTEMPT_STATE_STOPPING;
    case AttemptState::kEnded:
      return v1::ATTEMPT_STATE_ENDED;
  }
  return v1::ATTEMPT_STATE_UNSPECIFIED;
}

struct ReasonPair {
  AttemptReason plain;
  v1::AttemptReason wire;
};
constexpr ReasonPair kReasons[] = {
    {AttemptReason::kUnspecified, v1::ATTEMPT_REASON_UNSPECIFIED},
    {AttemptReason::kCompleted, v1::ATTEMPT_REASON_COMPLETED},
    {AttemptReason::kCancelled, v1::ATTEMPT_REASON_CANCELLED},
    {AttemptReason::kStoppedWithCheckpoint,
     v1::ATTEMPT_REASON_STOPPED_WITH_CHECKPOINT},
    {AttemptReason::kBadSpec, v1::ATTEMPT_REASON_BAD_SPEC},
    {AttemptReason::kTrainingFailed, v1::ATTEMPT_REASON_TRAINING_FAILED},
    {AttemptReason::kRankLost, v1::ATTEMPT_REASON_RANK_LOST},
    {AttemptReason::kWorkerLost, v1::ATTEMPT_REASON_WORKER_LOST},
    {AttemptReason::kHang, v1::ATTEMPT_REASON_HANG},
    {AttemptReason::kOomHost, v1::ATTEMPT_REASON_OOM_HOST},
    {AttemptReason::kStartFailed, v1::ATTEMPT_REASON_START_FAILED},
    {AttemptReason::kTimeLimit, v1::ATTEMPT_REASON_TIME_LIMIT},
};

v1::AttemptReason ToProto(AttemptReason reason) {
  for (const ReasonPair& pair : kReasons) {
    if (pair.plain == reason) return pair.wire;
  }
  return v1::ATTEMPT_REASON_UNSPECIFIED;
}

// A reason that a newer coordinator knows and we do not is a wish to stop all
// the same.
AttemptReason FromProto(v1::AttemptReason reason) {
  for (const ReasonPair& pair : kReasons) {
    if (pair.wire == reason) return pair.plain;
  }
  return AttemptReason::kUnspecified;
}

template <typename Repeated>
void FillObserved(const std::vector<ObservedAttempt>& observed,
                  Repeated* list) {
  for (const ObservedAttempt& attempt : observed) {
    v1::ObservedAttempt& out = *list->Add();
    out.set_attempt(attempt.name);
    out.set_state(ToProto(attempt.state));
    out.set_rendezvous(attempt.rendezvous);
    out.set_reason(ToProto(attempt.reason));
    out.set_message(attempt.message);
    out.set_drained(attempt.drained);
    out.set_ready(attempt.ready);
    out.set_acknowledged_bytes(attempt.acknowledged_bytes);
    out.set_lost_peers(attempt.lost_peers);
    for (const std::string& problem : attempt.problems) {
      out.add_problems(problem);
    }
    for (const ObservedRank& rank : attempt.ranks) {
      v1::ObservedRank& out_rank = *out.add_ranks();
      out_rank.set_rank(rank.rank);
      out_rank.set_running(rank.running);
      if (rank.exit_code) out_rank.set_exit_code(*rank.exit_code);
      if (rank.term_signal) out_rank.set_term_signal(*rank.term_signal);
    }
  }
}

link::CheckpointSpec CheckpointsFromProto(const v1::CheckpointPolicy& policy) {
  link::CheckpointSpec checkpoints;
  if (policy.has_keep_last()) checkpoints.keep_last = policy.keep_last();
  if (policy.has_keep_best()) checkpoints.keep_best = policy.keep_best();
  switch (policy.every().interval_case()) {
    case v1::Every::kEpochs:
      checkpoints.every.epochs = policy.every().epochs();
      break;
    case v1::Every::kSteps:
      checkpoints.every.steps = policy.every().steps();
      break;
    case v1::Every::kDuration:
      checkpoints.every.seconds =
          absl::ToDoubleSeconds(wire::FromProto(policy.every().duration()));
      break;
    case v1::Every::INTERVAL_NOT_SET:
      break;
  }
  return checkpoints;
}

// Ranks of this worker, numbered locally in rank order.
void FillRanks(const v1::DesiredAttempt& in, link::AttemptSpec& spec) {
  for (const v1::RankPlacement& placement : in.ranks()) {
    spec.ranks.push_back(
        {.rank = placement.rank(),
         .devices = {placement.devices().begin(), placement.devices().end()}});
  }
  std::sort(spec.ranks.begin(), spec.ranks.end(),
            [](const link::RankSpec& a, const link::RankSpec& b) {
              return a.rank < b.rank;
            });
  for (size_t i = 0; i < spec.ranks.size(); ++i) {
    spec.ranks[i].local_rank = static_cast<int>(i);
  }
  spec.local_world_size = static_cast<int>(spec.ranks.size());
}

// False: the name is not jobs/{job}/attempts/{n}.
bool FillName(const std::string& name, link::AttemptSpec& spec) {
  const std::vector<std::string> parts = absl::StrSplit(name, '/');
  if (parts.size() != 4 || parts[1].empty() || parts[1].front() == '.') {
    return false;
  }
  spec.job = parts[1];
  return absl::SimpleAtoi(parts[3], &spec.attempt);
}

bool FillAttempt(const v1::DesiredAttempt& in, DesiredAttempt& out) {
  const v1::JobSpec& job = in.spec();
  out.name = in.attempt();
  out.run = in.run();
  out.start = in.start();
  out.stop_reason = FromProto(in.stop_reason());
  link::AttemptSpec& spec = out.spec;
  if (!FillName(in.attempt(), spec)) return false;
  spec.job_name = job.display_name();
  spec.world_size = std::max(in.world_size(), 1);
  FillRanks(in, spec);
  spec.device = job.resources().device() == v1::DEVICE_KIND_GPU ? "gpu" : "cpu";
  spec.cpus = std::max(job.resources().cpus(), 1);
  spec.memory_bytes = job.resources().memory_bytes();
  spec.rendezvous = in.rendezvous();
  spec.storage = job.storage();
  for (const v1::Checkpoint& checkpoint : in.resume()) {
    spec.resume.push_back(checkpoint.path());
  }
  spec.checkpoints = CheckpointsFromProto(job.checkpoints());
  spec.hang_after =
      absl::ToDoubleSeconds(wire::FromProto(job.limits().hang_after()));
  spec.self_fence_after =
      absl::ToDoubleSeconds(wire::FromProto(in.self_fence_after()));
  if (in.has_stop_grace()) {
    spec.stop_grace = absl::ToDoubleSeconds(wire::FromProto(in.stop_grace()));
  }
  spec.experiment_json = job.experiment_json();
  spec.command = {job.command().argv().begin(), job.command().argv().end()};
  spec.env = {job.env().begin(), job.env().end()};
  for (const v1::FileRef& file : job.files()) {
    out.files.push_back({.path = file.path(),
                         .sha256 = file.sha256(),
                         .size_bytes = file.size_bytes(),
                         .executable = file.executable()});
  }
  return true;
}

DesiredState StateFromProto(const v1::DesiredState& in) {
  DesiredState state;
  state.version = in.version();
  for (const v1::DesiredAttempt& attempt : in.attempts()) {
    DesiredAttempt out;
    if (FillAttempt(attempt, out)) state.attempts.push_back(std::move(out));
  }
  return state;
}

class GrpcTransport final : public Transport {
 public:
  explicit GrpcTransport(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::AgentService::NewStub(channel)) {}

  absl::StatusOr<Registered> Register(const WorkerInfo& worker,
                                      const AgentReport& report) override {
    v1::RegisterRequest request;
    request.set_worker(worker.name);
    request.set_incarnation(worker.incarnation);
    request.set_boot_id(worker.boot_id);
    request.set_work_dir_id(worker.folder_id);
    request.set_hostname(worker.hostname);
    request.set_version(worker.version);
    for (const Device& device : worker.devices) {
      v1::Device& out = *request.add_devices();
      out.set_id(device.id);
      out.set_kind(device.kind == DeviceKind::kGpu ? v1::DEVICE_KIND_GPU
                                                   : v1::DEVICE_KIND_CPU);
      out.set_model(device.model);
      out.set_memory_bytes(device.memory_bytes);
    }
    request.mutable_labels()->insert(worker.labels.begin(),
                                     worker.labels.end());
    request.set_memory_bytes(worker.memory_bytes);
    request.set_catalogue_sha256(worker.catalogue_sha256);
    request.set_catalogue_json(worker.catalogue_json);
    FillObserved(report.attempts, request.mutable_observed());
    request.set_stopping(report.stopping);
    request.set_not_ready(report.not_ready);
    request.set_sequence(++sequence_);
    v1::RegisterResponse response;
    Call call(*this, net::kCallDeadline);
    const absl::Status status =
        wire::FromGrpc(stub_->Register(&call.context, request, &response));
    if (!status.ok()) return status;
    return Registered{
        .heartbeat_interval = wire::FromProto(response.heartbeat_interval()),
        .desired = StateFromProto(response.desired()),
        .cluster_id = response.cluster_id()};
  }

  absl::StatusOr<DesiredState> Heartbeat(const WorkerInfo& worker,
                                         const AgentReport& report) override {
    v1::HeartbeatRequest request;
    request.set_worker(worker.name);
    request.set_incarnation(worker.incarnation);
    FillObserved(report.attempts, request.mutable_observed());
    request.set_stopping(report.stopping);
    request.set_not_ready(report.not_ready);
    request.set_sequence(++sequence_);
    v1::HeartbeatResponse response;
    Call call(*this, net::kCallDeadline);
    const absl::Status status =
        wire::FromGrpc(stub_->Heartbeat(&call.context, request, &response));
    if (!status.ok()) return status;
    return StateFromProto(response.desired());
  }

  absl::Status WatchDesired(
      const WorkerInfo& worker,
      const std::function<void(DesiredState)>& changed) override {
    v1::WatchDesiredRequest request;
    request.set_worker(worker.name);
    request.set_incarnation(worker.incarnation);
    Call call(*this, absl::InfiniteDuration());
    const auto reader = stub_->WatchDesired(&call.context, request);
    v1::DesiredState state;
    while (reader->Read(&state)) changed(StateFromProto(state));
    return wire::FromGrpc(reader->Finish());
  }

  absl::StatusOr<int64_t> ReportEvents(const WorkerInfo& worker,
                                       const std::string& attempt, int rank,
                                       int64_t offset,
                                       std::string lines) override {
    v1::ReportEventsRequest request;
    request.set_worker(worker.name);
    request.set_incarnation(worker.incarnation);
    request.set_attempt(attempt);
    request.set_rank(rank);
    request.set_offset(offset);
    request.set_lines(std::move(lines));
    v1::ReportEventsResponse response;
    Call call(*this, net::kCallDeadline);
    const absl::Status status =
        wire::FromGrpc(stub_->ReportEvents(&call.context, request, &response));
    if (!status.ok()) return status;
    return response.next_offset();
  }

  absl::StatusOr<LogAnswer> ReportLogs(const WorkerInfo& worker,
                                       const std::string& attempt, int rank,
                                       int64_t offset,
                                       std::string data) override {
    v1::ReportLogsRequest request;
    request.set_worker(worker.name);
    request.set_incarnation(worker.incarnation);
    request.set_attempt(attempt);
    request.set_rank(rank);
    request.set_offset(offset);
    request.set_data(std::move(data));
    v1::ReportLogsResponse response;
    Call call(*this, net::kCallDeadline);
    const absl::Status status =
        wire::FromGrpc(stub_->ReportLogs(&call.context, request, &response));
    if (!status.ok()) return status;
    return LogAnswer{.next_offset = response.next_offset(),
                     .full = response.full()};
  }

  absl::Status FetchFile(
      const std::string& sha256,
      const std::function<bool(std::string_view)>& sink) override {
    v1::FetchFileRequest request;
    request.set_sha256(sha256);
    Call call(*this, kFetchDeadline);
    const auto reader = stub_->FetchFile(&call.context, request);
    v1::FetchFileResponse piece;
    bool wanted = true;
    while (wanted && reader->Read(&piece)) wanted = sink(piece.data());
    if (!wanted) call.context.TryCancel();
    const absl::Status status = wire::FromGrpc(reader->Finish());
    return wanted ? status : absl::CancelledError("the receiver ended it");
  }

  void Shutdown() override {
    const absl::MutexLock lock(&mutex_);
    shut_down_ = true;
    for (grpc::ClientContext* context : active_) context->TryCancel();
  }

 private:
  // A context that Shutdown can cancel.
  struct Call {
    Call(GrpcTransport& owner, absl::Duration deadline) : transport(owner) {
      if (deadline != absl::InfiniteDuration()) {
        net::SetDeadline(context, deadline);
      }
      const absl::MutexLock lock(&transport.mutex_);
      transport.active_.insert(&context);
      if (transport.shut_down_) context.TryCancel();
    }
    ~Call() {
      const absl::MutexLock lock(&transport.mutex_);
      transport.active_.erase(&context);
    }
    GrpcTransport& transport;
    grpc::ClientContext context;
  };

  const std::unique_ptr<v1::AgentService::Stub> stub_;
  std::atomic<int64_t> sequence_{0};
  absl::Mutex mutex_;
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> active_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> MakeGrpcTransport(
    const net::ChannelOptions& options) {
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
      net::MakeChannel(options);
  if (!channel.ok()) return channel.status();
  return std::make_unique<GrpcTransport>(*channel);
}

}  // namespace epochd::agent
