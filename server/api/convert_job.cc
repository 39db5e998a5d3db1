// SPDX-License-Identifier: Apache-2.0
#include "server/api/convert_job.h"

#include <optional>
#include <variant>

#include "proto/wire/time.h"

namespace epochd::api {
namespace {

template <typename Map>
void CopyMap(const Map& from,
             google::protobuf::Map<typename Map::key_type,
                                   typename Map::mapped_type>* to) {
  to->insert(from.begin(), from.end());
}

void SetTime(const std::optional<absl::Time>& time,
             google::protobuf::Timestamp* (v1::Job::*field)(), v1::Job& out) {
  if (time) *(out.*field)() = wire::ToProto(*time);
}

v1::BestMetric ToProto(const job::BestMetric& best) {
  v1::BestMetric out;
  out.set_name(best.name);
  out.set_value(best.value);
  out.set_epoch(best.epoch);
  return out;
}

v1::Attempt ToProto(job::JobId id, const job::Attempt& attempt) {
  v1::Attempt out;
  out.set_name(job::AttemptId{id, attempt.number}.ResourceName());
  out.set_state(static_cast<v1::AttemptState>(attempt.state));
  out.set_reason(static_cast<v1::AttemptReason>(attempt.reason));
  out.set_message(attempt.message);
  *out.mutable_assign_time() = wire::ToProto(attempt.assign_time);
  if (attempt.start_time) {
    *out.mutable_start_time() = wire::ToProto(*attempt.start_time);
  }
  if (attempt.end_time) {
    *out.mutable_end_time() = wire::ToProto(*attempt.end_time);
  }
  for (const auto& rank : attempt.ranks) *out.add_ranks() = api::ToProto(rank);
  return out;
}

void FillResources(const job::Resources& from, v1::Resources* to) {
  to->mutable_replicas()->set_min(from.replicas.min);
  to->mutable_replicas()->set_max(from.replicas.max);
  to->set_device(static_cast<v1::DeviceKind>(from.device));
  to->set_cpus(from.cpus);
  to->set_memory_bytes(from.memory_bytes);
  for (const std::string& model : from.models) to->add_models(model);
  CopyMap(from.node_labels, to->mutable_node_labels());
  to->set_same_node(static_cast<v1::Placement>(from.same_node));
}

void FillRestart(const job::RestartPolicy& from, v1::RestartPolicy* to) {
  to->set_max(from.max);
  for (const job::AttemptReason reason : from.reasons) {
    to->add_reasons(static_cast<v1::AttemptReason>(reason));
  }
  *to->mutable_backoff() = wire::ToProto(from.backoff);
  *to->mutable_worker_lost_after() = wire::ToProto(from.worker_lost_after);
}

void FillCheckpoints(const job::CheckpointPolicy& from,
                     v1::CheckpointPolicy* to) {
  if (from.every.epochs > 0) {
    to->mutable_every()->set_epochs(from.every.epochs);
  } else if (from.every.steps > 0) {
    to->mutable_every()->set_steps(from.every.steps);
  } else if (from.every.duration > absl::ZeroDuration()) {
    *to->mutable_every()->mutable_duration() =
        wire::ToProto(from.every.duration);
  }
  to->set_keep_last(from.keep_last);
  to->set_keep_best(from.keep_best);
}

// Sets the body that stands for an event's.
class BodyWriter {
 public:
  BodyWriter(job::JobId id, v1::Event& out) : id_(id), out_(out) {}

