// SPDX-License-Identifier: Apache-2.0
//
// Every command with wrong arguments, without a coordinator, turned away, and
// for a job that is not there: each says what is wrong, once, and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/epochctl/exit_code.h"
#include "tests/client/epochctl/coordinator.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Arguments = std::vector<std::string>;

int Count(const std::string& text, const std::string& part) {
  int num_found = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size())) {
    ++num_found;
  }
  return num_found;
}

std::string Join(const Arguments& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += argument + " ";
  return text;
}

class WordingTest : public CoordinatorTest {
 protected:
  WordingTest() { file_ = folder_.Write("job.yaml", "command: [a]\n"); }

  static std::vector<Arguments> OfOneJob() {
    return {{"status", "x"},
            {"stop", "x"},
            {"job", "delete", "x"},
            {"job", "events", "x"},
            {"job", "events", "x", "-o", "json"},
            {"job", "checkpoints", "x"},
            {"plot", "x"},
            {"watch", "x"},
            {"watch", "x", "-o", "json"},
            {"job", "wait", "x"},
            {"logs", "x"},
            {"logs", "-f", "x"}};
  }
  std::vector<Arguments> OfAny() const {
    std::vector<Arguments> commands = OfOneJob();
    for (const Arguments& more :
         std::vector<Arguments>{{"ps"},
                                {"submit", file_},
                                {"submit", file_, "--watch"},
                                {"validate", file_, "--at-server"},
                                {"worker", "list"},
                                {"worker", "get", "n1"},
                                {"worker", "drain", "n1"},
                                {"health"}}) {
      commands.push_back(more);
    }
    return commands;
  }

  std::string file_;
};

TEST_F(WordingTest, AJobThatIsNotThereIsNamedOnce) {
  server_.jobs.failure = {grpc::StatusCode::NOT_FOUND, "jobs/x: not found"};
  server_.jobs.rounds = {{{}, {}, server_.jobs.failure}};
  for (const Arguments& command : OfOneJob()) {
    const int code = Run(command);
    EXPECT_TRUE(code == kNotFound || code == kJobNotFound) << Join(command);
    EXPECT_EQ(err(), "error: jobs/x: not found\n") << Join(command);
    EXPECT_EQ(out(), "") << Join(command);
  }
}

TEST_F(WordingTest, WhatIsNoJobsNameIsSaidOnce) {
  server_.jobs.failure = wire::ToGrpc(wire::BadRequest(
      {{"name", "bad name 'jobs/x', jobs/{job} is accepted"}}));
  server_.jobs.rounds = {{{}, {}, server_.jobs.failure}};
  for (const Arguments& command : OfOneJob()) {
    EXPECT_EQ(Run(command), kInvalid) << Join(command);
    EXPECT_EQ(err(), "error: name: bad name 'jobs/x', jobs/{job} is accepted\n")
        << Join(command);
  }
}

TEST_F(WordingTest, ATokenThatIsNotTheCoordinatorsIsSaidOnce) {
  server_.FailWith(
      {grpc::StatusCode::UNAUTHENTICATED, "token: not known here"});
  server_.jobs.rounds = {{{}, {}, server_.jobs.failure}};
  for (const Arguments& command : OfAny()) {
    EXPECT_EQ(Run(command), kNotAllowed) << Join(command);
    EXPECT_THAT(err(), StartsWith("error: token: not known here\n"))
        << Join(command);
    EXPECT_EQ(Count(err(), "\n"), 2) << Join(command) << err();
    EXPECT_THAT(err(), HasSubstr("EPOCHD_TOKEN_FILE")) << Join(command);
  }
}

