// SPDX-License-Identifier: Apache-2.0
#include "server/web/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "server/web/socket_address.h"
#include "tests/server/web/raw_client.h"

namespace epochd::web {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override { Restart({}); }
  void Restart(const HttpServer::Options& options) {
    server_.reset();
    Routes routes;
    routes["/hello"] = [] { return Response{200, "text/plain", "hello"}; };
    routes["/big"] = [] {
      return Response{200, "text/plain", std::string(3 << 20, 'x')};
    };
    auto started = HttpServer::Start(options, std::move(routes));
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  int port() const { return server_->port(); }
  // The answer of /hello once the server has let go of connections that were
  // closed or idle; until then the limit closes new ones unanswered.
  std::string GetOnceServed() {
    std::string answer;
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (answer.empty() && absl::Now() < deadline) {
      answer = Get(port(), "/hello");
    }
    return answer;
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersAGetWithTheHeadersOfASafePage) {
  const std::string answer = Get(port(), "/hello");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(BodyOf(answer), "hello");
  for (const char* header :
       {"Content-Security-Policy: default-src 'none'",
        "Cache-Control: no-store", "X-Content-Type-Options: nosniff",
        "frame-ancestors 'none'"}) {
    EXPECT_THAT(answer, HasSubstr(header));
  }
  EXPECT_THAT(answer, Not(HasSubstr("Access-Control")));
}

TEST_F(HttpServerTest, AHeadHasNoBody) {
  const std::string answer = Exchange(
      port(),
      "HEAD /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 5"));
  EXPECT_EQ(BodyOf(answer), "");
}

TEST_F(HttpServerTest, ATrueSizeComesWhole) {
  EXPECT_EQ(BodyOf(Get(port(), "/big")).size(), 3u << 20);
}

TEST_F(HttpServerTest, OtherPathsAreNotFound) {
  for (const char* path :
       {"/", "/nope", "/hello/", "/hello/../hello", "//hello",
        "/../../etc/passwd", "/HELLO", "/%2e%2e/%2e%2e/etc/passwd"}) {
    EXPECT_THAT(Get(port(), path), StartsWith("HTTP/1.1 404")) << path;
  }
  EXPECT_THAT(Get(port(), "/hello?x=1"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, OtherMethodsAreNotAllowed) {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS",
                             "TRACE", "CONNECT", "PROPFIND", "BREW"}) {
    const std::string answer =
        Exchange(port(), std::string(method) +
                             " /hello HTTP/1.1\r\nHost: localhost\r\n"
                             "Content-Length: 4\r\nConnection: close\r\n\r\n"
                             "body");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405")) << method;
    EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD")) << method;
  }
}

TEST_F(HttpServerTest, OddRequestsAreRefusedAndDoNoHarm) {
  const std::string odd[] = {
      "\r\n\r\n\r\n",
      "GET\r\n\r\n",
      "GET /hello\r\n\r\n",
      "GET /hello HTTP/9.9\r\n\r\n",
      "GET /hello HTTP/1.1\r\n\r\n",
      "GET /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
      "GET /hello HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Length: 99999999999999999999999\r\n\r\n",
      "GET /hello HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
      "\r\nzz\r\n",
      "GET /" + std::string(20000, 'a') +
          " HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: " +
          std::string(40000, 'b') + "\r\n\r\n",
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) +
          "\r\n\r\n",
      std::string("GET /he\0llo HTTP/1.1\r\nHost: localhost\r\n\r\n", 42),
      "GET /hello HTTP/1.1\r\nHost: localhost\r\nno colon here\r\n\r\n",
  };
  for (const std::string& request : odd) {
    RawClient client(port(), 1);
    client.Send(request);
    const std::string answer = client.ReadAll();
    EXPECT_THAT(answer, Not(HasSubstr("HTTP/1.1 500")))
        << request.substr(0, 60);
    EXPECT_EQ(BodyOf(Get(port(), "/hello")), "hello")
        << "after " << request.substr(0, 60);
  }
}

TEST_F(HttpServerTest, RandomBytesDoNoHarm) {
  std::mt19937 random(3);
  const std::string words[] = {
      "GET ", "/hello",   " HTTP/1.1",        "\r\n", "Host: ", "localhost",
      ":",    "\r\n\r\n", "Content-Length: ", "7"};
  for (int round = 0; round < 300; ++round) {
    std::string request;
    for (int i = 0; i < 12; ++i) {
      if (random() % 4 == 0) {
        request += static_cast<char>(random() % 256);
      } else {
        request += words[random() % std::size(words)];
      }
    }
    RawClient client(port());
    // With an end, so that the server is done with it before it is stopped:
    // libmicrohttpd 0.9.75 crashes where it refuses a request meanwhile.
    client.Send(request + "\r\n\r\n");
    client.EndInput();
    EXPECT_THAT(client.ReadAll(), Not(HasSubstr("(timeout)"))) << round;
  }
  EXPECT_EQ(BodyOf(GetOnceServed()), "hello");
}

TEST_F(HttpServerTest, OnLoopbackOnlyLocalHostsAreServed) {
  const auto with_host = [&](const std::string& host) {
    return Exchange(port(), "GET /hello HTTP/1.1\r\nHost: " + host +
                                "\r\nConnection: close\r\n\r\n");
  };
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1:9", "[::1]",
                           "[::1]:80", "10.0.0.1"}) {
    EXPECT_THAT(with_host(host), StartsWith("HTTP/1.1 200")) << host;
  }
  for (const char* host : {"evil.example", "localhost.evil.example",
                           "127.0.0.1.evil.example:80", "evil.example:80"}) {
    EXPECT_THAT(with_host(host), StartsWith("HTTP/1.1 403")) << host;
  }
}

TEST_F(HttpServerTest, AnIdleConnectionIsClosed) {
  Restart({.idle_timeout = absl::Seconds(1)});
  RawClient client(port());
  client.Send("GET /hel");
  EXPECT_THAT(client.ReadAll(), Not(HasSubstr("(timeout)")));
}

TEST_F(HttpServerTest, ManyConnectionsAreLimitedAndOthersComeBack) {
  Restart({.num_threads = 1,
           .max_connections = 8,
           .max_connections_per_client = 4,
           .idle_timeout = absl::Minutes(5)});
  std::deque<RawClient> held;
  for (int i = 0; i < 12; ++i) held.emplace_back(port()).Send("GET /h");
  // Those that came first are kept.
  for (size_t i = 4; i < held.size(); ++i) {
    EXPECT_EQ(held[i].ReadAll(), "") << i;
  }
  held.clear();
  EXPECT_EQ(BodyOf(GetOnceServed()), "hello");
}

TEST_F(HttpServerTest, TwoServersCannotHaveOnePort) {
  const auto second =
      HttpServer::Start({.port = static_cast<uint16_t>(port())}, {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(server_->address()));
}

TEST(HttpServerStartTest, ANameIsNoAddress) {
  for (const char* address : {"localhost", "", "1.2.3", "::1::", "[::1]"}) {
    EXPECT_EQ(HttpServer::Start({.address = address}, {}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << address;
  }
}

TEST(IsLoopbackTest, KnowsTheMachinesOwnAddresses) {
  EXPECT_TRUE(IsLoopback("127.0.0.1"));
  EXPECT_TRUE(IsLoopback("127.8.9.10"));
  EXPECT_TRUE(IsLoopback("::1"));
  for (const char* address :
       {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "localhost", ""}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
  }
}

}  // namespace
}  // namespace epochd::web
