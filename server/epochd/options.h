// SPDX-License-Identifier: Apache-2.0
//
// Settings of the coordinator, from flags, environment and file. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "net/address.h"
#include "net/tls.h"
#include "program/logging.h"
#include "server/fleet/quarantine.h"

namespace epochd::server {

// As people give them; see the flags' help.
struct Settings {
  std::string state_dir;
  std::string listen = "127.0.0.1:7950";
  std::string http_listen = "127.0.0.1:7951";
  std::string port_file;
  std::string token_file;
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;
  bool insecure = false;
  std::string catalogue;
  std::string finished_job_ttl = "720h";
  int64_t max_finished_jobs = 100000;
  int32_t quarantine_after = 3;
  std::string quarantine_for = "1m";
  std::string quarantine_at_most = "1h";
  program::LoggingOptions logging;
};

// Checked and with defaults filled in.
struct Options {
  std::string state_dir;
  net::Address listen;
  // Absent: no HTTP.
  std::optional<net::Address> http_listen;
  std::string port_file;
  std::string token_file;
  net::TlsFiles tls;
  bool insecure = false;
  // Empty: none is installed, workers bring theirs.
  std::string catalogue;
  // As in control::Options.
  absl::Duration finished_job_ttl;
  int64_t max_finished_jobs = 0;
  fleet::Quarantine::Options quarantine;
};

// Returns the exit code when the program should end now.
std::optional<int> ParseSettings(int argc, const char* const* argv,
                                 Settings& settings);

// Refuses addresses that others can reach without protection.
absl::StatusOr<Options> CheckSettings(const Settings& settings);

}  // namespace epochd::server
