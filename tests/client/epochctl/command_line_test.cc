// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "tests/client/epochctl/harness.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;

class CommandLineTest : public CommandTest {};

TEST_F(CommandLineTest, HelpsWithExamplesBeforeTheOptions) {
  EXPECT_EQ(Run({"--help"}), kOk);
  const std::string help = out();
  EXPECT_LT(help.find("epochctl run examples/digits.yaml"),
            help.find("--server"));
  EXPECT_THAT(help, HasSubstr("List jobs"));
  EXPECT_EQ(Run({"job", "list", "--help"}), kOk);
  EXPECT_THAT(out(), HasSubstr("epochctl ps --state running"));
  EXPECT_THAT(out(), HasSubstr("--selector"));
  EXPECT_EQ(err(), "");
}

TEST_F(CommandLineTest, ExplainsWhatMakesNoSense) {
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{}, "subcommand is required"},
      {{"jbo", "list"}, "did you mean 'job'?"},
      {{"job", "lst"}, "there is no command 'lst', did you mean 'list'?"},
      {{"describe", "a"}, "there is no command 'describe'\n"},
      {{"-o", "json", "resume"}, "there is no command 'resume'\n"},
      {{"cancel", "a"},
       "there is no command 'cancel', did you mean 'job cancel'?"},
      {{"delete", "a"}, "did you mean 'job delete'?"},
      {{"wait", "a"}, "did you mean 'job wait'?"},
      {{"events", "a"}, "did you mean 'job events'?"},
      {{"checkpoints", "a"}, "did you mean 'job checkpoints'?"},
      {{"drain", "a"}, "did you mean 'worker drain'?"},
      {{"get", "a"}, "did you mean 'job get' or 'worker get'?"},
      {{"submti", "x"}, "did you mean 'submit'?"},
      {{"job", "get"}, "job is required"},
      {{"ps", "-o", "xml"}, "xml"},
      {{"ps", "--state", "happy"}, "happy"},
      {{"completion", "tcsh"}, "tcsh"},
      {{"logs", "a", "--rank", "x"}, "whole number up to 2147483647, got 'x'"},
      {{"ps", "--limit", "99999999999999"}, "up to 2147483647"},
      {{"ps", "-l", "team"}, "--selector: expected KEY=VALUE, got 'team'"},
      {{"job", "wait", "a", "--timeout", "soon"}, "expected a duration"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Run(c.arguments), kUsage) << c.message;
    EXPECT_THAT(err(), HasSubstr(c.message));
    EXPECT_EQ(out(), "");
  }
}

TEST_F(CommandLineTest, PrintsVersionsWithoutACoordinator) {
  EXPECT_EQ(Run({"--version"}), kOk);
  EXPECT_THAT(out(), HasSubstr("epochctl"));
  EXPECT_EQ(Run({"version", "--client", "-o", "json"}), kOk);
  EXPECT_THAT(out(), HasSubstr("\"client\""));
}

TEST_F(CommandLineTest, HelpsWithEveryCommandUnderEachOfItsNames) {
  for (const Command& command : AllCommands()) {
    for (const std::string& name : {command.path, command.alias}) {
      if (name.empty()) continue;
      std::istringstream words(name);
      std::vector<std::string> arguments;
      for (std::string word; words >> word;) arguments.push_back(word);
      arguments.emplace_back("--help");
      EXPECT_EQ(Run(arguments), kOk) << name;
      EXPECT_THAT(out(), HasSubstr(command.summary)) << name;
      for (const Option& option : command.options) {
        const std::string first =
            option.names.substr(0, option.names.find(','));
        EXPECT_THAT(out(), HasSubstr(first)) << name;
      }
      for (const std::string& example : command.examples) {
        EXPECT_THAT(out(), HasSubstr(example)) << name;
      }
      EXPECT_EQ(err(), "");
    }
  }
}

TEST_F(CommandLineTest, RefusesAFlagThatNoCommandHas) {
  for (const Command& command : AllCommands()) {
    std::istringstream words(command.path);
    std::vector<std::string> arguments;
    for (std::string word; words >> word;) arguments.push_back(word);
    arguments.emplace_back("--no-such-flag");
    EXPECT_EQ(Run(arguments), kUsage) << command.path;
    EXPECT_EQ(out(), "") << command.path;
    EXPECT_THAT(err(), HasSubstr("error:")) << command.path;
  }
}

TEST_F(CommandLineTest, TakesGlobalFlagsBeforeAndBehindTheCommand) {
  EXPECT_EQ(Run({"-o", "json", "version", "--client"}), kOk);
  const std::string before = out();
  EXPECT_EQ(Run({"version", "--client", "-o", "json"}), kOk);
  EXPECT_EQ(out(), before);
  EXPECT_THAT(before, testing::StartsWith("{"));
}

TEST(Commands, AreNamedAndExplained) {
  std::set<std::string> names;
  for (const Command& command : AllCommands()) {
    EXPECT_TRUE(names.insert(command.path).second) << command.path;
    if (!command.alias.empty()) {
      EXPECT_TRUE(names.insert(command.alias).second) << command.alias;
    }
    EXPECT_FALSE(command.summary.empty()) << command.path;
    EXPECT_FALSE(command.examples.empty()) << command.path;
    for (const Option& option : command.options) {
      EXPECT_FALSE(option.help.empty()) << command.path << option.names;
    }
  }
  for (const char* flat :
       {"run", "ps", "logs", "stop", "status", "submit", "watch"}) {
    EXPECT_TRUE(names.contains(flat)) << flat;
  }
}

TEST(ExitCode, TellsClassesOfFailureApart) {
  EXPECT_EQ(ExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCode(absl::UnknownError("")), 1);
  EXPECT_EQ(ExitCode(absl::NotFoundError("")), 3);
  EXPECT_EQ(ExitCode(absl::UnauthenticatedError("")), 4);
  EXPECT_EQ(ExitCode(absl::PermissionDeniedError("")), 4);
  EXPECT_EQ(ExitCode(absl::UnavailableError("")), 5);
  EXPECT_EQ(ExitCode(absl::DeadlineExceededError("")), 5);
  EXPECT_EQ(ExitCode(absl::AbortedError("")), 6);
  EXPECT_EQ(ExitCode(absl::FailedPreconditionError("")), 6);
  EXPECT_EQ(ExitCode(absl::InvalidArgumentError("")), 7);
  EXPECT_EQ(ExitCode(absl::CancelledError("")), 130);
}

TEST(ExitCode, TellsWhatBecameOfAJob) {
  EXPECT_EQ(OutcomeCode(v1::JOB_STATE_SUCCEEDED), 0);
  EXPECT_EQ(OutcomeCode(v1::JOB_STATE_FAILED), 100);
  EXPECT_EQ(OutcomeCode(v1::JOB_STATE_RUNNING), 101);
  EXPECT_EQ(OutcomeCode(v1::JOB_STATE_CANCELLED), 103);
}

}  // namespace
}  // namespace epochd::epochctl
