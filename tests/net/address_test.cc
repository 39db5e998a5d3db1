// SPDX-License-Identifier: Apache-2.0
#include "net/address.h"

#include <gtest/gtest.h>

#include <string>

#include "net/bind_policy.h"

namespace epochd::net {
namespace {

TEST(AddressTest, ReadsWhatPeopleWrite) {
  struct Row {
    const char* text;
    const char* host;
    int port;
    bool loopback;
  };
  for (const Row& row :
       {Row{"127.0.0.1:7950", "127.0.0.1", 7950, true},
        Row{"127.9.9.9:0", "127.9.9.9", 0, true},
        Row{"localhost:1", "localhost", 1, true},
        Row{"[::1]:7950", "::1", 7950, true},
        Row{"0.0.0.0:7950", "0.0.0.0", 7950, false},
        Row{"[::]:7950", "::", 7950, false},
        Row{"10.0.0.1:65535", "10.0.0.1", 65535, false},
        Row{"128.0.0.1:1", "128.0.0.1", 1, false},
        Row{"epochd.example:7950", "epochd.example", 7950, false},
        Row{"localhost.example:1", "localhost.example", 1, false}}) {
    const auto address = ParseAddress("listen", row.text);
    ASSERT_TRUE(address.ok()) << row.text << " " << address.status();
    EXPECT_EQ(address->host, row.host) << row.text;
    EXPECT_EQ(address->port, row.port) << row.text;
    EXPECT_EQ(address->IsLoopback(), row.loopback) << row.text;
    EXPECT_EQ(address->ToString(), row.text);
  }
}

TEST(AddressTest, RefusesTheRestNamingTheFlag) {
  for (const char* text :
       {"", "7950", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", ":7950",
        "127.0.0.1:65536", "127.0.0.1:-1", "host name:1", "::1:7950", "[zz]:1",
        "unix:/tmp/x"}) {
    const auto address = ParseAddress("listen", text);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
    EXPECT_EQ(std::string(address.status().message()).rfind("listen: ", 0), 0u);
  }
}

TEST(BindPolicyTest, OnlyLoopbackOrTlsWithTokenOrInsecure) {
  const Address loopback{"127.0.0.1", 1};
  const Address wide{"0.0.0.0", 1};
  struct Row {
    Address address;
    BindPolicy policy;
    bool ok;
  };
  for (const Row& row : {Row{loopback, {false, false, false}, true},
                         Row{wide, {false, false, false}, false},
                         Row{wide, {true, false, false}, false},
                         Row{wide, {false, true, false}, false},
                         Row{wide, {true, true, false}, true},
                         Row{wide, {false, false, true}, true}}) {
    const absl::Status status =
        CheckBind("http-listen", row.address, row.policy);
    EXPECT_EQ(status.ok(), row.ok)
        << row.address.ToString() << row.policy.tls << row.policy.token;
    if (row.ok) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    const std::string message(status.message());
    EXPECT_EQ(message.rfind("http-listen: ", 0), 0u) << message;
    EXPECT_NE(message.find("--insecure"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace epochd::net
