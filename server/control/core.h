// SPDX-License-Identifier: Apache-2.0
//
// The controller without its thread: commands change the state at once in
// memory, Settle draws the conclusions, commits everything as one transaction
// and answers. One caller at a time; only board() may be used beside it.
//
//   core.Load();
//   core.BeginTurn();
//   core.Submit(...); core.SendHeartbeat(...);   // any number of commands
//   SteadyTime next = core.Settle();             // answers; come again by then
//
// Everything it decides follows from commands, clock, store and random numbers,
// so that a run can be replayed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/control/agent_messages.h"
#include "server/control/attempt_watch.h"
#include "server/control/board.h"
#include "server/control/clock.h"
#include "server/control/options.h"
#include "server/control/transaction.h"
#include "server/control/views.h"
#include "server/fleet/fleet.h"
#include "server/fleet/quarantine.h"
#include "server/schedule/plan.h"
#include "server/store/job_store.h"

namespace epochd::control {

class Core {
 public:
  // `clock` and `store` outlive it.
  Core(Options options, const Clock& clock, store::JobStore& store);

  // Reads the store; every worker known from before gets a full term.
  absl::Status Load();

  Board& board() { return board_; }
  const std::string& cluster_id() const { return cluster_id_; }

  // Notices if the coordinator stood still since the last Settle. Call first.
  void BeginTurn();
  // Returns when to come again at the latest. After a failure of the store that
  // needs a restart (see Options::on_fatal) every command is Unavailable.
  fleet::SteadyTime Settle();

  // Commands; see controller.h. Answered within Settle.
  void Submit(std::shared_ptr<const job::JobSpec> spec, std::string request_id,
              Done<JobView> done);
  void Hint(std::shared_ptr<const job::JobSpec> spec, Done<std::string> done);
  void Cancel(job::JobId id, const std::string& etag, Done<JobView> done);
  void Delete(job::JobId id, std::string request_id, DoneStatus done);
  void DrainWorker(const job::WorkerId& worker, bool undo,
                   Done<fleet::WorkerView> done);
  // `at`: when the call arrived.
  void Register(Registration registration, fleet::SteadyTime at,
                Done<RegisterResult> done);
  void SendHeartbeat(const Heartbeat& heartbeat, fleet::SteadyTime at,
                     Done<std::shared_ptr<const DesiredState>> done);
  void ReportEvents(const EventLines& lines, Done<int64_t> done);

 private:
  using JobPtr = std::shared_ptr<const job::Job>;

  // What is in memory of a job that is not terminal.
  struct LiveJob {
    JobPtr job;
    AttemptWatch watch;
    // Committed next offsets of the live attempt, by rank; also those that only
    // progress lines moved.
    std::map<int32_t, int64_t> offsets;
    fleet::SteadyTime queued_since;
    fleet::SteadyTime not_before;
    // Since every rank of the live attempt ran.
    std::optional<fleet::SteadyTime> running_since;
    // A warning about unreadable lines was journalled for this attempt.
    bool warned_of_lines = false;
  };

  // Called with the commit's status, to answer.
  using Answer = absl::AnyInvocable<void(const absl::Status&)>;

  // ---- core.cc: state, commit
  // ------------------------------------------------
  void Remember(JobPtr job, fleet::SteadyTime now);
  // As this transaction has made it, or as committed; null if not live.
  const job::Job* Current(job::JobId id) const;
  absl::Status Emit(job::JobId id, job::AttemptNumber attempt,
                    job::EventBody body);
  // For our own decisions: a refused event is our bug; logged, counted.
  void Decide(job::JobId id, job::AttemptNumber attempt, job::EventBody body);
  void AnswerAfterCommit(Answer answer) {
    answers_.push_back(std::move(answer));
  }
  void Commit();
  // Waits with our own decisions for a while, or for ever.
  void StoreFailed(const absl::Status& status);
  void Committed();
  void TakeOver(const Transaction::Touched& touched);
  // The fleet's, and whether it is in quarantine.
  fleet::WorkerState StateOf(const job::WorkerId& id) const;
  std::string MessageOf(const job::WorkerId& id) const;
  // Shows a worker's state if it changed, and draws the consequences.
  void ShowWorker(const job::WorkerId& id);
  void ForgetLostWorkers();
  // Tells, once, that the store takes nothing, or that it does again.
  void ShowStore(const absl::Status& status);

