// SPDX-License-Identifier: Apache-2.0
//
// The one thread that owns the coordinator's state. Commands go into a mailbox;
// the thread takes all that wait, moves jobs by Apply, lets the scheduler
// place what it can, commits everything in one transaction and answers only
// then: what was acknowledged is durable. Reads never enter the mailbox; they
// see what was committed last, and a command's own effects once it answered.
//
// Every public method may be called from any thread. Callbacks run on the
// controller's thread (a refused command's on the caller's): they must be quick
// and must not block; they may call the controller again. Each callback given
// to a command runs exactly once.
//
//   Controller controller(options, clock, store);
//   RETURN_IF_ERROR(controller.Start());
//   controller.Submit(spec, request_id, [](absl::StatusOr<JobView> job) {...});
//   controller.Stop();  // refuses what comes, answers what came, joins
//
// Codes that any command may be answered with, beside its own:
//   ResourceExhausted  the store is out of space, or more commands wait than
//                      may (Options::max_mailbox); nothing happened, try again
//                      later
//   Unavailable        stopping, or the store failed and the process has to
//                      start again (Options::on_fatal was told)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/control/agent_messages.h"
#include "server/control/clock.h"
#include "server/control/options.h"
#include "server/control/subscription.h"
#include "server/control/views.h"
#include "server/job/ids.h"
#include "server/job/job.h"
#include "server/store/job_store.h"

namespace epochd::control {

class Controller {
 public:
  // `clock` and `store` outlive it. The store was not loaded yet.
  Controller(Options options, const Clock& clock, store::JobStore& store);
  // Stops.
  ~Controller();

  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Loads the store and starts the thread; the status is Load's. Before that,
  // commands are refused.
  absl::Status Start();
  // Refuses new commands, answers those in the mailbox, joins. May be repeated.
  void Stop();

  // ---- people -------------------------------------------------------------

  // Queues a job. `request_id` may be empty. The same one again with an equal
  // spec answers with the job it made; with another spec: InvalidArgument.
  void Submit(std::shared_ptr<const job::JobSpec> spec, std::string request_id,
              Done<JobView> done);
  // What the scheduler would say of such a job now: one sentence.
  void Hint(std::shared_ptr<const job::JobSpec> spec, Done<std::string> done);
  // Records the wish to cancel. A terminal or stopping job is returned as it
  // is. NotFound; Aborted when `etag` is not empty and not the job's.
  void Cancel(job::JobId id, std::string etag, Done<JobView> done);
  // NotFound; FailedPrecondition while the job is not terminal. `request_id`
  // may be empty. The same one again for the same job is OK again; for another
  // job: InvalidArgument.
  void Delete(job::JobId id, std::string request_id, DoneStatus done);
  // NotFound. Repeating is fine.
  void DrainWorker(job::WorkerId worker, bool undo,
                   Done<fleet::WorkerView> done);

  // NotFound.
  absl::StatusOr<JobView> Get(job::JobId id) const;
  absl::StatusOr<JobViewPage> List(const store::ListQuery& query) const;
  // Newest first. NotFound.
  absl::StatusOr<std::vector<job::Checkpoint>> ListCheckpoints(
      job::JobId id, bool show_removed) const;
  // By name.
  std::vector<fleet::WorkerView> ListWorkers() const;
  absl::StatusOr<fleet::WorkerView> GetWorker(const job::WorkerId& id) const;
  Stats GetStats() const;
  // OK while the store takes writes; else why commands that change something
  // are refused.
  absl::Status StoreStatus() const;
  std::string cluster_id() const;
  // Whether the coordinator keeps the job, and whether a job that it keeps uses
  // an uploaded file with this content.
  absl::StatusOr<bool> KeepsJob(job::JobId id) const;
  absl::StatusOr<bool> UsesFile(std::string_view sha256) const;

  // Committed events with sequence > after, at most `limit`. NotFound, also
  // once the job was deleted.
  absl::StatusOr<EventPage> ReadEvents(job::JobId id, int64_t after,
                                       int32_t limit) const;
  // The newest progress of the job's live attempt with number > after; empty
  // when there is none.
  std::optional<NumberedProgress> ReadProgress(job::JobId id,
                                               int64_t after) const;
  // Calls `wake` after each change that ReadEvents or ReadProgress would show,
  // and when the job is deleted. Changes before the call are not told: watch
  // first, then read until nothing is new, then wait for `wake`. NotFound.
  absl::StatusOr<std::unique_ptr<Subscription>> WatchJob(
      job::JobId id, std::function<void()> wake);

  // ---- agents -------------------------------------------------------------

  // Makes the worker known. An older agent of the name is superseded: its
  // watches and calls get Aborted. InvalidArgument for devices named twice.
  void Register(Registration registration, Done<RegisterResult> done);
  // Renews the lease as of now, not as of when the mailbox is read. NotFound:
  // register first. Aborted: superseded by a newer agent, stop. Answered with
  // what is desired also while the store is out of space.
  void SendHeartbeat(Heartbeat heartbeat,
                     Done<std::shared_ptr<const DesiredState>> done);
  // Takes in lines; answers with the next wanted offset once they are durable.
  // An offset beyond the wanted one takes nothing in and is answered with the
  // wanted one. FailedPrecondition: not the live attempt, stop it. Aborted,
  // NotFound as above. InvalidArgument: no such rank there, or a torn line.
  void ReportEvents(EventLines lines, Done<int64_t> done);
  // Whether the agent may write for this rank (logs); codes as ReportEvents.
  absl::Status Admit(const job::WorkerId& worker,
                     const job::Incarnation& incarnation,
                     const job::AttemptId& attempt, int32_t rank) const;

  using DesiredCallback =
      std::function<void(absl::StatusOr<std::shared_ptr<const DesiredState>>)>;
  // Calls `changed` with what is desired, now (on the calling thread) and at
  // each change (an older version than seen is to be ignored); with Aborted,
  // and then no more, once a newer agent took the name. Codes as SendHeartbeat.
  absl::StatusOr<std::unique_ptr<Subscription>> WatchDesired(
      const job::WorkerId& worker, const job::Incarnation& incarnation,
      DesiredCallback changed);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace epochd::control
