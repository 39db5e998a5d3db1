// SPDX-License-Identifier: Apache-2.0
//
// Open files of this process.
#pragma once

#include "absl/status/statusor.h"

namespace epochd::net {

// Raises the soft limit to the hard one and returns it. gRPC 1.51 stops
// accepting for ever once it meets EMFILE, so a server does this first.
absl::StatusOr<uint64_t> RaiseFileLimit();

}  // namespace epochd::net
