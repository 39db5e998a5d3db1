// SPDX-License-Identifier: Apache-2.0
//
// What a gRPC listener asks of its callers, on TLS and plaintext alike: every
// call but those of grpc.health.v1 carries `authorization: Bearer TOKEN`. A
// call without is answered UNAUTHENTICATED before any handler sees it, and the
// header is taken away from calls that pass. This is the only place where a
// call is authenticated.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "net/tls.h"
#include "net/token.h"

namespace epochd::net {

struct ServerCredentialsOptions {
  // Empty: plaintext. With `ca` clients must show a certificate of it.
  TlsFiles tls = {};
  // Absent: anyone may call.
  std::optional<TokenHash> token = {};
};

// Fails as CheckTlsFiles does. Whether an address may be served this way is
// CheckBind's question.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const ServerCredentialsOptions& options);

}  // namespace epochd::net
