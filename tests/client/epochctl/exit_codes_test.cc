// SPDX-License-Identifier: Apache-2.0
//
// Every command that asks a coordinator, against every way to be turned away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/epochctl/exit_code.h"
#include "tests/client/epochctl/coordinator.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;

class ExitCodesTest : public CoordinatorTest {
 protected:
  ExitCodesTest() { file_ = folder_.Write("job.yaml", "command: [a]\n"); }

  // Commands that ask for one answer.
  std::vector<std::vector<std::string>> Commands() const {
    return {{"ps"},
            {"status", "a1"},
            {"status", "a1", "--resolved"},
            {"stop", "a1"},
            {"job", "delete", "a1"},
            {"job", "events", "a1"},
            {"job", "checkpoints", "a1"},
            {"job", "plot", "a1"},
            {"submit", file_},
            {"submit", file_, "--dry-run", "server"},
            {"worker", "list"},
            {"worker", "get", "n1"},
            {"worker", "drain", "n1"},
            {"validate", file_, "--at-server"},
            {"health"}};
  }

  std::string file_;
};

std::string Words(const std::vector<std::string>& arguments) {
  std::string words;
  for (const std::string& argument : arguments) words += argument + " ";
  return words;
}

TEST_F(ExitCodesTest, TellWhyACoordinatorRefused) {
  struct Case {
    grpc::StatusCode status;
    int code;
    const char* hint;
  };
  for (const Case& c : {
           Case{grpc::StatusCode::UNAUTHENTICATED, kNotAllowed,
                "--token-file or EPOCHD_TOKEN_FILE"},
           Case{grpc::StatusCode::PERMISSION_DENIED, kNotAllowed, ""},
           Case{grpc::StatusCode::NOT_FOUND, kNotFound, ""},
           Case{grpc::StatusCode::FAILED_PRECONDITION, kConflict, ""},
           Case{grpc::StatusCode::ABORTED, kConflict, ""},
           Case{grpc::StatusCode::INVALID_ARGUMENT, kInvalid, ""},
           Case{grpc::StatusCode::RESOURCE_EXHAUSTED, kFailed, ""},
           Case{grpc::StatusCode::INTERNAL, kFailed, ""},
       }) {
    server_.FailWith({c.status, "because"});
    for (const auto& arguments : Commands()) {
      EXPECT_EQ(Run(arguments), c.code) << Words(arguments) << c.status;
      EXPECT_THAT(err(), HasSubstr("because")) << Words(arguments);
      EXPECT_THAT(err(), HasSubstr(c.hint));
      EXPECT_EQ(err().find("EPOCHD_TOKEN_FILE") != std::string::npos,
                c.status == grpc::StatusCode::UNAUTHENTICATED)
          << Words(arguments);
      EXPECT_EQ(out(), "") << Words(arguments);
    }
  }
}

TEST_F(ExitCodesTest, TellThatATokenCannotBeHad) {
  struct Case {
    std::string file;
    const char* message;
  };
  const std::string open = folder_.Write("open", std::string(64, 'a'));
  std::filesystem::permissions(open, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  const std::string absent = folder_.path() + "/none";
  for (const Case& c : {
           Case{absent, "/none"},
           Case{folder_.Write("short", "abc\n"), "token: "},
           Case{open, "lets others read the token"},
       }) {
    for (auto arguments : Commands()) {
      arguments.insert(arguments.end(), {"--token-file", c.file});
      EXPECT_EQ(Run(arguments), kNotAllowed) << Words(arguments);
      EXPECT_THAT(err(), HasSubstr(c.message));
      EXPECT_THAT(err(), HasSubstr("EPOCHD_TOKEN_FILE"));
    }
    for (const std::vector<std::string>& stream :
         {std::vector<std::string>{"watch", "a1"},
          std::vector<std::string>{"logs", "a1"},
          std::vector<std::string>{"job", "wait", "a1"}}) {
      auto arguments = stream;
      arguments.insert(arguments.end(), {"--token-file", c.file});
      EXPECT_EQ(Run(arguments), kNotAllowed) << Words(arguments);
    }
  }
}

TEST_F(ExitCodesTest, OfStreamsTellARefusalFromAJobsEnd) {
  server_.jobs.rounds = {
      {{}, {}, {grpc::StatusCode::UNAUTHENTICATED, "no such token"}}};
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"watch", "a1"},
        std::vector<std::string>{"job", "wait", "a1"},
        std::vector<std::string>{"logs", "a1"},
        std::vector<std::string>{"logs", "-f", "a1"},
        std::vector<std::string>{"submit", file_, "--watch"}}) {
    EXPECT_EQ(Run(arguments), kNotAllowed) << Words(arguments);
    EXPECT_THAT(err(), HasSubstr("no such token"));
  }
}

TEST_F(ExitCodesTest, TellThatSettingsMakeNoSense) {
  const std::string config = folder_.Write("config.yaml", "contexts: {}\n");
  EXPECT_EQ(Run({"ps", "--config", config, "--context", "lab"}), kInvalid);
  EXPECT_THAT(err(), HasSubstr("there is no 'lab'"));
  EXPECT_EQ(Run({"ps", "--config", "/nowhere.yaml"}), kNotFound);
  EXPECT_EQ(Run({"ps", "--tls-ca", "/nowhere.pem"}), kNotFound);
}

}  // namespace
}  // namespace epochd::epochctl
