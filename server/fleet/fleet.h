// SPDX-License-Identifier: Apache-2.0
//
// Which workers there are and how their leases stand. Pure over a given now:
// it has no clock, no thread and no disk. Devices in use are not counted here;
// they follow from the live attempts alone.
//
// A worker's silence is the time since its last renewal. Beyond
// unreachable_after it is unreachable: shown, given no new work, all else left
// alone. A job that runs there takes it for lost after the job's own
// worker_lost_after; the view calls it lost after lost_after.
//
// Silence is not counted while it is likely our own fault:
//   - a stalled coordinator (NoteStall) gives every worker that time back;
//   - when two or more workers are known and all of them fall silent, the clock
//     of all leases stands still until one is heard, and then every worker
//     starts a full term, but is given nothing until it is heard itself;
//   - Restore, for a coordinator that starts again, begins a full term.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/fleet/steady_time.h"
#include "server/fleet/worker.h"
#include "server/job/ids.h"

namespace epochd::fleet {

struct FleetOptions {
  absl::Duration unreachable_after = absl::Seconds(10);
  absl::Duration lost_after = absl::Minutes(2);
};

class Fleet {
 public:
  explicit Fleet(FleetOptions options) : options_(options) {}

  // A worker known from before; it has yet to be heard.
  void Restore(WorkerRecord record, SteadyTime now);

  struct Registered {
    // The agent is another than before; it may have adopted trainers.
    bool new_incarnation = false;
    // Processes of before are certainly dead.
    bool new_boot = false;
    // What it observes is news; false for a call that a later one overtook.
    bool newest = true;
  };
  // Makes the worker known with a full term from `now`. Keeps `draining` and,
  // for the same incarnation, the time of registration. Aborted for an
  // incarnation that was superseded. AlreadyExists for another agent on another
  // work folder while the first is not unreachable: two machines with one name.
  // InvalidArgument for a device id given twice.
  absl::StatusOr<Registered> Register(WorkerRecord record, int64_t sequence,
                                      SteadyTime now);

  // Renews the lease. Returns whether what the call observes is news, as
  // above. NotFound: never registered. Aborted: superseded.
  absl::StatusOr<bool> Renew(const job::WorkerId& id,
                             const job::Incarnation& incarnation,
                             int64_t sequence, SteadyTime now);

  // OK for the current agent of the name; codes as Renew.
  absl::Status Admit(const job::WorkerId& id,
                     const job::Incarnation& incarnation) const;

  // What the agent last said of itself; a new agent is not stopping, and ready.
  // `why`: what keeps it from starting anything; empty: nothing does.
  void SetStopping(const job::WorkerId& id, bool stopping);
  void SetNotReady(const job::WorkerId& id, std::string why);
  bool IsStopping(const job::WorkerId& id) const;

  // A job gave it up for its silence, which it may do sooner than
  // unreachable_after: no other is given to it until it is heard again.
  void Suspect(const job::WorkerId& id);

  // False for an unknown worker.
  bool SetDraining(const job::WorkerId& id, bool draining);

  // Call before asking for states at a new `now`; notices that all are silent.
  void Tick(SteadyTime now);
  // The coordinator did nothing for `gap` up to `now`.
  void NoteStall(absl::Duration gap, SteadyTime now);

  // Null for an unknown worker.
  const WorkerRecord* Find(const job::WorkerId& id) const;
  // All, by name.
  std::vector<const WorkerRecord*> All() const;

  WorkerState StateOf(const job::WorkerId& id, SteadyTime now) const;
  // A sentence beside the state; empty when there is nothing to say.
  std::string MessageOf(const job::WorkerId& id, SteadyTime now) const;

  // Nothing heard for unreachable_after, and since this coordinator started.
  bool IsSilent(const job::WorkerId& id, SteadyTime now) const;

  // Whether no process of a job with this worker_lost_after can be alive there,
  // as its trainers ended themselves earlier. True for an unknown worker.
  bool CertainlyEnded(const job::WorkerId& id, absl::Duration worker_lost_after,
                      SteadyTime now) const;
  // The same, but not while all workers are silent: what to act on when nobody
  // asked for an end.
  bool LostFor(const job::WorkerId& id, absl::Duration worker_lost_after,
               SteadyTime now) const;

  // Workers that have been silent for so long, by name.
  std::vector<job::WorkerId> SilentFor(absl::Duration term,
                                       SteadyTime now) const;
  void Forget(const job::WorkerId& id) { entries_.erase(id); }

  bool frozen() const { return frozen_at_.has_value(); }

 private:
  struct Entry {
    WorkerRecord record;
    SteadyTime renewed;
    int64_t sequence = 0;
    // Heard since this coordinator started, and since all were silent.
    bool heard = false;
    bool was_heard = false;
    bool stopping = false;
    bool suspect = false;
    std::string not_ready;
    // Superseded incarnations, oldest first.
    std::deque<job::Incarnation> retired;
  };

  const Entry* FindEntry(const job::WorkerId& id) const;
  absl::Duration Silence(const Entry& entry, SteadyTime now) const;
  void Renewed(Entry& entry, SteadyTime now);
  static bool TakesIn(Entry& entry, int64_t sequence);

  const FleetOptions options_;
  std::map<job::WorkerId, Entry> entries_;
  std::optional<SteadyTime> frozen_at_;
};

}  // namespace epochd::fleet
