// SPDX-License-Identifier: Apache-2.0
//
// Server credentials and channels against one another, on plaintext and TLS,
// with a small service behind.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "epochd/v1/server.grpc.pb.h"
#include "net/channel.h"
#include "net/server_credentials.h"
#include "net/server_limits.h"
#include "tests/net/scratch.h"

namespace epochd::net {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);

// Counts its calls and tells whether it saw a token.
class CountingService final : public v1::ServerService::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const v1::GetServerInfoRequest*,
                                          v1::ServerInfo* info) override {
    ++num_calls;
    info->set_version(context->client_metadata().count("authorization") > 0
                          ? "saw the token"
                          : "saw none");
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  std::atomic<int> num_calls{0};
};

class CredentialsTest : public ::testing::Test {
 protected:
  void Start(const ServerCredentialsOptions& options) {
    auto credentials = MakeServerCredentials(options);
    ASSERT_TRUE(credentials.ok()) << credentials.status();
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    ApplyServerLimits(builder);
    builder.AddListeningPort("127.0.0.1:0", *credentials, &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Shutdown();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  grpc::Status Call(ChannelOptions options, v1::ServerInfo* info = nullptr,
                    const std::string& header = "") {
    options.server = address();
    options.retry.max_attempts = 2;
    auto channel = MakeChannel(options);
    EXPECT_TRUE(channel.ok()) << channel.status();
    const auto stub = v1::ServerService::NewStub(*channel);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    if (!header.empty()) context.AddMetadata("authorization", header);
    v1::ServerInfo ignored;
    return stub->GetServerInfo(&context, {}, info == nullptr ? &ignored : info);
  }

  const Token token_ = Token::Random();
  ScratchDir dir_;
  CountingService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(CredentialsTest, TokenPassesAndIsHiddenFromTheHandler) {
  Start({.token = TokenHash(token_)});
  v1::ServerInfo info;
  const grpc::Status status = Call({.token = token_}, &info);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(info.version(), "saw none");
}

TEST_F(CredentialsTest, WithoutTheTokenNoHandlerRuns) {
  Start({.token = TokenHash(token_)});
  EXPECT_EQ(Call({}).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Call({.token = Token::Random()}).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  for (const std::string& header :
       {token_.secret(), "Basic " + token_.secret(), std::string("Bearer "),
        "Bearer " + token_.secret() + "0"}) {
    EXPECT_EQ(Call({}, nullptr, header).error_code(),
              grpc::StatusCode::UNAUTHENTICATED);
  }
  // Two headers: which one counts must not be a question.
  EXPECT_EQ(Call({.token = token_}, nullptr, "Bearer x").error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(service_.num_calls, 0);
}

TEST_F(CredentialsTest, SchemeIsCaseInsensitive) {
  Start({.token = TokenHash(token_)});
  EXPECT_TRUE(Call({}, nullptr, "bearer " + token_.secret()).ok());
}

TEST_F(CredentialsTest, HealthNeedsNoToken) {
  Start({.token = TokenHash(token_)});
  auto channel =
      grpc::CreateChannel(address(), grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  grpc::GenericStub stub(channel);
  grpc::ByteBuffer request(nullptr, 0);
  grpc::ByteBuffer response;
  grpc::Status status;
  absl::Notification done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::StubOptions(),
                 &request, &response, [&](grpc::Status got) {
                   status = std::move(got);
                   done.Notify();
                 });
  done.WaitForNotification();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(CredentialsTest, TlsServesWithTokenAndRefusesWithout) {
  const TlsFiles files = MakeSelfSigned(dir_, "server");
  Start({.tls = files, .token = TokenHash(token_)});
  TlsFiles roots;
  roots.ca = files.cert;
  const grpc::Status status = Call({.token = token_, .tls = roots});
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(Call({.tls = roots}).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(service_.num_calls, 1);
}

TEST_F(CredentialsTest, TlsClientRefusesAnotherRootAndPlaintext) {
  Start({.tls = MakeSelfSigned(dir_, "server"), .token = TokenHash(token_)});
  TlsFiles roots;
  roots.ca = MakeSelfSigned(dir_, "stranger").cert;
  EXPECT_EQ(Call({.token = token_, .tls = roots}).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Call({.token = token_}).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(service_.num_calls, 0);
}

TEST_F(CredentialsTest, ServerWithCaAsksForAClientCertificate) {
  TlsFiles server = MakeSelfSigned(dir_, "server");
  const TlsFiles client = MakeSelfSigned(dir_, "client");
  const TlsFiles stranger = MakeSelfSigned(dir_, "stranger");
  server.ca = client.cert;
  Start({.tls = server});
  EXPECT_TRUE(Call({.tls = {client.cert, client.key, server.cert}}).ok());
  EXPECT_FALSE(Call({.tls = {stranger.cert, stranger.key, server.cert}}).ok());
  EXPECT_FALSE(Call({.tls = {"", "", server.cert}}).ok());
  EXPECT_EQ(service_.num_calls, 1);
}

TEST_F(CredentialsTest, LargeMetadataIsRefused) {
  Start({});
  EXPECT_FALSE(Call({}, nullptr, std::string(20 << 10, 'x')).ok());
  EXPECT_EQ(service_.num_calls, 0);
  EXPECT_TRUE(Call({}).ok());
}

TEST(ChannelTest, TokenDoesNotLeaveTheMachineInPlaintext) {
  const auto channel =
      MakeChannel({.server = "198.51.100.1:7950", .token = Token::Random()});
  EXPECT_EQ(channel.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(MakeChannel({.server = "198.51.100.1:7950",
                           .token = Token::Random(),
                           .insecure = true})
                  .ok());
  EXPECT_TRUE(MakeChannel({.server = "198.51.100.1:7950",
                           .token = Token::Random(),
                           .use_tls = true})
                  .ok());
  EXPECT_EQ(MakeChannel({.server = "nonsense"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace epochd::net
