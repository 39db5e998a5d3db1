// SPDX-License-Identifier: Apache-2.0
//
// Settings of the controller, and the shape of its answers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/fleet/quarantine.h"
#include "server/job/ids.h"

namespace epochd::control {

struct Options {
  absl::Duration heartbeat_interval = absl::Seconds(2);
  // Silent for this long: shown as unreachable, given no new work.
  absl::Duration unreachable_after = absl::Seconds(10);
  // Silent for this long: shown as lost. Jobs go by their own
  // worker_lost_after.
  absl::Duration lost_after = absl::Minutes(2);
  // Trainers end themselves after this share of the job's worker_lost_after.
  double self_fence_share = 0.8;
  // From SIGTERM to SIGKILL.
  absl::Duration stop_grace = absl::Seconds(30);
  // An attempt that ended is recorded once its agent, being heard, handed in no
  // line and no log byte for so long, though some may be missing.
  absl::Duration drain_deadline = absl::Minutes(1);
  // A worker silent for so long, with nothing placed on it, is forgotten.
  absl::Duration forget_after = absl::Hours(24);
  fleet::Quarantine::Options quarantine;
  // A finished job is removed, with its events, logs and request ids, so long
  // after its end: by the steady clock, or by the wall clock, which alone
  // outlives a restart, for a job of before one. Infinite: never.
  absl::Duration finished_job_ttl = absl::Hours(24) * 30;
  // More finished jobs are not kept: those that finished first go first, but
  // none before it was finished for min_finished_age, so that who submitted it
  // sees its end and a repeated request finds it.
  int64_t max_finished_jobs = 100000;
  absl::Duration min_finished_age = absl::Minutes(5);
  // Submits are refused with ResourceExhausted beyond.
  int64_t max_live_jobs = 100000;
  // What may wait for the control thread; see Mailbox::Sender for how it is
  // shared. Beyond, callers get ResourceExhausted.
  int64_t max_mailbox = 65536;
  int64_t max_mailbox_bytes = int64_t{256} << 20;
  // Events of a job kept in memory for readers; older ones come from the store.
  int32_t tail_events = 256;
  // 64 random bits; empty: the system's randomness.
  std::function<uint64_t()> random;
  // Told of jobs that are gone for good, by request or by age: what else is
  // kept of them can go. On the control thread, which it must not hold up.
  std::function<void(const std::vector<job::JobId>&)> on_removed;
  // Called at most once, when the store failed so that the process has to end
  // and start again.
  std::function<void(absl::Status)> on_fatal;
};

template <typename T>
using Done = absl::AnyInvocable<void(absl::StatusOr<T>)>;
using DoneStatus = absl::AnyInvocable<void(absl::Status)>;

}  // namespace epochd::control
