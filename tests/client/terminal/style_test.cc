// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/style.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>

namespace epochd::terminal {
namespace {

class StyleTest : public testing::Test {
 protected:
  void SetUp() override {
    terminal_ = posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(terminal_, 0);
    winsize size = {};
    size.ws_col = 120;
    size.ws_row = 40;
    ASSERT_EQ(ioctl(terminal_, TIOCSWINSZ, &size), 0);
    file_ = open("/dev/null", O_WRONLY);
  }
  void TearDown() override {
    close(terminal_);
    close(file_);
  }
  Style Detect(int fd, const char* color,
               const std::map<std::string, std::string>& environment) {
    return DetectStyle(fd, color, [&environment](const char* name) {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    });
  }

  int terminal_ = -1;
  int file_ = -1;
};

TEST_F(StyleTest, ShowsAllOnATerminalThatCan) {
  const Style style =
      Detect(terminal_, "auto", {{"TERM", "xterm"}, {"LANG", "de_DE.UTF-8"}});
  EXPECT_TRUE(style.is_terminal);
  EXPECT_TRUE(style.color);
  EXPECT_TRUE(style.unicode);
  EXPECT_EQ(style.width, 120);
  EXPECT_EQ(style.height, 40);
  EXPECT_EQ(style.Paint("x", Color::kRed), "\x1b[31mx\x1b[0m");
}

TEST_F(StyleTest, ShowsPlainTextElsewhere) {
  const Style style = Detect(file_, "auto", {{"LC_ALL", "C"}});
  EXPECT_FALSE(style.is_terminal);
  EXPECT_FALSE(style.color);
  EXPECT_FALSE(style.unicode);
  EXPECT_EQ(style.width, 80);
  EXPECT_EQ(style.Paint("x", Color::kRed), "x");
}

TEST_F(StyleTest, HonoursWhatTheEnvironmentAsksFor) {
  EXPECT_FALSE(Detect(terminal_, "auto", {{"NO_COLOR", "1"}}).color);
  EXPECT_TRUE(Detect(terminal_, "auto", {{"NO_COLOR", ""}}).color);
  EXPECT_FALSE(Detect(terminal_, "auto", {{"TERM", "dumb"}}).is_terminal);
  EXPECT_FALSE(Detect(terminal_, "auto", {{"TERM", "dumb"}}).color);
  EXPECT_TRUE(Detect(file_, "auto", {{"CLICOLOR_FORCE", "1"}}).color);
  EXPECT_FALSE(Detect(file_, "auto", {{"CLICOLOR_FORCE", "0"}}).color);
  EXPECT_EQ(Detect(terminal_, "auto", {{"COLUMNS", "66"}}).width, 66);
  EXPECT_EQ(Detect(terminal_, "auto", {{"COLUMNS", "3"}}).width, 20);
}

TEST_F(StyleTest, LetsTheFlagWin) {
  EXPECT_TRUE(Detect(file_, "always", {{"NO_COLOR", "1"}}).color);
  EXPECT_FALSE(Detect(terminal_, "never", {{"CLICOLOR_FORCE", "1"}}).color);
}

}  // namespace
}  // namespace epochd::terminal
