// SPDX-License-Identifier: Apache-2.0
//
// The transport over gRPC: the one place of the agent that knows agent.proto.
// Any thread. Every call but WatchDesired has a deadline.
#pragma once

#include <memory>

#include "net/channel.h"
#include "worker/agent/transport.h"

namespace epochd::agent {

// Fails as net::MakeChannel does; does not wait for a connection.
absl::StatusOr<std::unique_ptr<Transport>> MakeGrpcTransport(
    const net::ChannelOptions& options);

}  // namespace epochd::agent
