// SPDX-License-Identifier: Apache-2.0
//
// What a rank's exit code means to the agent. Explicit, so that a wrong job is
// not restarted for ever and a lost machine is not blamed on the training.
#pragma once

namespace epochd::link {

enum ExitCode : int {
  kDone = 0,
  // Training failed by itself: NaN policy, an exception in the loop.
  kTrainingFailed = 70,
  // Peers, storage or device went away; starting again may help.
  kInfrastructure = 71,
  // A trainer that could keep nothing, and so did not begin: another node may.
  kNoStorage = 73,
  // Stopped on request, with a checkpoint to go on from.
  kStoppedWithCheckpoint = 75,
  // The lease ended: no word from the agent for too long.
  kSelfFenced = 76,
  // The experiment cannot be built as written.
  kBadSpec = 78,
};

}  // namespace epochd::link
