// SPDX-License-Identifier: Apache-2.0
//
// What epochctl's exit code says. Part of the interface: never renumber.
#pragma once

#include "absl/status/status.h"
#include "epochd/v1/job.pb.h"

namespace epochd::epochctl {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kNotFound = 3;
inline constexpr int kNotAllowed = 4;
inline constexpr int kUnreachable = 5;
inline constexpr int kConflict = 6;
inline constexpr int kInvalid = 7;
// What became of a job: run, wait, watch, logs -f, submit --watch.
inline constexpr int kJobFailed = 100;
inline constexpr int kJobNotFinished = 101;
inline constexpr int kJobNotFound = 102;
inline constexpr int kJobCancelled = 103;
inline constexpr int kTimeout = 124;
inline constexpr int kInterrupted = 130;
inline constexpr int kTerminated = 143;

int ExitCode(const absl::Status& status);
// kOk for a job that succeeded.
int OutcomeCode(v1::JobState state);

}  // namespace epochd::epochctl
