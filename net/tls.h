// SPDX-License-Identifier: Apache-2.0
//
// TLS by files in PEM form. gRPC reads them again every minute, so that
// certificates can be exchanged while the program runs. Stateless.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace epochd::net {

struct TlsFiles {
  // Own certificate chain and private key; both or none.
  std::string cert = {};
  std::string key = {};
  // Roots that the other side's certificate must lead to. Empty: a server asks
  // clients for none, a client takes the system's roots.
  std::string ca = {};

  bool HasIdentity() const { return !cert.empty() && !key.empty(); }
  bool Empty() const { return cert.empty() && key.empty() && ca.empty(); }
};

// Reads the files once, so that a mistake is told at start and not by failing
// handshakes: one of cert and key missing, unreadable or no PEM, key not the
// certificate's, key readable by others, certificate out of date.
absl::Status CheckTlsFiles(const TlsFiles& files);

}  // namespace epochd::net
