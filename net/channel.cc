// SPDX-License-Identifier: Apache-2.0
#include "net/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "net/address.h"
#include "net/server_limits.h"

namespace epochd::net {
namespace {

using grpc::experimental::ClientInterceptorFactoryInterface;
using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;

// Adds the token to a call. gRPC's call credentials would do so on TLS alone.
class TokenSender final : public Interceptor {
 public:
  explicit TokenSender(const std::string& header) : header_(header) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace("authorization", header_);
    }
    methods->Proceed();
  }

 private:
  const std::string& header_;
};

class TokenSenderFactory final : public ClientInterceptorFactoryInterface {
 public:
  explicit TokenSenderFactory(const Token& token)
      : header_(absl::StrCat("Bearer ", token.secret())) {}

  Interceptor* CreateClientInterceptor(ClientRpcInfo*) override {
    return new TokenSender(header_);
  }

 private:
  const std::string header_;
};

std::shared_ptr<grpc::ChannelCredentials> MakeTlsCredentials(
    const TlsFiles& files) {
  using grpc::experimental::FileWatcherCertificateProvider;
  constexpr unsigned kReloadSeconds = 60;
  grpc::experimental::TlsChannelCredentialsOptions options;
  if (files.HasIdentity()) {
    options.set_certificate_provider(
        std::make_shared<FileWatcherCertificateProvider>(
            files.key, files.cert, files.ca, kReloadSeconds));
    options.watch_identity_key_cert_pairs();
  } else if (!files.ca.empty()) {
    options.set_certificate_provider(
        std::make_shared<FileWatcherCertificateProvider>(files.ca,
                                                         kReloadSeconds));
  }
  if (!files.ca.empty()) options.watch_root_certs();
  return grpc::experimental::TlsCredentials(options);
}

grpc::ChannelArguments MakeArguments(const RetryPolicy& retry) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(retry.ToServiceConfig());
  arguments.SetMaxReceiveMessageSize(4 * kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Connects soon again to a coordinator that restarted.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  // Never through a web proxy that the environment happens to name.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(
    const ChannelOptions& options) {
  const auto address = ParseAddress("server", options.server);
  if (!address.ok()) return address.status();
  const absl::Status tls_status = CheckTlsFiles(options.tls);
  if (!tls_status.ok()) return tls_status;
  const bool tls = options.use_tls || !options.tls.Empty();
  if (!tls && options.token && !address->IsLoopback() && !options.insecure) {
    return absl::FailedPreconditionError(absl::StrCat(
        "server: the token would travel to '", options.server,
        "' in plaintext; use TLS (--tls-ca), or take the risk with "
        "--insecure"));
  }
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptors;
  if (options.token) {
    interceptors.push_back(
        std::make_unique<TokenSenderFactory>(*options.token));
  }
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      address->ToString(),
      tls ? MakeTlsCredentials(options.tls)
          : grpc::InsecureChannelCredentials(),
      MakeArguments(options.retry), std::move(interceptors));
}

void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
  if (timeout == absl::InfiniteDuration()) return;
  context.set_deadline(std::chrono::system_clock::now() +
                       absl::ToChronoNanoseconds(timeout));
}

}  // namespace epochd::net