  void operator()(const job::JobSubmitted&) {
    auto* to = out_.mutable_job_state();
    to->set_state(v1::JOB_STATE_QUEUED);
    to->set_reason(v1::JOB_REASON_SUBMITTED);
  }
  void operator()(const job::JobStateChanged& from) {
    auto* to = out_.mutable_job_state();
    to->set_state(static_cast<v1::JobState>(from.state));
    to->set_reason(static_cast<v1::JobReason>(from.reason));
    to->set_message(from.message);
  }
  void operator()(const job::AttemptStateChanged& from) {
    auto* to = out_.mutable_attempt_state();
    to->set_state(static_cast<v1::AttemptState>(from.state));
    to->set_reason(static_cast<v1::AttemptReason>(from.reason));
    to->set_message(from.message);
    for (const auto& rank : from.ranks) *to->add_ranks() = api::ToProto(rank);
  }
  void operator()(const job::TrainingBegan& from) {
    auto* to = out_.mutable_training_began();
    to->set_total_epochs(from.total_epochs);
    to->set_initial_epoch(from.initial_epoch);
    to->set_initial_batch(from.initial_batch);
    to->set_train_batches(from.train_batches);
    to->set_val_batches(from.val_batches);
    to->set_train_samples(from.train_samples);
    to->set_val_samples(from.val_samples);
    to->set_parameters(from.parameters);
    to->set_resumed_from(from.resumed_from);
  }
  void operator()(const job::FirstStep& from) {
    out_.mutable_first_step()->set_step(from.step);
  }
  void operator()(const job::EpochStarted& from) {
    out_.mutable_epoch_started()->set_epoch(from.epoch);
  }
  void operator()(const job::EpochFinished& from) {
    auto* to = out_.mutable_epoch_finished();
    to->set_epoch(from.epoch);
    CopyMap(from.metrics, to->mutable_metrics());
    CopyMap(from.learning_rates, to->mutable_learning_rates());
    *to->mutable_elapsed() = wire::ToProto(from.elapsed);
    to->set_samples_per_second(from.samples_per_second);
    to->set_step(from.step);
    *to->mutable_data_wait() = wire::ToProto(from.data_wait);
  }
  void operator()(const job::MetricsLogged& from) {
    auto* to = out_.mutable_metrics();
    to->set_epoch(from.epoch);
    to->set_step(from.step);
    CopyMap(from.metrics, to->mutable_metrics());
  }
  void operator()(const job::CheckpointSaved& from) {
    *out_.mutable_checkpoint_saved()->mutable_checkpoint() =
        api::ToProto(id_, from.checkpoint);
  }
  void operator()(const job::CheckpointRemoved& from) {
    *out_.mutable_checkpoint_saved()->mutable_checkpoint() =
        api::ToProto(id_, from.checkpoint);
  }
  void operator()(const job::TrainingEnded& from) {
    auto* to = out_.mutable_training_ended();
    to->set_outcome(static_cast<v1::TrainingEnded::Outcome>(from.outcome));
    to->set_message(from.message);
    to->set_epochs(from.epochs);
    if (from.best) *to->mutable_best() = ToProto(*from.best);
    CopyMap(from.outputs, to->mutable_outputs());
  }
  void operator()(const job::Notice& from) {
    auto* to = out_.mutable_notice();
    to->set_severity(static_cast<v1::Notice::Severity>(from.severity));
    to->set_text(from.text);
    to->set_rank(from.rank);
  }

