// SPDX-License-Identifier: Apache-2.0
//
// What agents said about one live attempt, and what follows from it. In memory
// alone: agents say it all again after a restart of the coordinator. Single
// thread, no clock.
//
// An attempt ends only when each of its workers either reported kEnded and
// handed in all lines, or is certainly without a process of it: lost, rebooted,
// or its agent, on the work folder that the ranks were placed into, has none.
// An agent that came back on another work folder cannot tell: what ran there is
// an orphan until its lease has certainly ended.
// So every line that counts is journalled before the attempt's end is, unless
// its agent stopped handing in; that is told (MissingFrom).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/control/agent_messages.h"
#include "server/fleet/steady_time.h"
#include "server/job/event.h"
#include "server/job/ids.h"
#include "server/job/job.h"
#include "server/job/state.h"

namespace epochd::control {

class AttemptWatch {
 public:
  AttemptWatch() = default;
  // Of a new attempt, or of one that the journal knows: once every rank ran,
  // every worker had taken it on.
  explicit AttemptWatch(const job::Attempt& attempt);

  job::AttemptNumber number() const { return number_; }
  const std::string& rendezvous() const { return rendezvous_; }

  // Takes in the newest report of a worker. Returns whether anything changed.
  // A report by who can tell ends being an orphan.
  bool Observe(const job::WorkerId& worker, const ObservedAttempt& observed,
               fleet::SteadyTime now);
  // The worker's newest report does not name the attempt. Ends it there if it
  // had been reported before; else the agent has yet to take it on.
  bool ObserveAbsent(const job::WorkerId& worker);
  // The worker has another work folder than the ranks were placed into. Ends
  // the attempt, but not there until MarkGone. Returns whether that is news.
  bool Orphan(const job::WorkerId& worker, const std::string& message,
              fleet::SteadyTime now);
  // No process of it can be alive there, whatever the agent said last.
  bool MarkGone(const job::WorkerId& worker, const std::string& message);

  // Problems that were taken in shall be news again.
  void ForgetProblems(const job::WorkerId& worker);

  // Its agent could not hand in lines up to now, so the time for that begins
  // anew. It also does whenever the agent handed in something.
  void PostponeDrain(const job::WorkerId& worker, fleet::SteadyTime now);

  bool IsGoneOn(const job::WorkerId& worker) const;
  bool IsOrphanedOn(const job::WorkerId& worker) const;
  // No agent has renewed a lease of it there since Orphan.
  bool IsOrphanedFor(const job::WorkerId& worker, absl::Duration term,
                     fleet::SteadyTime now) const;
  // Whether all ranks there have ended or are gone.
  bool IsOverOn(const job::WorkerId& worker) const;

  // Where the first thing went wrong.
  std::optional<job::WorkerId> BlamedWorker() const;
  // What `worker` last said went wrong.
  std::vector<std::string> Problems(const job::WorkerId& worker) const;
  // Whether every worker has all it needs, so that no rank waits for a peer
  // that is still fetching files. Always so for an attempt on one worker.
  bool MayStart(const job::Attempt& attempt) const;
  // Workers that ended it without handing in all lines and log bytes. Of an
  // attempt for which Next said kEnded.
  std::vector<job::WorkerId> MissingFrom() const;

  // The next step of `attempt`, if it is time for one. `now` decides whether an
  // agent that hands in nothing had long enough (drain_deadline).
  std::optional<job::AttemptStateChanged> Next(
      const job::Attempt& attempt, fleet::SteadyTime now,
      absl::Duration drain_deadline) const;

  // When Next has to be asked again though nothing was reported.
  fleet::SteadyTime NextDeadline(absl::Duration drain_deadline) const;

 private:
  struct Report {
    ObservedAttempt last;
    bool seen = false;
    bool gone = false;
    std::optional<fleet::SteadyTime> orphaned_at;
    // When it was reported as ended, or something was last handed in.
    fleet::SteadyTime drains_since;
  };
  struct Cause {
    job::WorkerId worker;
    job::AttemptReason reason = job::AttemptReason::kUnspecified;
    std::string message;
    // Of ranks that only lost their peers: what another worker says, or its
    // loss, explains the end better.
    bool lost_peers = false;
  };

  // Takes it as the cause unless a better one is known.
  void Blame(Cause cause);
  void FindCause(const job::WorkerId& worker, const Report& report);
  const Report* Find(const job::WorkerId& worker) const;
  Cause FinalCause(const job::Attempt& attempt) const;
  std::vector<job::RankPlacement> WithExits(const job::Attempt& attempt) const;

  job::AttemptNumber number_;
  std::string rendezvous_;
  std::map<job::WorkerId, Report> reports_;
  // The first thing that went wrong by itself; until one is known, the first
  // that only followed.
  std::optional<Cause> cause_;
};

}  // namespace epochd::control
