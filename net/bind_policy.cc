// SPDX-License-Identifier: Apache-2.0
#include "net/bind_policy.h"

#include "absl/strings/str_cat.h"

namespace epochd::net {

absl::Status CheckBind(const std::string& flag, const Address& address,
                       const BindPolicy& policy) {
  if (address.IsLoopback() || policy.insecure) return absl::OkStatus();
  if (policy.tls && policy.token) return absl::OkStatus();
  const char* missing = !policy.tls && !policy.token
                            ? "without TLS and a token"
                            : (policy.tls ? "without a token" : "without TLS");
  return absl::FailedPreconditionError(absl::StrCat(
      flag, ": '", address.ToString(), "' can be reached by others ", missing,
      "; listen on 127.0.0.1, or give --tls-cert and --tls-key with a token, "
      "or take the risk with --insecure"));
}

}  // namespace epochd::net
