// SPDX-License-Identifier: Apache-2.0
//
// Which addresses a server may listen on. Stateless.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "net/address.h"

namespace epochd::net {

struct BindPolicy {
  // What protects the listener.
  bool tls = false;
  bool token = false;
  // The operator takes the risk.
  bool insecure = false;
};

// OK on loopback, with TLS and a token, or when the operator said so.
// FAILED_PRECONDITION otherwise, saying what to do about it; `flag` is the
// setting that holds the address.
absl::Status CheckBind(const std::string& flag, const Address& address,
                       const BindPolicy& policy);

}  // namespace epochd::net