  // ---- core_agents.cc
  // --------------------------------------------------------
  void TakeIn(const job::WorkerId& worker,
              const std::vector<ObservedAttempt>& observed);
  void TakeInProblems(LiveJob& live, const job::WorkerId& worker,
                      const ObservedAttempt& observed);
  // Whether the agent of the worker has the work folder that the attempt's
  // ranks were placed into, so that it can tell what became of them.
  bool CanTell(const job::WorkerId& worker, const job::Attempt& attempt) const;
  // Journals what the line tells, if anything. Returns whether it did.
  bool TakeInLine(LiveJob& live, const EventLines& lines,
                  std::string_view line);
  int64_t WantedOffset(const LiveJob& live, const EventLines& lines) const;
  void PushDesired();
  std::shared_ptr<DesiredState> BuildDesired(const job::WorkerId& id);

  // ---- core_attempts.cc
  // ------------------------------------------------------
  void Reconcile(job::JobId id);
  void MarkGoneRanks(LiveJob& live, const job::Job& job);
  bool StepAttempt(LiveJob& live);
  void EndAttempt(LiveJob& live, const job::Job& job,
                  job::AttemptStateChanged ended);
  // What an attempt's end says about the workers that it ran on.
  void JudgeWorkers(const LiveJob& live, const job::Job& job,
                    job::AttemptReason reason);
  void TellMissing(const LiveJob& live, const job::Job& job);
  void StepJob(const LiveJob& live);
  absl::Duration RunTime(const LiveJob& live, const job::Job& job) const;
  fleet::SteadyTime NextDeadline(const LiveJob& live) const;
  void Stop(job::JobId id, job::JobReason job_reason,
            job::AttemptReason attempt_reason, const std::string& message);

  // ---- core_retention.cc
  // ------------------------------------------------------
  // Puts some of the finished jobs that have been kept long enough into the
  // transaction.
  void RemoveFinished();
  // Takes away some events of jobs that are gone.
  void Sweep();

  // ---- core_schedule.cc
  // ------------------------------------------------------
  void Schedule();
  // The worker that wrote the job's newest checkpoint, if one alone did; and
  // the same where no other is known to see it.
  std::optional<job::WorkerId> HolderOf(const job::Job& job) const;
  std::optional<job::WorkerId> PreferredBy(const job::Job& job) const;
  // Whether workers say by their label that they have one storage.
  bool ShareStorage(const std::set<job::WorkerId>& workers) const;
  // What a job on these workers should know about its checkpoints; empty:
  // nothing.
  std::string StorageNotice(const job::Job& job,
                            const std::set<job::WorkerId>& workers) const;
  std::vector<schedule::QueuedJob> Queue() const;
  std::vector<schedule::Offer> Offers() const;

  const Options options_;
  const Clock& clock_;
  store::JobStore& store_;
  std::string cluster_id_;
  Board board_;

  fleet::Fleet fleet_;
  fleet::Quarantine quarantine_;
  std::map<job::JobId, LiveJob> live_;
  // Committed: queued jobs in order, jobs that have a live attempt, and those
  // by worker.
  std::map<schedule::QueueKey, job::JobId> queue_;
  std::set<job::JobId> active_;
  std::map<job::WorkerId, std::set<job::JobId>> placed_;
  // Workers that could not start a job since one did. In memory alone: how
  // often it is tried is bounded by the journal.
  std::map<job::JobId, std::set<job::WorkerId>> could_not_start_;
  int64_t next_submit_number_ = 1;

  Transaction transaction_;
  std::vector<Answer> answers_;
  // To be looked at by Settle.
  std::set<job::JobId> dirty_jobs_;
  std::set<job::WorkerId> dirty_workers_;
  bool must_schedule_ = true;
  // Registered, but the store does not know.
  std::set<job::WorkerId> unsaved_workers_;

  // What was sent last, and its number.
  int64_t desired_version_ = 0;
  struct Shown {
    fleet::WorkerState state = fleet::WorkerState::kUnspecified;
    std::string message;

    friend bool operator==(const Shown&, const Shown&) = default;
  };
  std::map<job::WorkerId, Shown> shown_;

  fleet::SteadyTime now_;
  std::optional<fleet::SteadyTime> settled_;
  fleet::SteadyTime next_scan_;
  fleet::SteadyTime next_backoff_end_ = fleet::SteadyTime::InfiniteFuture();
  std::optional<fleet::SteadyTime> retry_at_;
  // Jobs that are kept and finished since then: when.
  std::map<job::JobId, fleet::SteadyTime> finished_;
  // Both clocks when the store was loaded.
  absl::Time loaded_wall_;
  fleet::SteadyTime loaded_at_;
  fleet::SteadyTime next_removal_;
  fleet::SteadyTime next_sweep_;
  // Jobs are gone of which events are left, or may be after a restart.
  bool must_sweep_ = true;
  absl::Status fatal_;
};

}  // namespace epochd::control
