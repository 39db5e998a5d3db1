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

TEST(Table, IsItsHeadersWithoutRowsAndNothingWithoutBoth) {
  const Table empty({"ID", "NAME"});
  EXPECT_EQ(empty.Render(Style{}), "ID  NAME\n");
  EXPECT_EQ(empty.Render(Style{}, false), "");
  EXPECT_EQ(Table({}).Render(Style{}, false), "");
}

TEST(Table, FillsShortRowsAndDropsCellsBeyondTheHeaders) {
  Table table({"A", "B", "C"});
  table.Add({{"1"}});
  table.Add({{"1"}, {"2"}, {"3"}, {"4"}});
  table.Add({});
  EXPECT_EQ(table.Render(Style{}),
            "A  B  C\n"
            "1\n"
            "1  2  3\n"
            "\n");
}

TEST(Table, KeepsTheColumnsOfEmptyCellsInTheMiddle) {
  Table table({"A", "B", "C"});
  table.Add({{""}, {""}, {"x"}});
  table.Add({{"long"}, {""}, {""}});
  EXPECT_EQ(table.Render(Style{}),
            "A     B  C\n"
            "         x\n"
            "long\n");
}

TEST(Table, CountsCombiningAndBrokenCharactersByTheirColumns) {
  Table table({"A", "B"});
  table.Add({{"e\xcc\x81"}, {"x"}});         // e and its accent: one column
  table.Add({{"\xf0\x9f\x98\x80"}, {"x"}});  // a face: two
  table.Add({{"\xff\xfe"}, {"x"}});          // no UTF-8: one each
  EXPECT_EQ(table.Render(Style{}, false),
            "e\xcc\x81   x\n"
            "\xf0\x9f\x98\x80  x\n"
            "\xff\xfe  x\n");
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
