// SPDX-License-Identifier: Apache-2.0
//
// Which queued jobs start now, where, and why the others wait. Pure: the same
// arguments give the same answer.
//
// Order: priority, the higher first, then submit order; a job that was
// requeued keeps its place. The rule is strict: the first job that could run on
// the present fleet but has to wait for devices holds up all behind it that
// want the same kind of device, so nothing small keeps a big gang waiting for
// ever. Passed over, with a reason, are only jobs that wait out a backoff, jobs
// that the present fleet could not run even if it were idle, and those that it
// could run only with workers that are in quarantine. There is no backfill over
// the head.
//
// A worker that could not start the job gets it again only if the others could
// not hold it. A gang gets all of its ranks or none. An elastic job takes what
// is free, from replicas.min to replicas.max. Ranks go to one worker where they
// fit (the first by name, so that workers fill one after another), which
// same_node: required insists on; else to few workers.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/fleet/steady_time.h"
#include "server/job/event.h"
#include "server/job/ids.h"
#include "server/job/spec.h"
#include "server/job/state.h"
#include "server/schedule/fit.h"

namespace epochd::schedule {

struct QueuedJob {
  job::JobId id;
  const job::JobSpec* spec = nullptr;
  // Backoff ends here.
  fleet::SteadyTime not_before;
  // Workers that could not start it, for what may be reasons of theirs.
  std::set<job::WorkerId> avoid = {};
  // Where its checkpoints lie, as nobody else is known to see them. Taken where
  // all of its ranks fit there now, which is better than to begin anew.
  std::optional<job::WorkerId> prefer = {};
};

struct Assignment {
  job::JobId job;
  // In rank order.
  std::vector<job::RankPlacement> ranks;
};

struct Waiting {
  job::JobId job;
  job::JobReason reason = job::JobReason::kUnspecified;
  // One sentence for people.
  std::string message;
  // 1 is next.
  int32_t position = 0;
};

struct Decision {
  std::vector<Assignment> assignments;
  // Every queued job that is not assigned, in order.
  std::vector<Waiting> waiting;
};

// `queue` is in the order above (QueueKey).
Decision Plan(fleet::SteadyTime now, const std::vector<QueuedJob>& queue,
              const std::vector<Offer>& fleet);

// The queue's order.
struct QueueKey {
  int32_t priority = 0;
  int64_t submit_number = 0;

  friend bool operator<(const QueueKey& a, const QueueKey& b) {
    return a.priority != b.priority ? a.priority > b.priority
                                    : a.submit_number < b.submit_number;
  }
};

}  // namespace epochd::schedule
