// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/width.h"

#include <gtest/gtest.h>

#include <string>

namespace epochd::terminal {
namespace {

TEST(Width, CountsColumnsAndNotBytes) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("äöü"), 3u);
  EXPECT_EQ(DisplayWidth("日本"), 4u);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u);  // a combining accent
  EXPECT_EQ(DisplayWidth("\xff"), 1u);     // no UTF-8
}

TEST(Width, CutsBetweenCharactersAndMarksTheCut) {
  EXPECT_EQ(Fit("abcdef", 6), "abcdef");
  EXPECT_EQ(Fit("abcdef", 4), "abc…");
  EXPECT_EQ(Fit("abcdef", 4, false), "abc~");
  EXPECT_EQ(Fit("日本語", 4), "日…");
  EXPECT_EQ(Fit("abc", 0), "");
  EXPECT_EQ(Fit("abc", 1), "…");
}

TEST(Width, PadsToColumns) {
  EXPECT_EQ(PadRight("日", 4), "日  ");
  EXPECT_EQ(PadLeft("7", 3), "  7");
  EXPECT_EQ(PadLeft("1234", 3), "1234");
}

}  // namespace
}  // namespace epochd::terminal
