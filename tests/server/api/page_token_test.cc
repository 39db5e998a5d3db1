// SPDX-License-Identifier: Apache-2.0
#include "server/api/page_token.h"

#include <gtest/gtest.h>

#include <string>

namespace epochd::api {
namespace {

TEST(PageTokenTest, GivesThePositionBackForItsOwnQueryAlone) {
  for (const std::string position : {"1", "922337203685477580", "worker-a"}) {
    const std::string token = MakePageToken(position, "jobs project=a");
    EXPECT_EQ(ReadPageToken(token, "jobs project=a").value(), position);
    EXPECT_EQ(ReadPageToken(token, "jobs project=b").status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(PageTokenTest, RefusesWhatWasNotMadeHere) {
  const std::string token = MakePageToken("17", "q");
  std::string changed = token;
  changed.back() = changed.back() == 'A' ? 'B' : 'A';
  for (const std::string& bad :
       {std::string("x"), std::string("17"), changed, token + "AA",
        std::string(2000, 'A'), std::string("!!!")}) {
    EXPECT_EQ(ReadPageToken(bad, "q").status().code(),
              absl::StatusCode::kInvalidArgument)
        << bad;
  }
}

TEST(PageTokenTest, PageSizesAreDefaultedAndCapped) {
  EXPECT_EQ(PageSize(0, 50, 1000).value(), 50);
  EXPECT_EQ(PageSize(7, 50, 1000).value(), 7);
  EXPECT_EQ(PageSize(5000, 50, 1000).value(), 1000);
  EXPECT_EQ(PageSize(-1, 50, 1000).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace epochd::api
