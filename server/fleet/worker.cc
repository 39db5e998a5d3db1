// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/worker.h"

namespace epochd::fleet {

std::string_view Name(WorkerState state) {
  switch (state) {
    case WorkerState::kReady:
      return "ready";
    case WorkerState::kDraining:
      return "draining";
    case WorkerState::kUnreachable:
      return "unreachable";
    case WorkerState::kLost:
      return "lost";
    case WorkerState::kNotReady:
      return "not_ready";
    case WorkerState::kQuarantined:
      return "quarantined";
    case WorkerState::kUnspecified:
      break;
  }
  return "unspecified";
}

const std::vector<WorkerState>& AllWorkerStates() {
  static const auto& states = *new std::vector<WorkerState>{
      WorkerState::kReady, WorkerState::kDraining, WorkerState::kUnreachable,
      WorkerState::kLost,  WorkerState::kNotReady, WorkerState::kQuarantined};
  return states;
}

}  // namespace epochd::fleet
