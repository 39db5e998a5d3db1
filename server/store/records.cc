// SPDX-License-Identifier: Apache-2.0
#include "server/store/records.h"

#include <limits>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "proto/epochd/storage/v1/records.pb.h"
#include "server/store/seal.h"

namespace epochd::store {
namespace {

namespace pb = epochd::storage::v1;

static_assert(std::variant_size_v<job::EventBody> == 12,
              "give the new event a message, here and in records.proto");

template <typename Message>
std::string Serialize(const Message& message) {
  return Seal(message.SerializeAsString());
}

template <typename Message>
absl::StatusOr<Message> Parse(std::string_view record, const char* what) {
  const std::optional<std::string_view> bytes = Unseal(record);
  Message message;
  if (!bytes.has_value() ||
      !message.ParseFromArray(bytes->data(), static_cast<int>(bytes->size()))) {
    return absl::DataLossError(absl::StrCat(
        what,
        ": the stored record is damaged; restore the state folder from "
        "a backup"));
  }
  return message;
}

// ---- times: absent stands for the one value that nanoseconds cannot say ----

template <typename Setter>
void PutTime(std::optional<absl::Time> time, Setter set) {
  if (time.has_value() && *time != absl::InfinitePast()) {
    set(absl::ToUnixNanos(*time));
  }
}

std::optional<absl::Time> OptionalTime(bool has, std::int64_t nanoseconds) {
  if (!has) return std::nullopt;
  return absl::FromUnixNanos(nanoseconds);
}

absl::Time TimeOf(bool has, std::int64_t nanoseconds) {
  return OptionalTime(has, nanoseconds).value_or(absl::InfinitePast());
}

template <typename Setter>
void PutDuration(absl::Duration duration, Setter set) {
  if (duration != absl::InfiniteDuration()) {
    set(absl::ToInt64Nanoseconds(duration));
  }
}

absl::Duration DurationOf(bool has, std::int64_t nanoseconds) {
  return has ? absl::Nanoseconds(nanoseconds) : absl::InfiniteDuration();
}

// ---- maps and lists ---------------------------------------------------------

template <typename Value>
void PutMap(const std::map<std::string, Value>& from,
            google::protobuf::Map<std::string, Value>* to) {
  for (const auto& [key, value] : from) (*to)[key] = value;
}

template <typename Value>
std::map<std::string, Value> MapOf(
    const google::protobuf::Map<std::string, Value>& from) {
  return {from.begin(), from.end()};
}

template <typename Range>
std::vector<std::string> StringsOf(const Range& from) {
  return {from.begin(), from.end()};
}

// ---- parts ------------------------------------------------------------------

void Put(const job::RankPlacement& from, pb::RankPlacement* to) {
  to->set_rank(from.rank);
  to->set_worker(from.worker.name());
  for (const std::string& device : from.devices) to->add_devices(device);
  if (from.exit_code) to->set_exit_code(*from.exit_code);
  if (from.term_signal) to->set_term_signal(*from.term_signal);
}

job::RankPlacement Get(const pb::RankPlacement& from) {
  job::RankPlacement to;
  to.rank = from.rank();
  to.worker = job::WorkerId(from.worker());
  to.devices = StringsOf(from.devices());
  if (from.has_exit_code()) to.exit_code = from.exit_code();
  if (from.has_term_signal()) to.term_signal = from.term_signal();
  return to;
}

void Put(const job::BestMetric& from, pb::BestMetric* to) {
  to->set_name(from.name);
  to->set_value(from.value);
  to->set_epoch(from.epoch);
}

job::BestMetric Get(const pb::BestMetric& from) {
  return {from.name(), from.value(), from.epoch()};
}

void Put(const job::Checkpoint& from, pb::Checkpoint* to) {
  to->set_path(from.path);
  to->set_attempt(from.attempt.value());
  to->set_epoch(from.epoch);
  to->set_step(from.step);
  to->set_batch(from.batch);
  to->set_best(from.best);
  to->set_size_bytes(from.size_bytes);
  to->set_manifest_sha256(from.manifest_sha256);
  PutMap(from.metrics, to->mutable_metrics());
  PutTime(from.create_time, [&](auto ns) { to->set_create_time_ns(ns); });
  to->set_world_size(from.world_size);
  to->set_removed(from.removed);
}

job::Checkpoint Get(const pb::Checkpoint& from) {
  job::Checkpoint to;
  to.path = from.path();
  to.attempt = job::AttemptNumber(from.attempt());
  to.epoch = from.epoch();
  to.step = from.step();
  to.batch = from.batch();
  to.best = from.best();
  to.size_bytes = from.size_bytes();
  to.manifest_sha256 = from.manifest_sha256();
  to.metrics = MapOf(from.metrics());
  to.create_time = TimeOf(from.has_create_time_ns(), from.create_time_ns());
  to.world_size = from.world_size();
  to.removed = from.removed();
  return to;
}

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

// ---- event bodies -----------------------------------------------------------

void Put(const job::JobSubmitted&, pb::Event* to) { to->mutable_submitted(); }

void Put(const job::JobStateChanged& from, pb::Event* event) {
  auto* to = event->mutable_job_state();
  to->set_state(static_cast<int>(from.state));
  to->set_reason(static_cast<int>(from.reason));
  to->set_message(from.message);
}

job::EventBody Get(const pb::Event::JobStateChanged& from) {
  return job::JobStateChanged{static_cast<job::JobState>(from.state()),
                              static_cast<job::JobReason>(from.reason()),
                              from.message()};
}

void Put(const job::AttemptStateChanged& from, pb::Event* event) {
  auto* to = event->mutable_attempt_state();
  to->set_state(static_cast<int>(from.state));
  to->set_reason(static_cast<int>(from.reason));
  to->set_message(from.message);
  for (const auto& rank : from.ranks) Put(rank, to->add_ranks());
  PutDuration(from.run_time, [&](auto ns) { to->set_run_time_ns(ns); });
  to->set_counts_as_restart(from.counts_as_restart);
}

job::EventBody Get(const pb::Event::AttemptStateChanged& from) {
  job::AttemptStateChanged to;
  to.state = static_cast<job::AttemptState>(from.state());
  to.reason = static_cast<job::AttemptReason>(from.reason());
  to.message = from.message();
  for (const auto& rank : from.ranks()) to.ranks.push_back(Get(rank));
  to.run_time = DurationOf(from.has_run_time_ns(), from.run_time_ns());
  to.counts_as_restart = from.counts_as_restart();
  return to;
}

void Put(const job::TrainingBegan& from, pb::Event* event) {
  auto* to = event->mutable_training_began();
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

job::EventBody Get(const pb::Event::TrainingBegan& from) {
  job::TrainingBegan to;
  to.total_epochs = from.total_epochs();
  to.initial_epoch = from.initial_epoch();
  to.initial_batch = from.initial_batch();
  to.train_batches = from.train_batches();
  to.val_batches = from.val_batches();
  to.train_samples = from.train_samples();
  to.val_samples = from.val_samples();
  to.parameters = from.parameters();
  to.resumed_from = from.resumed_from();
  return to;
}

void Put(const job::FirstStep& from, pb::Event* event) {
  event->mutable_first_step()->set_step(from.step);
}

void Put(const job::EpochStarted& from, pb::Event* event) {
  event->mutable_epoch_started()->set_epoch(from.epoch);
}

void Put(const job::EpochFinished& from, pb::Event* event) {
  auto* to = event->mutable_epoch_finished();
  to->set_epoch(from.epoch);
  PutMap(from.metrics, to->mutable_metrics());
  PutMap(from.learning_rates, to->mutable_learning_rates());
  PutDuration(from.elapsed, [&](auto ns) { to->set_elapsed_ns(ns); });
  to->set_samples_per_second(from.samples_per_second);
  to->set_step(from.step);
}

job::EventBody Get(const pb::Event::EpochFinished& from) {
  job::EpochFinished to;
  to.epoch = from.epoch();
  to.metrics = MapOf(from.metrics());
  to.learning_rates = MapOf(from.learning_rates());
  to.elapsed = DurationOf(from.has_elapsed_ns(), from.elapsed_ns());
  to.samples_per_second = from.samples_per_second();
  to.step = from.step();
  return to;
}

void Put(const job::MetricsLogged& from, pb::Event* event) {
  auto* to = event->mutable_metrics();
  to->set_epoch(from.epoch);
  to->set_step(from.step);
  PutMap(from.metrics, to->mutable_metrics());
}

job::EventBody Get(const pb::Event::MetricsLogged& from) {
  return job::MetricsLogged{from.epoch(), from.step(), MapOf(from.metrics())};
}

void Put(const job::CheckpointSaved& from, pb::Event* event) {
  Put(from.checkpoint, event->mutable_checkpoint_saved());
}

void Put(const job::CheckpointRemoved& from, pb::Event* event) {
  Put(from.checkpoint, event->mutable_checkpoint_removed());
}

void Put(const job::TrainingEnded& from, pb::Event* event) {
  auto* to = event->mutable_training_ended();
  to->set_outcome(static_cast<int>(from.outcome));
  to->set_message(from.message);
  to->set_epochs(from.epochs);
  if (from.best) Put(*from.best, to->mutable_best());
  PutMap(from.outputs, to->mutable_outputs());
}

job::EventBody Get(const pb::Event::TrainingEnded& from) {
  job::TrainingEnded to;
  to.outcome = static_cast<job::TrainingEnded::Outcome>(from.outcome());
  to.message = from.message();
  to.epochs = from.epochs();
  if (from.has_best()) to.best = Get(from.best());
  to.outputs = MapOf(from.outputs());
  return to;
}

void Put(const job::Notice& from, pb::Event* event) {
  auto* to = event->mutable_notice();
  to->set_severity(static_cast<int>(from.severity));
  to->set_text(from.text);
  to->set_rank(from.rank);
}

job::EventBody Get(const pb::Event::Notice& from) {
  return job::Notice{static_cast<job::Notice::Severity>(from.severity()),
                     from.text(), from.rank()};
}

std::optional<job::EventBody> BodyOf(const pb::Event& event) {
  switch (event.body_case()) {
    case pb::Event::kSubmitted:
      return job::JobSubmitted{};
    case pb::Event::kJobState:
      return Get(event.job_state());
    case pb::Event::kAttemptState:
      return Get(event.attempt_state());
    case pb::Event::kTrainingBegan:
      return Get(event.training_began());
    case pb::Event::kFirstStep:
      return job::FirstStep{event.first_step().step()};
    case pb::Event::kEpochStarted:
      return job::EpochStarted{event.epoch_started().epoch()};
    case pb::Event::kEpochFinished:
      return Get(event.epoch_finished());
    case pb::Event::kMetrics:
      return Get(event.metrics());
    case pb::Event::kCheckpointSaved:
      return job::CheckpointSaved{Get(event.checkpoint_saved())};
    case pb::Event::kCheckpointRemoved:
      return job::CheckpointRemoved{Get(event.checkpoint_removed())};
    case pb::Event::kTrainingEnded:
      return Get(event.training_ended());
    case pb::Event::kNotice:
      return Get(event.notice());
    case pb::Event::BODY_NOT_SET:
      break;
  }
  return std::nullopt;
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
  to.last_sequence = from->last_sequence();
  for (const auto& checkpoint : from->checkpoints()) {
    to.checkpoints.push_back(Get(checkpoint));
  }
  to.outputs = MapOf(from->outputs());
  return to;
}

// ---- event ------------------------------------------------------------------

std::string EncodeEvent(const job::Event& event) {
  pb::Event to;
  PutTime(event.time, [&](auto ns) { to.set_time_ns(ns); });
  to.set_attempt(event.attempt.value());
  std::visit([&](const auto& body) { Put(body, &to); }, event.body);
  return Serialize(to);
}

absl::StatusOr<job::Event> DecodeEvent(std::string_view record) {
  const auto from = Parse<pb::Event>(record, "event");
  if (!from.ok()) return from.status();
  std::optional<job::EventBody> body = BodyOf(*from);
  if (!body.has_value()) {
    return absl::DataLossError(
        "event: of a kind that this version does not know; a newer epochd "
        "wrote it, use that one");
  }
  job::Event to;
  to.time = TimeOf(from->has_time_ns(), from->time_ns());
  to.attempt = job::AttemptNumber(from->attempt());
  to.body = *std::move(body);
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
  return to;
}

}  // namespace epochd::store
