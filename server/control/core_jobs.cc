// SPDX-License-Identifier: Apache-2.0
//
// What people ask for.
#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "server/control/core.h"

namespace epochd::control {
namespace {

absl::Status NoSuchJob(job::JobId id) {
  return absl::NotFoundError(fmt::format("{}: no such job", id.ResourceName()));
}

// What people wrote; which components that needs may be found anew each time.
bool SameSpec(const job::JobSpec& a, const job::JobSpec& b) {
  job::JobSpec written = a;
  written.required_components = b.required_components;
  return written == b;
}

}  // namespace

// A refusal may rest on what this turn is about to commit, such as a deletion:
// where that is dropped, its cause is told instead.

void Core::Submit(std::shared_ptr<const job::JobSpec> spec,
                  std::string request_id, Done<JobView> done) {
  const auto answer_with = [&](job::JobId id) {
    AnswerAfterCommit(
        [this, id, done = std::move(done)](const absl::Status& status) mutable {
          if (!status.ok()) return done(status);
          auto view = board_.Get(id);
          // A request whose first job was deleted in this very turn.
          if (absl::IsNotFound(view.status())) {
            view = absl::UnavailableError(fmt::format(
                "{}: has just been deleted, submit again", id.ResourceName()));
          }
          done(std::move(view));
        });
  };
  const auto refuse = [&](absl::Status why) {
    AnswerAfterCommit([why = std::move(why), done = std::move(done)](
                          const absl::Status& status) mutable {
      done(status.ok() ? std::move(why) : status);
    });
  };
  if (spec == nullptr) {
    return refuse(absl::InvalidArgumentError("spec: is missing"));
  }
  if (!request_id.empty()) {
    std::optional<job::JobId> known = transaction_.FindRequest(request_id);
    if (!known) {
      auto stored = store_.FindRequest(request_id);
      if (stored.ok()) {
        known = *stored;
      } else if (!absl::IsNotFound(stored.status())) {
        return refuse(stored.status());
      }
    }
    if (known) {
      std::shared_ptr<const job::JobSpec> first;
      if (const job::Job* job = Current(*known)) {
        first = job->spec;
      } else if (auto stored = store_.ReadJob(*known); stored.ok()) {
        first = (*stored)->spec;
      } else {
        return refuse(stored.status());
      }
      if (SameSpec(*first, *spec)) return answer_with(*known);
      return refuse(absl::InvalidArgumentError(fmt::format(
          "request_id: '{}' was used for {} with another spec, give a new one",
          request_id.substr(0, 64), known->ResourceName())));
    }
  }
  if (static_cast<int64_t>(live_.size() + transaction_.touched().size()) >=
      options_.max_live_jobs) {
    return refuse(absl::ResourceExhaustedError(
        fmt::format("jobs: {} are not finished, no more are accepted now",
                    options_.max_live_jobs)));
  }
  const job::JobId id(options_.random(), options_.random());
  // A number that a dropped transaction leaves unused is no harm.
  auto status = Emit(id, job::AttemptNumber(),
                     job::JobSubmitted{std::move(spec), next_submit_number_++});
  if (!status.ok()) return refuse(std::move(status));
  if (!request_id.empty()) transaction_.AddRequest(std::move(request_id), id);
  must_schedule_ = true;
  answer_with(id);
}

void Core::Hint(std::shared_ptr<const job::JobSpec> spec,
                Done<std::string> done) {
  auto queue = Queue();
  // Behind all of its priority.
  const auto place = std::find_if(
      queue.begin(), queue.end(), [&](const schedule::QueuedJob& other) {
        return other.spec->priority < spec->priority;
      });
  queue.insert(place, {job::JobId(), spec.get(), now_});
  const auto offers = Offers();
  const auto decision = schedule::Plan(now_, queue, offers);
  std::string hint;
  for (const auto& assignment : decision.assignments) {
    if (!assignment.job.IsNil()) continue;
    const auto& ranks = assignment.ranks;
    hint = fmt::format("would start now with {} rank{}, the first on {}",
                       ranks.size(), ranks.size() == 1 ? "" : "s",
                       ranks[0].worker.name());
    job::Job job;
    job.spec = spec;
    std::set<job::WorkerId> workers;
    for (const auto& rank : ranks) workers.insert(rank.worker);
    if (const auto notice = StorageNotice(job, workers); !notice.empty()) {
      hint += "; " + notice;
    }
  }
  for (const auto& waiting : decision.waiting) {
    if (!waiting.job.IsNil()) continue;
    hint = fmt::format("would wait: {} ({})", waiting.message,
                       Name(waiting.reason));
  }
  AnswerAfterCommit([hint = std::move(hint),
                     done = std::move(done)](const absl::Status&) mutable {
    done(std::move(hint));
  });
}

void Core::Cancel(job::JobId id, const std::string& etag, Done<JobView> done) {
  absl::Status refusal;
  if (const job::Job* job = Current(id)) {
    const auto committed = live_.find(id);
    if (!etag.empty() && committed != live_.end() &&
        etag != JobView{committed->second.job, {}, "", 0, {}}.Etag()) {
      refusal = absl::AbortedError(
          fmt::format("{}: etag '{}' is not the job's, read it again",
                      id.ResourceName(), etag.substr(0, 64)));
    } else if (job->state == job::JobState::kQueued) {
      Decide(id, job::AttemptNumber(),
             job::JobStateChanged{job::JobState::kCancelled,
                                  job::JobReason::kCancelled,
                                  "cancelled before it ran"});
      must_schedule_ = true;
    } else if (!job->IsTerminal() && job->state != job::JobState::kStopping) {
      Stop(id, job::JobReason::kCancelRequested, job::AttemptReason::kCancelled,
           "cancel was requested");
    }
  }
  AnswerAfterCommit([this, id, refusal, done = std::move(done)](
                        const absl::Status& status) mutable {
    if (!status.ok()) {
      done(status);
    } else if (!refusal.ok()) {
      done(refusal);
    } else {
      done(board_.Get(id));
    }
  });
}

void Core::Stop(job::JobId id, job::JobReason job_reason,
                job::AttemptReason attempt_reason, const std::string& message) {
  const job::Attempt attempt = *Current(id)->LiveAttempt();
  if (attempt.state < job::AttemptState::kStopping) {
    Decide(id, attempt.number,
           job::AttemptStateChanged{job::AttemptState::kStopping,
                                    attempt_reason,
                                    message,
                                    {},
                                    {},
                                    false});
  }
  Decide(id, job::AttemptNumber(),
         job::JobStateChanged{job::JobState::kStopping, job_reason, message});
  dirty_jobs_.insert(id);
}

void Core::Delete(job::JobId id, std::string request_id, DoneStatus done) {
  absl::Status refusal;
  std::optional<job::JobId> before = transaction_.FindDeletion(request_id);
  if (!before && !request_id.empty()) {
    const auto stored = store_.FindDeletion(request_id);
    if (stored.ok()) {
      before = *stored;
    } else if (!absl::IsNotFound(stored.status())) {
      refusal = stored.status();
    }
  }
  if (!refusal.ok()) {
    // Nobody knows whether it is a repeat.
  } else if (before && *before != id) {
    refusal = absl::InvalidArgumentError(
        fmt::format("request_id: '{}' was used for {}, give a new one",
                    request_id.substr(0, 64), before->ResourceName()));
  } else if (before) {
    // The first answer again, once it is durable.
  } else if (Current(id) != nullptr) {
    refusal = absl::FailedPreconditionError(
        fmt::format("{}: is not finished, cancel it first", id.ResourceName()));
  } else if (transaction_.Deletes(id)) {
    refusal = NoSuchJob(id);
  } else if (auto job = store_.ReadJob(id); !job.ok()) {
    refusal = job.status();
  } else {
    transaction_.DeleteJob(id, (*job)->state, std::move(request_id));
  }
  AnswerAfterCommit(
      [refusal, done = std::move(done)](const absl::Status& status) mutable {
        done(status.ok() ? refusal : status);
      });
}

void Core::DrainWorker(const job::WorkerId& worker, bool undo,
                       Done<fleet::WorkerView> done) {
  const fleet::WorkerRecord* record = fleet_.Find(worker);
  if (undo && quarantine_.EndOf(worker, now_)) {
    quarantine_.Clear(worker);
    ShowWorker(worker);
  }
  if (record != nullptr && record->draining == undo) {
    fleet_.SetDraining(worker, !undo);
    transaction_.SetWorker(*record);
    transaction_.OnDrop([this, worker, undo] {
      fleet_.SetDraining(worker, undo);
      ShowWorker(worker);
    });
    shown_.erase(worker);
    ShowWorker(worker);
  }
  AnswerAfterCommit([this, worker, done = std::move(done)](
                        const absl::Status& status) mutable {
    if (status.ok()) {
      done(board_.GetWorker(worker));
    } else {
      done(status);
    }
  });
}

}  // namespace epochd::control
