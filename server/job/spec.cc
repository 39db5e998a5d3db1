// SPDX-License-Identifier: Apache-2.0
#include "server/job/spec.h"

namespace epochd::job {

std::string_view Name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kGpu:
      return "gpu";
    case DeviceKind::kUnspecified:
      break;
  }
  return "unspecified";
}

const std::vector<AttemptReason>& DefaultRestartReasons() {
  static const auto& reasons = *new std::vector<AttemptReason>{
      AttemptReason::kWorkerLost, AttemptReason::kRankLost,
      AttemptReason::kHang, AttemptReason::kOomHost};
  return reasons;
}

}  // namespace epochd::job
