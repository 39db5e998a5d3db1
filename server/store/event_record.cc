// SPDX-License-Identifier: Apache-2.0
//
// Events of records.h.
#include <optional>
#include <utility>
#include <variant>

#include "server/store/record_parts.h"
#include "server/store/records.h"

namespace epochd::store {
namespace {

using store::Get;
using store::Put;

static_assert(std::variant_size_v<job::EventBody> == 12,
              "give the new event a message, here and in records.proto");

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
  PutDuration(from.data_wait, [&](auto ns) { to->set_data_wait_ns(ns); });
}

job::EventBody Get(const pb::Event::EpochFinished& from) {
  job::EpochFinished to;
  to.epoch = from.epoch();
  to.metrics = MapOf(from.metrics());
  to.learning_rates = MapOf(from.learning_rates());
  to.elapsed = DurationOf(from.has_elapsed_ns(), from.elapsed_ns());
  to.samples_per_second = from.samples_per_second();
  to.step = from.step();
  to.data_wait = DurationOf(from.has_data_wait_ns(), from.data_wait_ns());
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

}  // namespace epochd::store
