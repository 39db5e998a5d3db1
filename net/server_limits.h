// SPDX-License-Identifier: Apache-2.0
//
// What one caller may ask of a gRPC server at most. Stateless.
#pragma once

#include <grpcpp/server_builder.h>

namespace epochd::net {

inline constexpr int kMaxMessageBytes = 4 << 20;
inline constexpr int kMaxMetadataBytes = 16 << 10;
inline constexpr int kMaxStreamsPerConnection = 256;

// Sets message, metadata and stream limits, keepalive (a silent peer's
// connection is closed after about 40 s; pings down to every 10 s are welcome)
// and the memory that all calls together may use.
void ApplyServerLimits(grpc::ServerBuilder& builder);

}  // namespace epochd::net
