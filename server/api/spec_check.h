// SPDX-License-Identifier: Apache-2.0
//
// From what was sent to what the coordinator holds: checks every field of a
// JobSpec, fills in the defaults, and reports all violations at once, with
// field paths as people write them in a job file. Stateless.
#pragma once

#include <cstdint>
#include <vector>

#include "epochd/v1/job.pb.h"
#include "proto/wire/status.h"
#include "server/api/catalogues.h"
#include "server/job/spec.h"

namespace epochd::api {

inline constexpr int64_t kMaxSpecBytes = 256 << 10;
inline constexpr int64_t kMaxFiles = 64;

struct CheckedSpec {
  // Meaningful only without violations.
  job::JobSpec spec;
  std::vector<wire::FieldViolation> violations;
};

// `known` may be null: the experiment is then checked for form alone.
CheckedSpec CheckSpec(const v1::JobSpec& spec, const KnownCatalogue* known,
                      int64_t max_file_bytes);

}  // namespace epochd::api
