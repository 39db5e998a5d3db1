// SPDX-License-Identifier: Apache-2.0
//
// The communicator of a run with one rank: everything is local.
#pragma once

#include <memory>

#include "worker/engine/dist/communicator.h"

namespace epochd::engine {

std::unique_ptr<Communicator> MakeSingleCommunicator();

}  // namespace epochd::engine
