// SPDX-License-Identifier: Apache-2.0
//
// GradientSync by c10d::Reducer, for any backend. The reducer groups gradients
// into buckets, and after the first step regroups them by the order in which
// they became ready (not where parameters may be unused, and not for a static
// graph); at three ranks and more that changes in which order sums are taken.
// State() therefore holds the buckets, and a run that goes on starts with them.
#pragma once

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

#include "worker/engine/dist/communicator.h"

namespace epochd::engine {

std::unique_ptr<GradientSync> MakeReducerSync(
    c10::intrusive_ptr<c10d::ProcessGroup> group,
    std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers,
    const SyncOptions& options, const nlohmann::ordered_json& state);

// Whether a message is about peers and connections, not about the caller.
bool IsPeerProblem(const std::string& message);
[[noreturn]] void ThrowPeerProblem(const char* what, const std::string& cause);

// Runs `work` and turns what a backend throws about peers and time into a
// PeerError, "<what>: ...".
template <class Work>
auto WithPeers(const char* what, Work&& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (!IsPeerProblem(error.what())) throw;
    ThrowPeerProblem(what, error.what());
  }
}

}  // namespace epochd::engine
