// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/live_line.h"

#include <gtest/gtest.h>

#include <sstream>

namespace epochd::terminal {
namespace {

TEST(LiveLine, RedrawsOneLineBelowThoseThatStay) {
  std::ostringstream out;
  {
    LiveLine line(out, true);
    line.Show("a");
    line.Show("a");
    line.Show("b");
    line.Print("kept");
  }
  EXPECT_EQ(out.str(),
            "\r\x1b[Ka"
            "\r\x1b[Kb"
            "\r\x1b[Kkept\n"
            "\r\x1b[Kb"
            "\r\x1b[K");
}

TEST(LiveLine, WritesOnlyLinesThatStayWhereThereIsNoTerminal) {
  std::ostringstream out;
  {
    LiveLine line(out, false);
    line.Show("a");
    line.Print("kept");
  }
  EXPECT_EQ(out.str(), "kept\n");
}

}  // namespace
}  // namespace epochd::terminal
