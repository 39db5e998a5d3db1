// SPDX-License-Identifier: Apache-2.0
#include "server/web/socket_address.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace epochd::web {
namespace {

TEST(SocketAddressTest, ReadsNumbersOfBothKindsAndNoNames) {
  const struct {
    const char* host;
    const char* text;
    bool is_loopback;
  } kRows[] = {{"127.0.0.1", "127.0.0.1:7951", true},
               {"127.8.9.1", "127.8.9.1:7951", true},
               {"0.0.0.0", "0.0.0.0:7951", false},
               {"::1", "[::1]:7951", true},
               {"::", "[::]:7951", false},
               {"::ffff:1.2.3.4", "[::ffff:1.2.3.4]:7951", false}};
  for (const auto& row : kRows) {
    const auto address = SocketAddress::Parse(row.host, 7951);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), row.text);
    EXPECT_EQ(address->port(), 7951);
    EXPECT_EQ(address->IsLoopback(), row.is_loopback) << row.host;
  }
  for (const char* bad : {"", "localhost", "127.0.0.1:80", "[::1]", "1.2.3",
                          "0x7f.0.0.1", "127.0.0.1 ", "::1%lo"}) {
    const auto address = SocketAddress::Parse(bad, 0);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument)
        << bad;
    EXPECT_NE(std::string(address.status().message())
                  .find("'" + std::string(bad) + "'"),
              std::string::npos);
  }
}

TEST(SocketAddressTest, AnAddressThatIsTakenIsSaidWithItsNumber) {
  SocketAddress bound;
  const auto first = Listen(*SocketAddress::Parse("127.0.0.1", 0), bound);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_NE(bound.port(), 0);
  SocketAddress again;
  const auto second = Listen(bound, again);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(second.status().message()).find(bound.ToString()),
            std::string::npos)
      << second.status();
  close(*first);
}

// A page of somebody else's that a browser loads under a name of theirs, which
// leads to this machine, must not be able to read ours.
TEST(IsLocalHostTest, TakesAddressesAndLocalhostAndNoOtherName) {
  for (const char* good :
       {"localhost", "LocalHost:7951", "localhost:", "127.0.0.1",
        "127.0.0.1:7951", "[::1]", "[::1]:7951", "::1", "10.1.2.3:80"}) {
    EXPECT_TRUE(IsLocalHost(good)) << good;
  }
  for (const char* bad : {"", ":", ":80", "evil.example", "evil.example:7951",
                          "localhost.evil.example", "127.0.0.1.evil.example",
                          "evil:localhost", "[", "[]", "[::1", "::1]",
                          "[localhost]x", "local host", "localhost:80:90"}) {
    EXPECT_FALSE(IsLocalHost(bad)) << bad;
  }
}

}  // namespace
}  // namespace epochd::web