 private:
  const job::JobId id_;
  v1::Event& out_;
};

}  // namespace

v1::JobSpec ToProto(const job::JobSpec& spec) {
  v1::JobSpec out;
  out.set_display_name(spec.display_name);
  out.set_project(spec.project);
  out.set_priority(spec.priority);
  CopyMap(spec.labels, out.mutable_labels());
  FillResources(spec.resources, out.mutable_resources());
  FillRestart(spec.restart, out.mutable_restart());
  if (spec.max_time != absl::InfiniteDuration()) {
    *out.mutable_limits()->mutable_max_time() = wire::ToProto(spec.max_time);
  }
  *out.mutable_limits()->mutable_hang_after() = wire::ToProto(spec.hang_after);
  out.set_storage(spec.storage);
  FillCheckpoints(spec.checkpoints, out.mutable_checkpoints());
  if (!spec.command.empty()) {
    for (const std::string& argument : spec.command) {
      out.mutable_command()->add_argv(argument);
    }
  } else {
    out.set_experiment_json(spec.experiment_json);
  }
  for (const job::FileRef& file : spec.files) {
    auto* to = out.add_files();
    to->set_path(file.path);
    to->set_sha256(file.sha256);
    to->set_size_bytes(file.size_bytes);
    to->set_executable(file.executable);
  }
  CopyMap(spec.env, out.mutable_env());
  return out;
}

v1::RankPlacement ToProto(const job::RankPlacement& rank) {
  v1::RankPlacement out;
  out.set_rank(rank.rank);
  out.set_worker(rank.worker.ResourceName());
  for (const std::string& device : rank.devices) out.add_devices(device);
  if (rank.exit_code) out.set_exit_code(*rank.exit_code);
  if (rank.term_signal) out.set_term_signal(*rank.term_signal);
  return out;
}

v1::Checkpoint ToProto(job::JobId id, const job::Checkpoint& checkpoint) {
  v1::Checkpoint out;
  out.set_path(checkpoint.path);
  out.set_attempt(job::AttemptId{id, checkpoint.attempt}.ResourceName());
  out.set_epoch(checkpoint.epoch);
  out.set_step(checkpoint.step);
  out.set_batch(checkpoint.batch);
  out.set_best(checkpoint.best);
  out.set_size_bytes(checkpoint.size_bytes);
  out.set_manifest_sha256(checkpoint.manifest_sha256);
  CopyMap(checkpoint.metrics, out.mutable_metrics());
  *out.mutable_create_time() = wire::ToProto(checkpoint.create_time);
  out.set_world_size(checkpoint.world_size);
  out.set_removed(checkpoint.removed);
  return out;
}

v1::Progress ToProto(const job::Progress& progress) {
  v1::Progress out;
  out.set_epoch(progress.epoch);
  out.set_total_epochs(progress.total_epochs);
  out.set_phase(progress.phase);
  out.set_batch(progress.batch);
  out.set_batches(progress.batches);
  out.set_step(progress.step);
  out.set_loss(progress.loss);
  out.set_samples_per_second(progress.samples_per_second);
  return out;
}

v1::Job ToProto(const control::JobView& view) {
  const job::Job& job = *view.job;
  v1::Job out;
  out.set_name(job.id.ResourceName());
  *out.mutable_spec() = ToProto(*job.spec);
  out.set_state(static_cast<v1::JobState>(job.state));
  out.set_reason(static_cast<v1::JobReason>(view.reason));
  out.set_message(view.message);
  *out.mutable_create_time() = wire::ToProto(job.create_time);
  SetTime(job.start_time, &v1::Job::mutable_start_time, out);
  SetTime(job.end_time, &v1::Job::mutable_end_time, out);
  out.set_attempt(job.CurrentAttempt().value());
  for (const job::Attempt& attempt : job.attempts) {
    *out.add_attempts() = ToProto(job.id, attempt);
  }
  out.set_num_restarts(job.num_restarts);
  if (view.progress) {
    *out.mutable_progress() = ToProto(*view.progress);
  } else if (job.epoch > 0) {
    out.mutable_progress()->set_epoch(job.epoch);
    out.mutable_progress()->set_total_epochs(job.total_epochs);
  }
  CopyMap(job.metrics, out.mutable_metrics());
  if (job.best) *out.mutable_best() = ToProto(*job.best);
  out.set_last_sequence(job.last_sequence);
  out.set_queue_position(view.queue_position);
  out.set_etag(view.Etag());
  return out;
}

v1::Event ToProto(job::JobId id, const job::Event& event) {
  v1::Event out;
  out.set_sequence(event.sequence);
  *out.mutable_time() = wire::ToProto(event.time);
  out.set_attempt(event.attempt.value());
  std::visit(BodyWriter(id, out), event.body);
  return out;
}

v1::Event ToProto(const control::NumberedProgress& progress) {
  v1::Event out;
  *out.mutable_time() = wire::ToProto(progress.time);
  out.set_attempt(progress.attempt.value());
  *out.mutable_progress() = ToProto(progress.progress);
  return out;
}

}  // namespace epochd::api
