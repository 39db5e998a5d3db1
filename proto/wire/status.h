// SPDX-License-Identifier: Apache-2.0
//
// A status across the wire, by one pair of functions, details included. Inside
// the process a detail is a payload of absl::Status under the type URL of its
// google.rpc message; on the wire they travel as one google.rpc.Status, as
// AIP-193 has it. Stateless; any thread.
#pragma once

#include <grpcpp/support/status.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace epochd::wire {

// Domain of our ErrorInfo reasons.
inline constexpr char kErrorDomain[] = "epochd";

// A rule that a field of a request breaks. The field is a path as people write
// it in a job file, such as `experiment.optimizer.lr`.
struct FieldViolation {
  std::string field;
  std::string description;
};

// INVALID_ARGUMENT with BadRequest details. Trailers of a foreign gRPC client
// hold 8 KiB, so details that would not fit are cut and the last one counts
// what is missing; ValidateJob answers with all of them. The message is the
// first violation and how many more there are. Needs at least one.
absl::Status BadRequest(const std::vector<FieldViolation>& violations);

// Violations of a BadRequest; empty when the status has none.
std::vector<FieldViolation> Violations(const absl::Status& status);

// Adds a stable reason, UPPER_SNAKE_CASE, that programs can tell apart.
absl::Status WithReason(
    absl::Status status, const std::string& reason,
    const std::map<std::string, std::string>& metadata = {});
// Reason of our domain; empty when there is none.
std::string Reason(const absl::Status& status);

// Adds when a retry makes sense. ToGrpc adds kRetryDelay to what says "try
// again", UNAVAILABLE and RESOURCE_EXHAUSTED, where nothing else was said.
inline constexpr absl::Duration kRetryDelay = absl::Seconds(1);
absl::Status WithRetryDelay(absl::Status status, absl::Duration delay);
std::optional<absl::Duration> RetryDelay(const absl::Status& status);

// Converts with every payload that is a google.rpc detail. The message is made
// valid UTF-8.
grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace epochd::wire
