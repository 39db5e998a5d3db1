// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/exit_code.h"

namespace epochd::epochctl {

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kOk;
    case absl::StatusCode::kNotFound:
      return kNotFound;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return kNotAllowed;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kUnreachable;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
      return kConflict;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return kInvalid;
    case absl::StatusCode::kCancelled:
      return kInterrupted;
    default:
      return kFailed;
  }
}

int OutcomeCode(v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_SUCCEEDED:
      return kOk;
    case v1::JOB_STATE_FAILED:
      return kJobFailed;
    case v1::JOB_STATE_CANCELLED:
      return kJobCancelled;
    default:
      return kJobNotFinished;
  }
}

}  // namespace epochd::epochctl
