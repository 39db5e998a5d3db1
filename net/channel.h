// SPDX-License-Identifier: Apache-2.0
//
// The way to a coordinator, for client and agent: target, TLS, token, retries,
// keepalive and limits in one place. The channel connects by itself, again and
// again; it lives as long as its stubs do and may be used from any thread.
//
//   auto channel = net::MakeChannel({.server = "127.0.0.1:7950",
//                                    .token = *net::LoadToken(path)});
//   auto stub = v1::JobService::NewStub(*channel);
//   grpc::ClientContext context;
//   net::SetDeadline(context, net::kCallDeadline);
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "net/retry_policy.h"
#include "net/tls.h"
#include "net/token.h"

namespace epochd::net {

// Of a call that asks for one answer.
inline constexpr absl::Duration kCallDeadline = absl::Seconds(15);

struct ChannelOptions {
  // host:port
  std::string server = {};
  // Sent with every call.
  std::optional<Token> token = {};
  // Any file, or `use_tls`: TLS. A client needs no certificate of its own.
  TlsFiles tls = {};
  // TLS with the system's roots.
  bool use_tls = false;
  // Lets the token travel in plaintext to another machine.
  bool insecure = false;
  RetryPolicy retry = {};
};

// Does not wait for a connection. Fails as ParseAddress and CheckTlsFiles do,
// and with FAILED_PRECONDITION where the token would leave the machine in
// plaintext.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(
    const ChannelOptions& options);

// Every call has one; streams that follow something are the exception
// (infinite).
void SetDeadline(grpc::ClientContext& context, absl::Duration timeout);

}  // namespace epochd::net
