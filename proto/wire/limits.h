// SPDX-License-Identifier: Apache-2.0
//
// How large a field of a job may be: what clients check before they send and
// the coordinator checks again.
#pragma once

#include <cstdint>

namespace epochd::wire {

inline constexpr int32_t kMaxReplicas = 1024;
inline constexpr int32_t kMaxCpus = 1024;  // of a rank
inline constexpr int32_t kMaxRestarts = 1000;
inline constexpr int32_t kMaxKeptCheckpoints = 1000;
inline constexpr int32_t kMaxPriority = 100;

}  // namespace epochd::wire
