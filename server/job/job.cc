// SPDX-License-Identifier: Apache-2.0
#include "server/job/job.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "fmt/format.h"

namespace epochd::job {
namespace {

absl::Status Refuse(const Job& job, std::string_view problem) {
  return absl::FailedPreconditionError(
      fmt::format("{}: {}", job.id.ResourceName(), problem));
}

absl::Status Invalid(const Job& job, std::string_view problem) {
  return absl::InvalidArgumentError(
      fmt::format("{}: {}", job.id.ResourceName(), problem));
}

// The score that the experiment names to choose the best by; empty: it leaves
// that to the trainer.
std::string Monitored(const JobSpec& spec) {
  const auto experiment = nlohmann::json::parse(spec.experiment_json, nullptr,
                                                /*allow_exceptions=*/false);
  const nlohmann::json::json_pointer where("/monitor/metric");
  if (!experiment.is_object() || !experiment.contains(where)) return "";
  const nlohmann::json& metric = experiment.at(where);
  return metric.is_string() ? metric.get<std::string>() : "";
}

// Checks one event against the job as it is; Fold then cannot fail.
class Check {
 public:
  Check(const Job& job, const Event& event)
      : job_(job), event_(event), live_(job.LiveAttempt()) {}

  absl::Status operator()(const JobSubmitted& body) const {
    if (job_.state != JobState::kUnspecified) {
      return Refuse(job_, "was submitted before");
    }
    if (body.spec == nullptr) return Invalid(job_, "has no spec");
    return OfJob();
  }

  absl::Status operator()(const JobStateChanged& body) const {
    if (!MayFollow(job_.state, body.state)) {
      return Refuse(job_, fmt::format("state {} cannot follow {}",
                                      Name(body.state), Name(job_.state)));
    }
    if (!Explains(body.reason, body.state)) {
      return Invalid(job_, fmt::format("reason {} does not explain state {}",
                                       Name(body.reason), Name(body.state)));
    }
    const bool wants_attempt = body.state == JobState::kStarting ||
                               body.state == JobState::kRunning ||
                               body.state == JobState::kStopping;
    if (wants_attempt != (live_ != nullptr)) {
      return Refuse(job_, fmt::format("cannot be {}{}", Name(body.state),
                                      live_ ? " while an attempt is alive"
                                            : " without a live attempt"));
    }
    if (body.state == JobState::kRunning &&
        live_->state < AttemptState::kRunning) {
      return Refuse(job_,
                    fmt::format("cannot be running while its attempt is {}",
                                Name(live_->state)));
    }
    return OfJob();
  }

  absl::Status operator()(const AttemptStateChanged& body) const {
    if (body.state == AttemptState::kAssigned) return Assigned(body);
    if (auto status = OfLiveAttempt(); !status.ok()) return status;
    if (!MayFollow(live_->state, body.state)) {
      return Refuse(job_, fmt::format("attempt {}: state {} cannot follow {}",
                                      event_.attempt.value(), Name(body.state),
                                      Name(live_->state)));
    }
    const bool ends = body.state >= AttemptState::kStopping;
    if (ends != (body.reason != AttemptReason::kUnspecified)) {
      return Invalid(job_, fmt::format("attempt {}: reason {} with state {}",
                                       event_.attempt.value(),
                                       Name(body.reason), Name(body.state)));
    }
    if (!body.ranks.empty() && !SamePlacement(body.ranks)) {
      return Invalid(job_, fmt::format("attempt {}: the placement changed",
                                       event_.attempt.value()));
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const CheckpointSaved& body) const {
    if (body.checkpoint.path.empty() || body.checkpoint.removed ||
        body.checkpoint.attempt != event_.attempt) {
      return Invalid(job_,
                     fmt::format("checkpoint '{}' is not one of this attempt",
                                 body.checkpoint.path));
    }
    return OfLiveAttempt();
  }

  absl::Status operator()(const CheckpointRemoved& body) const {
    const auto& known = job_.checkpoints;
    if (std::none_of(known.begin(), known.end(), [&](const Checkpoint& one) {
          return one.path == body.checkpoint.path;
        })) {
      return Refuse(job_, fmt::format("checkpoint '{}' is not recorded",
                                      body.checkpoint.path));
    }
    return OfLiveAttempt();
  }

  absl::Status operator()(const Notice&) const {
    return event_.attempt.value() == 0 ? absl::OkStatus() : OfLiveAttempt();
  }

  template <typename Body>
  absl::Status operator()(const Body&) const {
    return OfLiveAttempt();
  }

 private:
  absl::Status OfJob() const {
    if (event_.attempt.value() == 0) return absl::OkStatus();
    return Invalid(job_, fmt::format("an event of the job names attempt {}",
                                     event_.attempt.value()));
  }

  absl::Status OfLiveAttempt() const {
    if (live_ != nullptr && live_->number == event_.attempt) {
      return absl::OkStatus();
    }
    return Refuse(job_, fmt::format("attempt {} is not the live one",
                                    event_.attempt.value()));
  }

  absl::Status Assigned(const AttemptStateChanged& body) const {
    if (job_.state != JobState::kQueued || live_ != nullptr) {
      return Refuse(job_, "only a queued job can be assigned");
    }
    if (event_.attempt != job_.CurrentAttempt().Next()) {
      return Refuse(job_, fmt::format("attempt {} is not the next one",
                                      event_.attempt.value()));
    }
    for (size_t i = 0; i < body.ranks.size(); ++i) {
      if (body.ranks[i].rank != static_cast<int32_t>(i) ||
          body.ranks[i].devices.empty()) {
        return Invalid(job_, "a placement has ranks 0, 1, ... with devices");
      }
    }
    if (body.ranks.empty()) return Invalid(job_, "a placement has no rank");
    if (body.reason != AttemptReason::kUnspecified) {
      return Invalid(job_, "an assigned attempt has no reason to end");
    }
    return absl::OkStatus();
  }

  bool SamePlacement(const std::vector<RankPlacement>& ranks) const {
    return std::equal(ranks.begin(), ranks.end(), live_->ranks.begin(),
                      live_->ranks.end(),
                      [](const RankPlacement& a, const RankPlacement& b) {
                        return a.rank == b.rank && a.worker == b.worker &&
                               a.devices == b.devices;
                      });
  }

  const Job& job_;
  const Event& event_;
  const Attempt* live_;
};

// Changes the job by an event that Check let through.
class Fold {
 public:
  Fold(Job& job, const Event& event) : job_(job), event_(event) {}

