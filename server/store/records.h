// SPDX-License-Identifier: Apache-2.0
//
// Values to bytes on disk and back: the only place that knows the messages of
// proto/epochd/storage/v1. Each record ends in a checksum, so that a page that
// the disk changed is DataLoss and not a different job. Pure functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/fleet/worker.h"
#include "server/job/event.h"
#include "server/job/job.h"
#include "server/job/spec.h"

namespace epochd::store {

std::string EncodeSpec(const job::JobSpec& spec);
absl::StatusOr<job::JobSpec> DecodeSpec(std::string_view record);

// Without spec, id and submit number, which have columns of their own.
std::string EncodeJob(const job::Job& job);
absl::StatusOr<job::Job> DecodeJob(std::string_view record);

// Without the sequence and what JobSubmitted carries.
std::string EncodeEvent(const job::Event& event);
absl::StatusOr<job::Event> DecodeEvent(std::string_view record);

// Without the name.
std::string EncodeWorker(const fleet::WorkerRecord& worker);
absl::StatusOr<fleet::WorkerRecord> DecodeWorker(std::string_view record);

}  // namespace epochd::store
