// SPDX-License-Identifier: Apache-2.0
//
// Which coordinator, and how: flags win over EPOCHD_* variables, those over
// the chosen context of ~/.config/epochd/config.yaml, that over the defaults.
//
//   current_context: lab
//   contexts:
//     lab: {server: "gpu1:7950", token_file: ~/lab.token, tls_ca: ~/lab.pem}
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/terminal/style.h"
#include "net/tls.h"

namespace epochd::net {
struct ChannelOptions;
}  // namespace epochd::net

namespace epochd::epochctl {

inline constexpr const char* kDefaultServer = "127.0.0.1:7950";

// What the command line says; empty: nothing.
struct SettingsFlags {
  std::string config;
  std::string context;
  std::string server;
  std::string token_file;
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
  bool insecure = false;
};

struct Settings {
  std::string server = kDefaultServer;
  // Empty: the token of this account's own coordinator, if there is one.
  std::string token_file;
  net::TlsFiles tls;
  bool insecure = false;
};

// INVALID_ARGUMENT names the file and the key that is wrong, or the context
// that is not there.
absl::StatusOr<Settings> ReadSettings(const SettingsFlags& flags,
                                      const terminal::Environment& environment);

// Reads the token; PERMISSION_DENIED when there is none to be had from it.
absl::StatusOr<net::ChannelOptions> ToChannelOptions(const Settings& settings);

}  // namespace epochd::epochctl
