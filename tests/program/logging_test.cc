// SPDX-License-Identifier: Apache-2.0
#include "program/logging.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <string>

namespace epochd::program {
namespace {

TEST(LoggingTest, EscapesWhatCouldForgeARecordOrDriveATerminal) {
  EXPECT_EQ(EscapeControls("plain text"), "plain text");
  EXPECT_EQ(EscapeControls("Gr\xc3\xb6\xc3\x9f"
                           "e"),
            "Gr\xc3\xb6\xc3\x9f"
            "e");
  EXPECT_EQ(EscapeControls("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(EscapeControls("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(EscapeControls(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(EscapeControls("\xff"), "\\xff");
  EXPECT_EQ(EscapeControls("\xc0\x80"), "\\xc0\\x80") << "overlong";
  EXPECT_EQ(EscapeControls("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "override";
  EXPECT_EQ(EscapeControls("\xc2\x85"), "\\xc2\\x85") << "C1 control";
  EXPECT_EQ(EscapeControls("\xe2\x82"), "\\xe2\\x82") << "cut short";
}

TEST(LoggingTest, WritesOneJsonObjectALine) {
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(SetUpLogging({"example", "json", "info"}).ok());
  spdlog::info("job {}: said \"hi\"\n{{}}", 7);
  spdlog::debug("not shown");
  const std::string line = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(line.find('\n'), line.size() - 1) << line;
  const auto record = nlohmann::json::parse(line);
  EXPECT_EQ(record["level"], "info");
  EXPECT_EQ(record["program"], "example");
  EXPECT_EQ(record["message"], "job 7: said \"hi\"\\n{}");
}

TEST(LoggingTest, WritesTextWithLevel) {
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(SetUpLogging({"example", "text", "warning"}).ok());
  spdlog::info("not shown");
  spdlog::warn("careful");
  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find("warning careful\n"), std::string::npos) << line;
  EXPECT_EQ(line.find("not shown"), std::string::npos);
}

TEST(LoggingTest, RefusesUnknownNames) {
  EXPECT_EQ(SetUpLogging({"example", "xml", "info"}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SetUpLogging({"example", "json", "loud"}).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace epochd::program
