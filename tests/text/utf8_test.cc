// SPDX-License-Identifier: Apache-2.0
#include "text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace epochd::text {
namespace {

TEST(Utf8Test, DecodesOneToFourBytes) {
  struct Row {
    std::string bytes;
    char32_t code;
  };
  for (const Row& row :
       {Row{"a", U'a'}, Row{"\xc3\xb6", 0xf6}, Row{"\xe2\x82\xac", 0x20ac},
        Row{"\xf0\x9f\x98\x80", 0x1f600}, Row{"\xf4\x8f\xbf\xbf", 0x10ffff}}) {
    const Utf8Character got = DecodeFirst(row.bytes + "tail");
    EXPECT_EQ(got.code, row.code) << row.bytes;
    EXPECT_EQ(got.length, row.bytes.size()) << row.bytes;
    EXPECT_TRUE(IsValidUtf8(row.bytes));
  }
}

TEST(Utf8Test, RefusesWhatIsNotUtf8) {
  for (const std::string bytes :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff",
        "\xe2\x82", "\xe2\x28\xa1"}) {
    EXPECT_EQ(DecodeFirst(bytes).length, 0u);
    EXPECT_FALSE(IsValidUtf8("ok " + bytes));
  }
  EXPECT_TRUE(IsValidUtf8(""));
}

}  // namespace
}  // namespace epochd::text
