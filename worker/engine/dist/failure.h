// SPDX-License-Identifier: Apache-2.0
//
// Names the rank that failed first: when one rank throws, the others only see
// that it is gone. No collective is run on the way out.
#pragma once

#include <functional>

#include "worker/engine/dist/communicator.h"

namespace epochd::engine {

// Runs a rank's work. What it throws by itself is told to the other ranks and
// thrown on; a PeerError is thrown with what the first rank to fail told.
void NamingTheFirstFailure(Communicator& communicator,
                           const std::function<void()>& work);

}  // namespace epochd::engine
