// SPDX-License-Identifier: Apache-2.0
//
// The communicator of ranks on CPUs: c10d's Gloo backend over TCP, gradients
// by c10d::Reducer. Making one waits until all ranks are there.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "worker/engine/dist/communicator.h"

namespace epochd::engine {

struct GlooOptions {
  int rank = 0;
  int world_size = 1;
  // host:port of the store that ranks meet at; rank 0 serves it.
  std::string rendezvous{};
  // Rank 0: a bound, listening socket to serve it from; -1: bind the port.
  int listen_fd = -1;
  // Address by which this node's peers reach it; empty: the one that leads to
  // the rendezvous.
  std::string host{};
  std::chrono::milliseconds timeout = std::chrono::seconds(120);
};

// Throws Error(kInfrastructure) when ranks do not meet in time.
std::unique_ptr<Communicator> MakeGlooCommunicator(const GlooOptions& options);

}  // namespace epochd::engine
