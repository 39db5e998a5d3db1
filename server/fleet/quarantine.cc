// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/quarantine.h"

#include <algorithm>

namespace epochd::fleet {

bool Quarantine::Failed(const job::WorkerId& worker, job::JobId job,
                        SteadyTime now, bool may_begin) {
  Entry& entry = entries_[worker];
  ++entry.num_failures;
  if (static_cast<int32_t>(entry.jobs.size()) < options_.jobs) {
    entry.jobs.insert(job);
  }
  // Attempts that began before it may still fail in it: that is no news.
  if (entry.end && now < *entry.end) return false;
  const bool is_bad = options_.failures > 0 &&
                      entry.num_failures >= options_.failures &&
                      static_cast<int32_t>(entry.jobs.size()) >= options_.jobs;
  if (!is_bad || !may_begin) return false;
  entry.term =
      entry.end ? std::min(2 * entry.term, options_.longest) : options_.first;
  entry.end = now + entry.term;
  return true;
}

std::optional<SteadyTime> Quarantine::EndOf(const job::WorkerId& worker,
                                            SteadyTime now) const {
  const auto it = entries_.find(worker);
  if (it == entries_.end() || !it->second.end || *it->second.end <= now) {
    return std::nullopt;
  }
  return it->second.end;
}

absl::Duration Quarantine::TermOf(const job::WorkerId& worker) const {
  const auto it = entries_.find(worker);
  return it == entries_.end() ? absl::ZeroDuration() : it->second.term;
}

int32_t Quarantine::NumFailures(const job::WorkerId& worker) const {
  const auto it = entries_.find(worker);
  return it == entries_.end() ? 0 : it->second.num_failures;
}

int32_t Quarantine::NumQuarantined(SteadyTime now) const {
  return static_cast<int32_t>(
      std::count_if(entries_.begin(), entries_.end(), [&](const auto& item) {
        return item.second.end && now < *item.second.end;
      }));
}

}  // namespace epochd::fleet
