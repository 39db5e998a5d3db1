// SPDX-License-Identifier: Apache-2.0
//
// Workers on which attempts keep failing for reasons of the machine's, and
// which are therefore given nothing for a while. A bad machine fails fast and
// so is free first: without this it would eat the queue. Pure over a given now,
// in memory alone: a coordinator that starts anew finds it out again.
//
// A worker is quarantined when Options::failures attempts in a row failed
// there, of at least Options::jobs different jobs, so that one job that crashes
// says nothing about a machine. The first time lasts Options::first; then the
// worker is on probation: the next failure quarantines it again for twice as
// long, up to Options::longest, and a success forgets everything.
//
//   Quarantine quarantine({});
//   quarantine.Failed(worker, job, now, may_begin);  // true: it began just now
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/time/time.h"
#include "server/fleet/steady_time.h"
#include "server/job/ids.h"

namespace epochd::fleet {

class Quarantine {
 public:
  struct Options {
    // 0: no worker is ever quarantined.
    int32_t failures = 3;
    int32_t jobs = 2;
    absl::Duration first = absl::Minutes(1);
    absl::Duration longest = absl::Hours(1);
  };

  explicit Quarantine(Options options) : options_(options) {}

  // An attempt failed there. `may_begin`: false keeps it from being quarantined
  // now; the failure counts all the same. Returns whether it was just now.
  bool Failed(const job::WorkerId& worker, job::JobId job, SteadyTime now,
              bool may_begin);
  // An attempt ended well there, or somebody says that the worker is fine.
  void Clear(const job::WorkerId& worker) { entries_.erase(worker); }

  // When it ends; nothing when there is none at `now`.
  std::optional<SteadyTime> EndOf(const job::WorkerId& worker,
                                  SteadyTime now) const;
  // How long the present or last one is; failures in a row up to now.
  absl::Duration TermOf(const job::WorkerId& worker) const;
  int32_t NumFailures(const job::WorkerId& worker) const;
  int32_t NumQuarantined(SteadyTime now) const;

  struct Entry {
    int32_t num_failures = 0;
    // No more than Options::jobs.
    std::set<job::JobId> jobs;
    std::optional<SteadyTime> end;
    absl::Duration term = absl::ZeroDuration();
  };
  using Entries = std::map<job::WorkerId, Entry>;
  // All that is known, to take a step back to.
  const Entries& entries() const { return entries_; }
  void Restore(Entries entries) { entries_ = std::move(entries); }

 private:
  const Options options_;
  Entries entries_;
};

}  // namespace epochd::fleet
