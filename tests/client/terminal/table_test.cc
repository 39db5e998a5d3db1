// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/table.h"

#include <gtest/gtest.h>

namespace epochd::terminal {
namespace {

Table Sample() {
  Table table({"ID", "NAME", "STATE"});
  table.Add({{"1"}, {"日本"}, {"RUNNING", Color::kCyan}});
  table.Add({{"1000"}, {"x"}, {""}});
  return table;
}

TEST(Table, AlignsByColumnsAndLeavesNoBlanksAtTheEnd) {
  EXPECT_EQ(Sample().Render(Style{}),
            "ID    NAME  STATE\n"
            "1     日本  RUNNING\n"
            "1000  x\n");
}

TEST(Table, LeavesOutHeadersAndTheirWidth) {
  EXPECT_EQ(Sample().Render(Style{}, false),
            "1     日本  RUNNING\n"
            "1000  x\n");
}

TEST(Table, PaintsWithoutMovingColumns) {
  Style style;
  style.color = true;
  EXPECT_EQ(Sample().Render(style),
            "\x1b[2mID\x1b[0m    \x1b[2mNAME\x1b[0m  \x1b[2mSTATE\x1b[0m\n"
            "1     日本  \x1b[36mRUNNING\x1b[0m\n"
            "1000  x\n");
}

}  // namespace
}  // namespace epochd::terminal
