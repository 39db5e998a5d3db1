// SPDX-License-Identifier: Apache-2.0
#include "program/flags.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "program/file.h"

namespace epochd::program {
namespace {

// Settings of a made-up program, parsed afresh for each case.
struct Settings {
  std::string listen = "default:1";
  int limit = 3;
  bool insecure = false;
  LoggingOptions logging;

  std::optional<int> Parse(std::vector<const char*> arguments) {
    Flags flags("example", "An example.", {"example --limit 4"});
    flags.Add("listen", listen, "address");
    flags.Add("limit", limit, "how many");
    flags.AddSwitch("insecure", insecure, "no checks");
    flags.AddLogging(logging);
    arguments.insert(arguments.begin(), "example");
    return flags.Parse(static_cast<int>(arguments.size()), arguments.data());
  }
};

class FlagsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = ::testing::TempDir() + "epochd_flags.XXXXXX";
    ASSERT_GE(::mkstemp(file_.data()), 0);
  }
  void TearDown() override {
    ::unsetenv("EPOCHD_LISTEN");
    ::unsetenv("EPOCHD_INSECURE");
    ::unlink(file_.c_str());
  }
  void Write(const std::string& yaml) {
    ASSERT_TRUE(ReplaceFile(file_, yaml, 0600).ok());
  }
  // Parses with the file and returns what went to stderr.
  std::string Complaint(const std::string& yaml) {
    Write(yaml);
    Settings settings;
    ::testing::internal::CaptureStderr();
    const auto code = settings.Parse({"--config", file_.c_str()});
    EXPECT_EQ(code, std::optional<int>(kExitUsage));
    return ::testing::internal::GetCapturedStderr();
  }

  std::string file_;
};

TEST_F(FlagsTest, KeepsDefaultsWhenNothingIsSaid) {
  Settings settings;
  EXPECT_EQ(settings.Parse({}), std::nullopt);
  EXPECT_EQ(settings.listen, "default:1");
  EXPECT_EQ(settings.limit, 3);
}

TEST_F(FlagsTest, FlagWinsOverEnvironmentWinsOverFile) {
  Write("listen: file:1\nlimit: 7\ninsecure: true\nlog_level: debug\n");
  ::setenv("EPOCHD_LISTEN", "environment:1", 1);
  Settings from_environment;
  EXPECT_EQ(from_environment.Parse({"--config", file_.c_str()}), std::nullopt);
  EXPECT_EQ(from_environment.listen, "environment:1");
  EXPECT_EQ(from_environment.limit, 7);
  EXPECT_TRUE(from_environment.insecure);
  EXPECT_EQ(from_environment.logging.level, "debug");

  Settings from_flag;
  EXPECT_EQ(from_flag.Parse({"--config", file_.c_str(), "--listen", "flag:1"}),
            std::nullopt);
  EXPECT_EQ(from_flag.listen, "flag:1");
}

TEST_F(FlagsTest, EnvironmentSetsASwitch) {
  ::setenv("EPOCHD_INSECURE", "true", 1);
  Settings settings;
  EXPECT_EQ(settings.Parse({}), std::nullopt);
  EXPECT_TRUE(settings.insecure);
}

TEST_F(FlagsTest, NamesLineAndKnownKeysOfAnUnknownSetting) {
  const std::string text = Complaint("limit: 1\nlisen: x\n");
  EXPECT_NE(text.find(":2: unknown setting 'lisen'"), std::string::npos)
      << text;
  EXPECT_NE(text.find("listen"), std::string::npos) << text;
}

TEST_F(FlagsTest, RefusesDuplicatesNonMapsAndWrongTypes) {
  EXPECT_NE(Complaint("limit: 1\nlimit: 2\n").find("given twice"),
            std::string::npos);
  EXPECT_NE(Complaint("- a\n").find("not a map"), std::string::npos);
  EXPECT_NE(Complaint("limit: many\n").find("many"), std::string::npos);
  EXPECT_NE(Complaint("limit: {a: 1}\n").find("neither a value"),
            std::string::npos);
}

TEST_F(FlagsTest, HelpShowsExamplesBeforeOptionsAndEndsWithZero) {
  Settings settings;
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(settings.Parse({"--help"}), std::optional<int>(0));
  const std::string help = ::testing::internal::GetCapturedStdout();
  const size_t examples = help.find("example --limit 4");
  const size_t options = help.find("--listen");
  ASSERT_NE(examples, std::string::npos) << help;
  ASSERT_NE(options, std::string::npos) << help;
  EXPECT_LT(examples, options);
}

TEST_F(FlagsTest, UnknownFlagIsAUsageError) {
  Settings settings;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(settings.Parse({"--lisen=x"}), std::optional<int>(kExitUsage));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("lisen"),
            std::string::npos);
}

}  // namespace
}  // namespace epochd::program
