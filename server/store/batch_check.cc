// SPDX-License-Identifier: Apache-2.0
#include "server/store/batch_check.h"

#include <set>

#include "absl/strings/str_cat.h"

namespace epochd::store {
namespace {

absl::Status Broken(job::JobId id, const char* problem) {
  return absl::InternalError(
      absl::StrCat("batch: ", id.ResourceName(), ": ", problem));
}

}  // namespace

absl::Status CheckBatch(const Batch& batch) {
  std::set<job::JobId> seen;
  for (const JobWrite& write : batch.jobs) {
    if (write.job == nullptr) return Broken(job::JobId(), "no job");
    const job::Job& job = *write.job;
    if (job.spec == nullptr) return Broken(job.id, "no spec");
    if (!seen.insert(job.id).second) return Broken(job.id, "named twice");
    const auto num_events = static_cast<int64_t>(write.events.size());
    int64_t next = job.last_sequence - num_events + 1;
    for (const job::Event& event : write.events) {
      if (event.sequence != next++) {
        return Broken(job.id, "events do not lead to its last sequence");
      }
    }
  }
  for (const job::JobId id : batch.deleted_jobs) {
    if (!seen.insert(id).second) return Broken(id, "named twice");
  }
  return absl::OkStatus();
}

}  // namespace epochd::store
