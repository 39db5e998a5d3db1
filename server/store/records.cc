// SPDX-License-Identifier: Apache-2.0
#include "server/store/records.h"

#include "server/store/record_parts.h"

namespace epochd::store {
namespace {

using store::Get;
using store::Put;

void Put(const job::Attempt& from, pb::Attempt* to) {
  to->set_number(from.number.value());
  to->set_state(static_cast<int>(from.state));
  to->set_reason(static_cast<int>(from.reason));
  to->set_message(from.message);
  PutTime(from.assign_time, [&](auto ns) { to->set_assign_time_ns(ns); });
  PutTime(from.start_time, [&](auto ns) { to->set_start_time_ns(ns); });
  PutTime(from.end_time, [&](auto ns) { to->set_end_time_ns(ns); });
  for (const auto& rank : from.ranks) Put(rank, to->add_ranks());
}

job::Attempt Get(const pb::Attempt& from) {
  job::Attempt to;
  to.number = job::AttemptNumber(from.number());
  to.state = static_cast<job::AttemptState>(from.state());
  to.reason = static_cast<job::AttemptReason>(from.reason());
  to.message = from.message();
  to.assign_time = TimeOf(from.has_assign_time_ns(), from.assign_time_ns());
  to.start_time = OptionalTime(from.has_start_time_ns(), from.start_time_ns());
  to.end_time = OptionalTime(from.has_end_time_ns(), from.end_time_ns());
  for (const auto& rank : from.ranks()) to.ranks.push_back(Get(rank));
  return to;
}

}  // namespace

// ---- spec -------------------------------------------------------------------

std::string EncodeSpec(const job::JobSpec& spec) {
  pb::Spec to;
  to.set_display_name(spec.display_name);
  to.set_project(spec.project);
  to.set_priority(spec.priority);
  PutMap(spec.labels, to.mutable_labels());
  auto* resources = to.mutable_resources();
  resources->set_replicas_min(spec.resources.replicas.min);
  resources->set_replicas_max(spec.resources.replicas.max);
  resources->set_device(static_cast<int>(spec.resources.device));
  resources->set_cpus(spec.resources.cpus);
  resources->set_memory_bytes(spec.resources.memory_bytes);
  for (const auto& model : spec.resources.models) resources->add_models(model);
  PutMap(spec.resources.node_labels, resources->mutable_node_labels());
  resources->set_same_node(static_cast<int>(spec.resources.same_node));
  auto* restart = to.mutable_restart();
  restart->set_max(spec.restart.max);
  for (const auto reason : spec.restart.reasons) {
    restart->add_reasons(static_cast<int>(reason));
  }
  PutDuration(spec.restart.backoff,
              [&](auto ns) { restart->set_backoff_ns(ns); });
  PutDuration(spec.restart.worker_lost_after,
              [&](auto ns) { restart->set_worker_lost_after_ns(ns); });
  PutDuration(spec.max_time, [&](auto ns) { to.set_max_time_ns(ns); });
  PutDuration(spec.hang_after, [&](auto ns) { to.set_hang_after_ns(ns); });
  to.set_storage(spec.storage);
  auto* checkpoints = to.mutable_checkpoints();
  checkpoints->set_every_epochs(spec.checkpoints.every.epochs);
  checkpoints->set_every_steps(spec.checkpoints.every.steps);
  PutDuration(spec.checkpoints.every.duration,
              [&](auto ns) { checkpoints->set_every_ns(ns); });
  checkpoints->set_keep_last(spec.checkpoints.keep_last);
  checkpoints->set_keep_best(spec.checkpoints.keep_best);
  to.set_experiment_json(spec.experiment_json);
  for (const auto& word : spec.command) to.add_command(word);
  for (const auto& from : spec.files) {
    auto* file = to.add_files();
    file->set_path(from.path);
    file->set_sha256(from.sha256);
    file->set_size_bytes(from.size_bytes);
    file->set_executable(from.executable);
  }
  PutMap(spec.env, to.mutable_env());
  for (const auto& name : spec.required_components) {
    to.add_required_components(name);
  }
  return Serialize(to);
}

absl::StatusOr<job::JobSpec> DecodeSpec(std::string_view record) {
  const auto from = Parse<pb::Spec>(record, "job spec");
  if (!from.ok()) return from.status();
  job::JobSpec to;
  to.display_name = from->display_name();
  to.project = from->project();
  to.priority = from->priority();
  to.labels = MapOf(from->labels());
  const auto& resources = from->resources();
  to.resources.replicas = {resources.replicas_min(), resources.replicas_max()};
  to.resources.device = static_cast<job::DeviceKind>(resources.device());
  to.resources.cpus = resources.cpus();
  to.resources.memory_bytes = resources.memory_bytes();
  to.resources.models = StringsOf(resources.models());
  to.resources.node_labels = MapOf(resources.node_labels());
  to.resources.same_node = static_cast<job::Placement>(resources.same_node());
  const auto& restart = from->restart();
  to.restart.max = restart.max();
  for (const int reason : restart.reasons()) {
    to.restart.reasons.push_back(static_cast<job::AttemptReason>(reason));
  }
  to.restart.backoff =
      DurationOf(restart.has_backoff_ns(), restart.backoff_ns());
  to.restart.worker_lost_after = DurationOf(restart.has_worker_lost_after_ns(),
                                            restart.worker_lost_after_ns());
  to.max_time = DurationOf(from->has_max_time_ns(), from->max_time_ns());
  to.hang_after = absl::Nanoseconds(from->hang_after_ns());
  to.storage = from->storage();
  const auto& checkpoints = from->checkpoints();
  to.checkpoints.every.epochs = checkpoints.every_epochs();
  to.checkpoints.every.steps = checkpoints.every_steps();
  to.checkpoints.every.duration =
      DurationOf(checkpoints.has_every_ns(), checkpoints.every_ns());
  to.checkpoints.keep_last = checkpoints.keep_last();
  to.checkpoints.keep_best = checkpoints.keep_best();
  to.experiment_json = from->experiment_json();
  to.command = StringsOf(from->command());
  for (const auto& file : from->files()) {
    to.files.push_back(
        {file.path(), file.sha256(), file.size_bytes(), file.executable()});
  }
  to.env = MapOf(from->env());
  to.required_components = StringsOf(from->required_components());
  return to;
}

// ---- job --------------------------------------------------------------------

std::string EncodeJob(const job::Job& job) {
  pb::Job to;
  to.set_state(static_cast<int>(job.state));
  to.set_reason(static_cast<int>(job.reason));
  to.set_message(job.message);
  PutTime(job.create_time, [&](auto ns) { to.set_create_time_ns(ns); });
  PutTime(job.start_time, [&](auto ns) { to.set_start_time_ns(ns); });
  PutTime(job.end_time, [&](auto ns) { to.set_end_time_ns(ns); });
  for (const auto& attempt : job.attempts) Put(attempt, to.add_attempts());
  to.set_num_restarts(job.num_restarts);
  PutDuration(job.run_time, [&](auto ns) { to.set_run_time_ns(ns); });
  PutMap(job.metrics, to.mutable_metrics());
  if (job.best) Put(*job.best, to.mutable_best());
  to.set_epoch(job.epoch);
  to.set_total_epochs(job.total_epochs);
  PutDuration(job.epoch_time, [&](auto ns) { to.set_epoch_time_ns(ns); });
  PutDuration(job.data_wait, [&](auto ns) { to.set_data_wait_ns(ns); });
  to.set_last_sequence(job.last_sequence);
  for (const auto& checkpoint : job.checkpoints) {
    Put(checkpoint, to.add_checkpoints());
  }
  PutMap(job.outputs, to.mutable_outputs());
  return Serialize(to);
}

absl::StatusOr<job::Job> DecodeJob(std::string_view record) {
  const auto from = Parse<pb::Job>(record, "job");
  if (!from.ok()) return from.status();
  job::Job to;
  to.state = static_cast<job::JobState>(from->state());
  to.reason = static_cast<job::JobReason>(from->reason());
  to.message = from->message();
  to.create_time = TimeOf(from->has_create_time_ns(), from->create_time_ns());
  to.start_time =
      OptionalTime(from->has_start_time_ns(), from->start_time_ns());
  to.end_time = OptionalTime(from->has_end_time_ns(), from->end_time_ns());
  for (const auto& attempt : from->attempts()) {
    to.attempts.push_back(Get(attempt));
  }
  to.num_restarts = from->num_restarts();
  to.run_time = DurationOf(from->has_run_time_ns(), from->run_time_ns());
  to.metrics = MapOf(from->metrics());
  if (from->has_best()) to.best = Get(from->best());
  to.epoch = from->epoch();
  to.total_epochs = from->total_epochs();
  to.epoch_time = DurationOf(from->has_epoch_time_ns(), from->epoch_time_ns());
  to.data_wait = DurationOf(from->has_data_wait_ns(), from->data_wait_ns());
  to.last_sequence = from->last_sequence();
  for (const auto& checkpoint : from->checkpoints()) {
    to.checkpoints.push_back(Get(checkpoint));
  }
  to.outputs = MapOf(from->outputs());
  return to;
}

// ---- worker -----------------------------------------------------------------

std::string EncodeWorker(const fleet::WorkerRecord& worker) {
  pb::Worker to;
  to.set_incarnation(worker.incarnation.text());
  to.set_boot_id(worker.boot_id);
  to.set_hostname(worker.hostname);
  to.set_version(worker.version);
  for (const auto& from : worker.devices) {
    auto* device = to.add_devices();
    device->set_id(from.id);
    device->set_kind(static_cast<int>(from.kind));
    device->set_model(from.model);
    device->set_memory_bytes(from.memory_bytes);
  }
  PutMap(worker.labels, to.mutable_labels());
  to.set_memory_bytes(worker.memory_bytes);
  to.set_catalogue_sha256(worker.catalogue_sha256);
  for (const auto& name : worker.components) to.add_components(name);
  PutTime(worker.register_time, [&](auto ns) { to.set_register_time_ns(ns); });
  to.set_draining(worker.draining);
  to.set_work_dir(worker.work_dir);
  return Serialize(to);
}

absl::StatusOr<fleet::WorkerRecord> DecodeWorker(std::string_view record) {
  const auto from = Parse<pb::Worker>(record, "worker");
  if (!from.ok()) return from.status();
  fleet::WorkerRecord to;
  to.incarnation = job::Incarnation(from->incarnation());
  to.boot_id = from->boot_id();
  to.hostname = from->hostname();
  to.version = from->version();
  for (const auto& device : from->devices()) {
    to.devices.push_back({device.id(),
                          static_cast<job::DeviceKind>(device.kind()),
                          device.model(), device.memory_bytes()});
  }
  to.labels = MapOf(from->labels());
  to.memory_bytes = from->memory_bytes();
  to.catalogue_sha256 = from->catalogue_sha256();
  to.components = {from->components().begin(), from->components().end()};
  to.register_time =
      TimeOf(from->has_register_time_ns(), from->register_time_ns());
  to.draining = from->draining();
  to.work_dir = from->work_dir();
  return to;
}

}  // namespace epochd::store
