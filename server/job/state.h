// SPDX-License-Identifier: Apache-2.0
//
// The two state machines and the closed set of reasons beside each state.
// Numbers are those of proto/epochd/v1/job.proto, so that the API converts by
// value; names are the proto's without prefix, in lower case.
//
// Job (server/job/job.h, Apply, is the only way to move):
//
//            (1)          (3)           (5)
//   QUEUED -----> STARTING ---> RUNNING ----> SUCCEEDED | FAILED
//     ^  |  (2)      | |         |  |
//     |<-------------+-|---------+  |
//     |                |   (4)      |
//     |  (6)           +--> STOPPING --(7)--> CANCELLED | SUCCEEDED | FAILED
//     +--> CANCELLED, FAILED
//
//   (1) an attempt was assigned      (2) it ended and another may follow
//   (3) every rank runs              (4) cancel or time limit, from either
//   (5) the attempt's end decides, also from STARTING
//   (6) no attempt is alive          (7) no process is alive any more
//   Also: each state that is not terminal to itself, with another reason.
//
// Attempt:
//
//   ASSIGNED -> STARTING -> RUNNING -> STOPPING -> ENDED
//   Any later state may follow at once; none goes back; ENDED is final.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace epochd::job {

enum class JobState : int8_t {
  kUnspecified = 0,  // before JobSubmitted
  kQueued = 1,
  kStarting = 2,
  kRunning = 3,
  kStopping = 4,
  kSucceeded = 5,
  kFailed = 6,
  kCancelled = 7,
};

enum class JobReason : int8_t {
  kUnspecified = 0,
  kSubmitted = 1,
  kNoWorkers = 2,
  kNoFreeDevices = 3,
  kBehindOthers = 4,
  kUnsatisfiable = 5,
  kComponentsMissing = 6,
  kRestartBackoff = 7,
  kAwaitingCertainEnd = 8,
  kAssigned = 9,
  kTraining = 10,
  kWorkerUnreachable = 11,
  kCancelRequested = 12,
  kTimeLimit = 13,
  kCompleted = 14,
  kCancelled = 15,
  kBadSpec = 16,
  kTrainingFailed = 17,
  kRestartsExhausted = 18,
  kNotRestartable = 19,
};

enum class AttemptState : int8_t {
  kUnspecified = 0,
  kAssigned = 1,
  kStarting = 2,
  kRunning = 3,
  kStopping = 4,
  kEnded = 5,
};

enum class AttemptReason : int8_t {
  kUnspecified = 0,
  kCompleted = 1,
  kCancelled = 2,
  kStoppedWithCheckpoint = 3,
  kBadSpec = 4,
  kTrainingFailed = 5,
  kRankLost = 6,
  kWorkerLost = 7,
  kHang = 8,
  kOomHost = 9,
  kStartFailed = 10,
  kTimeLimit = 11,
};

std::string_view Name(JobState state);
std::string_view Name(JobReason reason);
std::string_view Name(AttemptState state);
std::string_view Name(AttemptReason reason);

// Every value but kUnspecified, for tables and metrics.
const std::vector<JobState>& AllJobStates();
const std::vector<JobReason>& AllJobReasons();
const std::vector<AttemptState>& AllAttemptStates();
const std::vector<AttemptReason>& AllAttemptReasons();

bool IsTerminal(JobState state);

// Whether the edge is drawn above.
bool MayFollow(JobState from, JobState to);
bool MayFollow(AttemptState from, AttemptState to);
// Whether the reason may stand beside the state.
bool Explains(JobReason reason, JobState state);

}  // namespace epochd::job
