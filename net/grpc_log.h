// SPDX-License-Identifier: Apache-2.0
//
// gRPC's own log lines.
#pragma once

namespace epochd::net {

// Sends what gRPC says to our log, errors as warnings, all else as debug. Call
// from main() once logging is set up and before gRPC is used.
void ForwardGrpcLog();

}  // namespace epochd::net