TEST_F(WordingTest, ACoordinatorThatNeverAnsweredIsNotWaitedFor) {
  // Nobody can listen there.
  environment_["EPOCHD_SERVER"] = "127.0.0.1:1";
  // A second or two each: those that would go on when a connection breaks.
  for (const Arguments& command :
       std::vector<Arguments>{{"watch", "x"},
                              {"job", "wait", "x"},
                              {"logs", "-f", "x"},
                              {"submit", file_, "--watch"}}) {
    EXPECT_EQ(Run(command), kUnreachable) << Join(command);
    EXPECT_THAT(err(), StartsWith("error: ")) << Join(command);
    EXPECT_EQ(Count(err(), "is a coordinator running at 127.0.0.1:1?"), 1)
        << Join(command) << err();
    EXPECT_EQ(Count(err(), "connection lost"), 0) << Join(command);
    EXPECT_EQ(out(), "") << Join(command);
  }
}

TEST_F(WordingTest, ArgumentsThatMakeNoSenseAreExplained) {
  struct Case {
    Arguments arguments;
    const char* message;
  };
  for (const Case& c : {
           Case{{"watch"}, "job is required"},
           Case{{"logs"}, "job is required"},
           Case{{"plot"}, "job is required"},
           Case{{"stop"}, "jobs is required"},
           Case{{"job", "delete"}, "jobs is required"},
           Case{{"job", "wait"}, "job is required"},
           Case{{"job", "events"}, "job is required"},
           Case{{"job", "checkpoints"}, "job is required"},
           Case{{"worker", "get"}, "worker is required"},
           Case{{"worker", "drain"}, "worker is required"},
           Case{{"submit"}, "file is required"},
           Case{{"run"}, "file is required"},
           Case{{"validate"}, "file is required"},
           Case{{"completion"}, "shell is required"},
           Case{{"watch", "a", "b"}, "b"},
           Case{{"health", "now"}, "now"},
           Case{{"watch", "a", "--after", "x"}, "x"},
           Case{{"plot", "a", "--height", "tall"}, "tall"},
           Case{{"submit", "f", "--dry-run", "client"}, "client"},
           Case{{"ps", "--color", "blue"}, "blue"},
           Case{{"worker", "drian", "n1"}, "did you mean 'drain'?"},
           Case{{"plto", "a"}, "did you mean 'plot'?"},
           Case{{"stop", "a", "b", "--request-id", "r"},
                "--request-id: names one request, got 2 jobs"},
       }) {
    EXPECT_EQ(Run(c.arguments), kUsage) << Join(c.arguments);
    EXPECT_THAT(err(), HasSubstr(c.message)) << Join(c.arguments);
    EXPECT_EQ(Count(err(), "error:"), 1) << Join(c.arguments);
    EXPECT_EQ(out(), "") << Join(c.arguments);
  }
}

TEST_F(WordingTest, AFileThatIsNotThereIsNamed) {
  for (const Arguments& command :
       std::vector<Arguments>{{"submit", "/none.yaml"},
                              {"validate", "/none.yaml"},
                              {"run", "/none.yaml"}}) {
    EXPECT_EQ(Run(command), kNotFound) << Join(command);
    EXPECT_EQ(Count(err(), "/none.yaml"), 1) << Join(command) << err();
  }
}

TEST_F(WordingTest, OneOfSeveralJobsThatFailsDoesNotHideTheOthers) {
  EXPECT_EQ(Run({"stop", "a1", "x", "a1"}), kNotFound);
  EXPECT_EQ(out(), "jobs/a1 STOPPING\njobs/a1 STOPPING\n");
  EXPECT_EQ(err(), "error: no job jobs/x\n");
}

TEST_F(WordingTest, SizesThatCannotBeAreNoReasonToCrash) {
  v1::Event event = client::Numbered(1);
  event.mutable_epoch_finished()->set_epoch(1);
  (*event.mutable_epoch_finished()->mutable_metrics())["val/loss"] = 1.0;
  server_.jobs.listed = {event};
  for (const char* size : {"-5", "0", "1", "100000"}) {
    EXPECT_EQ(Run({"plot", "a1", "--height", size, "--width", "40"}), kOk)
        << size;
    EXPECT_EQ(Run({"plot", "a1", "--width", size}), kOk) << size;
  }
}

}  // namespace
}  // namespace epochd::epochctl
