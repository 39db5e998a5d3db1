// SPDX-License-Identifier: Apache-2.0
#include "net/listener_probe.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "epochd/v1/server.grpc.pb.h"
#include "net/server_credentials.h"
#include "tests/net/scratch.h"

namespace epochd::net {
namespace {

// Listens without ever accepting, as gRPC does after EMFILE; or does not even
// listen, on a port that nobody else can take meanwhile.
class DeafListener {
 public:
  explicit DeafListener(bool listens = true)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_, generic, size), 0);
    if (listens) {
      EXPECT_EQ(::listen(fd_, 100), 0);
    }
    EXPECT_EQ(::getsockname(fd_, generic, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~DeafListener() { ::close(fd_); }
  int port() const { return port_; }

 private:
  const int fd_;
  int port_ = 0;
};

ListenerProbe::Options Quick(int port, bool tls) {
  return {.address = {"127.0.0.1", port},
          .tls = tls,
          .interval = absl::Milliseconds(5),
          .timeout = absl::Milliseconds(200),
          .num_failures = 2};
}

void ExpectDead(const ListenerProbe::Options& options) {
  absl::Notification dead;
  std::string reason;
  const ListenerProbe probe(options, [&](std::string text) {
    reason = std::move(text);
    dead.Notify();
  });
  ASSERT_TRUE(dead.WaitForNotificationWithTimeout(absl::Minutes(1)));
  EXPECT_NE(reason.find("does not answer"), std::string::npos) << reason;
}

// Of a live listener no try may fail, which a slow machine has all the time
// for, while a second probe finds a deaf port.
void ExpectAlive(ListenerProbe::Options options) {
  options.timeout = absl::Minutes(1);
  options.num_failures = 1;
  // Its end waits for the try that is under way.
  const ListenerProbe probe(
      options, [](const std::string& reason) { ADD_FAILURE() << reason; });
  const DeafListener deaf;
  ExpectDead(Quick(deaf.port(), options.tls));
}

TEST(ListenerProbeTest, FindsAListenerThatNeverAccepts) {
  const DeafListener deaf;
  ExpectDead(Quick(deaf.port(), false));
  ExpectDead(Quick(deaf.port(), true));
}

TEST(ListenerProbeTest, FindsAClosedPort) {
  const DeafListener closed(/*listens=*/false);
  ExpectDead(Quick(closed.port(), false));
}

TEST(ListenerProbeTest, LeavesALivePlaintextAndTlsServerAlone) {
  const ScratchDir dir;
  for (const bool tls : {false, true}) {
    ServerCredentialsOptions options;
    if (tls) options.tls = MakeSelfSigned(dir, "server");
    auto credentials = MakeServerCredentials(options);
    ASSERT_TRUE(credentials.ok()) << credentials.status();
    v1::ServerService::Service service;
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", *credentials, &port);
    builder.RegisterService(&service);
    const auto server = builder.BuildAndStart();
    ASSERT_NE(server, nullptr);
    ExpectAlive(Quick(port, tls));
    server->Shutdown();
  }
}

}  // namespace
}  // namespace epochd::net
