// SPDX-License-Identifier: Apache-2.0
#include "net/server_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace epochd::net {
namespace {

constexpr unsigned kReloadSeconds = 60;
constexpr absl::string_view kHealthPrefix = "/grpc.health.v1.Health/";

absl::string_view View(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)),
          GRPC_SLICE_LENGTH(slice)};
}

// Judges the metadata of one call. gRPC calls it on its own threads before the
// call is handed to a service.
class TokenCheck {
 public:
  explicit TokenCheck(TokenHash hash) : hash_(hash) {}

  static void Process(void* self, grpc_auth_context*, const grpc_metadata* md,
                      size_t num_md, grpc_process_auth_metadata_done_cb done,
                      void* user_data) {
    static_cast<const TokenCheck*>(self)->Judge(md, num_md, done, user_data);
  }
  static void Destroy(void* self) { delete static_cast<TokenCheck*>(self); }

 private:
  void Judge(const grpc_metadata* md, size_t num_md,
             grpc_process_auth_metadata_done_cb done, void* user_data) const {
    bool health = false;
    bool matches = false;
    std::vector<grpc_metadata> consumed;
    for (const grpc_metadata* entry = md; entry != md + num_md; ++entry) {
      const absl::string_view key = View(entry->key);
      if (key == ":path") {
        health = absl::StartsWith(View(entry->value), kHealthPrefix);
      } else if (key == "authorization") {
        consumed.push_back(*entry);
        absl::string_view value = View(entry->value);
        matches = absl::StartsWithIgnoreCase(value, "bearer ") &&
                  hash_.Matches(absl::StripAsciiWhitespace(value.substr(7)));
      }
    }
    if (health || (matches && consumed.size() == 1)) {
      done(user_data, consumed.data(), consumed.size(), nullptr, 0,
           GRPC_STATUS_OK, nullptr);
      return;
    }
    done(user_data, nullptr, 0, nullptr, 0, GRPC_STATUS_UNAUTHENTICATED,
         consumed.empty()
             ? "authorization: no token, send 'Bearer TOKEN' with the token "
               "that the coordinator keeps in its state folder"
             : "authorization: the token is not the one of this coordinator");
  }

  const TokenHash hash_;
};

// gRPC's own plaintext credentials refuse to check metadata in C++; the core
// below them does it as it does for TLS, so both kinds go this one way.
class CoreServerCredentials final : public grpc::ServerCredentials {
 public:
  explicit CoreServerCredentials(grpc_server_credentials* core) : core_(core) {}
  ~CoreServerCredentials() override { grpc_server_credentials_release(core_); }

  // Never used: the check is set when the credentials are made.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address,
                      grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), core_);
  }

  grpc_server_credentials* const core_;
};

grpc_server_credentials* MakeTls(const TlsFiles& files) {
  grpc_tls_certificate_provider* provider =
      grpc_tls_certificate_provider_file_watcher_create(
          files.key.c_str(), files.cert.c_str(),
          files.ca.empty() ? nullptr : files.ca.c_str(), kReloadSeconds);
  grpc_tls_credentials_options* options = grpc_tls_credentials_options_create();
  grpc_tls_credentials_options_set_certificate_provider(options, provider);
  grpc_tls_certificate_provider_release(provider);
  grpc_tls_credentials_options_watch_identity_key_cert_pairs(options);
  if (!files.ca.empty()) {
    grpc_tls_credentials_options_watch_root_certs(options);
    grpc_tls_credentials_options_set_cert_request_type(
        options, GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc_tls_server_credentials_create(options);
}

// Starts gRPC's core before and stops it after everything made of it here.
class CoreLife : private grpc::GrpcLibraryCodegen {};

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const ServerCredentialsOptions& options) {
  const absl::Status status = CheckTlsFiles(options.tls);
  if (!status.ok()) return status;
  const CoreLife life;
  grpc_server_credentials* core =
      options.tls.HasIdentity() ? MakeTls(options.tls)
                                : grpc_insecure_server_credentials_create();
  if (options.token) {
    grpc_server_credentials_set_auth_metadata_processor(
        core, {&TokenCheck::Process, &TokenCheck::Destroy,
               new TokenCheck(*options.token)});
  }
  return std::make_shared<CoreServerCredentials>(core);
}

}  // namespace epochd::net