  void operator()(const JobSubmitted& body) const {
    job_.spec = body.spec;
    job_.submit_number = body.submit_number;
    job_.state = JobState::kQueued;
    job_.reason = JobReason::kSubmitted;
    job_.create_time = event_.time;
  }

  void operator()(const JobStateChanged& body) const {
    job_.state = body.state;
    job_.reason = body.reason;
    job_.message = body.message;
    if (body.state == JobState::kRunning && !job_.start_time) {
      job_.start_time = event_.time;
    }
    if (IsTerminal(body.state)) job_.end_time = event_.time;
  }

  void operator()(const AttemptStateChanged& body) const {
    if (body.state == AttemptState::kAssigned) {
      Attempt attempt;
      attempt.number = event_.attempt;
      attempt.assign_time = event_.time;
      job_.attempts.push_back(std::move(attempt));
    }
    Attempt& attempt = job_.attempts.back();
    attempt.state = body.state;
    attempt.reason = body.reason;
    attempt.message = body.message;
    if (!body.ranks.empty()) attempt.ranks = body.ranks;
    if (body.state == AttemptState::kRunning) attempt.start_time = event_.time;
    if (body.state == AttemptState::kEnded) {
      attempt.end_time = event_.time;
      job_.run_time += body.run_time;
      if (body.counts_as_restart) ++job_.num_restarts;
    }
  }

  // An attempt that begins again from nothing is at no epoch.
  void operator()(const TrainingBegan& body) const {
    job_.epoch = std::max<int64_t>(body.initial_epoch - 1, 0);
    job_.total_epochs = body.total_epochs;
  }

  void operator()(const EpochFinished& body) const {
    job_.metrics = body.metrics;
    job_.epoch = body.epoch;
    job_.epoch_time = body.elapsed;
    job_.data_wait = body.data_wait;
  }

  // Validations within an epoch; steps are many, and tests are another task.
  void operator()(const MetricsLogged& body) const {
    const auto is_validated = [](const auto& metric) {
      return metric.first.starts_with("val/");
    };
    if (body.epoch == 0 ||
        std::none_of(body.metrics.begin(), body.metrics.end(), is_validated)) {
      return;
    }
    std::erase_if(job_.metrics, is_validated);
    for (const auto& metric : body.metrics) {
      if (is_validated(metric)) job_.metrics.insert(metric);
    }
  }

  void operator()(const CheckpointSaved& body) const {
    Forget(body.checkpoint.path);
    job_.checkpoints.push_back(body.checkpoint);
    if (body.checkpoint.best) NoteBest(body.checkpoint);
  }

  void operator()(const CheckpointRemoved& body) const {
    Forget(body.checkpoint.path);
  }

  void operator()(const TrainingEnded& body) const {
    if (body.best) job_.best = body.best;
    job_.outputs = body.outputs;
  }

  void operator()(const FirstStep&) const {}
  void operator()(const EpochStarted&) const {}
  void operator()(const Notice&) const {}

 private:
  // The best so far; the end of the training tells it again.
  void NoteBest(const Checkpoint& checkpoint) const {
    for (const std::string& name :
         {Monitored(*job_.spec), std::string("val/loss"),
          std::string("train/loss")}) {
      const auto score = checkpoint.metrics.find(name);
      if (score == checkpoint.metrics.end()) continue;
      job_.best = BestMetric{name, score->second, checkpoint.epoch};
      return;
    }
  }

  void Forget(const std::string& path) const {
    std::erase_if(job_.checkpoints, [&](const Checkpoint& checkpoint) {
      return checkpoint.path == path;
    });
  }

  Job& job_;
  const Event& event_;
};

}  // namespace

const Attempt* Job::LiveAttempt() const {
  if (attempts.empty() || attempts.back().state == AttemptState::kEnded) {
    return nullptr;
  }
  return &attempts.back();
}

AttemptNumber Job::CurrentAttempt() const {
  return attempts.empty() ? AttemptNumber() : attempts.back().number;
}

absl::Status Apply(Job& job, const Event& event) {
  if (event.sequence != job.last_sequence + 1) {
    return Refuse(job, fmt::format("event {} cannot follow event {}",
                                   event.sequence, job.last_sequence));
  }
  if (job.IsTerminal()) {
    return Refuse(job, fmt::format("is {}, nothing follows", Name(job.state)));
  }
  if (job.state == JobState::kUnspecified &&
      !std::holds_alternative<JobSubmitted>(event.body)) {
    return Refuse(job, "was not submitted");
  }
  if (auto status = std::visit(Check(job, event), event.body); !status.ok()) {
    return status;
  }
  std::visit(Fold(job, event), event.body);
  job.last_sequence = event.sequence;
  return absl::OkStatus();
}

}  // namespace epochd::job
