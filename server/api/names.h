// SPDX-License-Identifier: Apache-2.0
//
// Resource names in requests. InvalidArgument names the field, the value and
// the form. Stateless.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/job/ids.h"

namespace epochd::api {

// jobs/{job}
absl::StatusOr<job::JobId> ParseJobName(const std::string& name);
// workers/{worker}
absl::StatusOr<job::WorkerId> ParseWorkerName(const std::string& name);
// A worker's bare name, from its agent.
absl::StatusOr<job::WorkerId> ParseWorker(const std::string& worker);
absl::StatusOr<job::Incarnation> ParseIncarnation(const std::string& text);
absl::StatusOr<job::AttemptId> ParseAttemptName(const std::string& name);

}  // namespace epochd::api
