// SPDX-License-Identifier: Apache-2.0
//
// Commands against a coordinator that lives in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/epochctl/exit_code.h"
#include "proto/wire/status.h"
#include "tests/client/api/fake_server.h"
#include "tests/client/epochctl/harness.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;

class JobCommandsTest : public CommandTest {
 protected:
  JobCommandsTest() {
    environment_["EPOCHD_SERVER"] = server_.address;
    environment_["EPOCHD_TOKEN_FILE"] =
        folder_.Write("token", std::string(64, 'a') + "\n");
    v1::Job& job = server_.jobs.job;
    job.set_name("jobs/a1");
    job.set_state(v1::JOB_STATE_RUNNING);
    job.set_reason(v1::JOB_REASON_TRAINING);
    job.mutable_spec()->set_display_name("digits");
    job.mutable_spec()->mutable_resources()->mutable_replicas()->set_max(2);
    job.mutable_create_time()->set_seconds(1000000 - 192);
    job.mutable_progress()->set_epoch(12);
    job.mutable_progress()->set_total_epochs(30);
    job.mutable_best()->set_name("val/accuracy");
    job.mutable_best()->set_value(0.975);
    job.mutable_best()->set_epoch(11);
  }

  void EndsWith(v1::JobState state) {
    server_.jobs.rounds = {
        {{client::Ended(1, state)},
         {client::Chunk(1, 0, "last line\n"), client::LastChunk(state)},
         {}}};
    server_.jobs.job.set_state(state);
  }

  client::FakeServer server_;
};

TEST_F(JobCommandsTest, ListsJobsAsATable) {
  EXPECT_EQ(Run({"ps", "--limit", "1"}), kOk) << err();
  EXPECT_EQ(out(),
            "ID  NAME    STATE    EPOCH  BEST                      AGE    "
            "REASON\n"
            "0   digits  RUNNING  12/30  val/accuracy 0.9750 (11)  3m12s  "
            "training\n");
  EXPECT_EQ(Run({"job", "list", "-q"}), kOk);
  EXPECT_EQ(out(), "jobs/0\njobs/1\njobs/2\n");
  EXPECT_EQ(Run({"ps", "--limit", "1", "--no-headers", "-o", "wide"}), kOk);
  EXPECT_THAT(out(), HasSubstr("  3m12s    2  0  training"));
  EXPECT_EQ(Run({"ps", "-o", "json"}), kOk);
  EXPECT_THAT(out(), HasSubstr("{\n  \"jobs\": [\n"));
}

TEST_F(JobCommandsTest, ShowsOneJobWithoutItsControlCharacters) {
  server_.jobs.job.set_message("a\x1b[31mb");
  EXPECT_EQ(Run({"status", "a1"}), kOk) << err();
  EXPECT_THAT(out(), HasSubstr("state       RUNNING (training: a\\x1b[31mb)"));
  EXPECT_THAT(out(), HasSubstr("replicas    2\n"));
  EXPECT_EQ(Run({"status", "b"}), kNotFound);
  EXPECT_EQ(err(), "error: no job jobs/b\n");
}

TEST_F(JobCommandsTest, TellsTheOutcomeByTheExitCode) {
  struct Case {
    v1::JobState state;
    int code;
  };
  for (const Case& c :
       {Case{v1::JOB_STATE_SUCCEEDED, 0}, Case{v1::JOB_STATE_FAILED, 100},
        Case{v1::JOB_STATE_CANCELLED, 103}}) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"watch", "a1"},
          std::vector<std::string>{"job", "wait", "a1"},
          std::vector<std::string>{"logs", "-f", "a1"}}) {
      EndsWith(c.state);
      EXPECT_EQ(Run(arguments), c.code) << arguments[0];
    }
  }
  EXPECT_EQ(Run({"logs", "a1"}), kOk);
  EXPECT_EQ(out(), "last line\n");
}

TEST_F(JobCommandsTest, TellsAMissingJobFromAFailedOne) {
  server_.jobs.rounds = {
      {{}, {}, {grpc::StatusCode::NOT_FOUND, "no job jobs/x"}}};
  EXPECT_EQ(Run({"job", "wait", "x"}), kJobNotFound);
  EXPECT_EQ(Run({"watch", "x"}), kJobNotFound);
  EXPECT_EQ(Run({"logs", "-f", "x"}), kJobNotFound);
  EXPECT_EQ(Run({"logs", "x"}), kNotFound);
}

TEST_F(JobCommandsTest, GivesUpAWaitAfterItsTime) {
  server_.jobs.rounds = {{{}, {}, {grpc::StatusCode::UNAVAILABLE, "gone"}}};
  EXPECT_EQ(Run({"job", "wait", "a1", "--timeout", "50ms"}), kTimeout);
}

TEST_F(JobCommandsTest, PrintsTheBestLastAfterAWatch) {
  EndsWith(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Run({"watch", "a1"}), kOk);
  EXPECT_THAT(out(),
              testing::EndsWith("best val/accuracy 0.9750 at epoch 11\n"));
  EXPECT_THAT(err(), HasSubstr("SUCCEEDED"));
}

TEST_F(JobCommandsTest, SubmitsWithFilesAndPrintsTheName) {
  folder_.Write("train.py", "print(1)\n");
  const std::string file = folder_.Write(
      "job.yaml", "command: [python, train.py]\nfiles: [train.py]\n");
  EXPECT_EQ(Run({"submit", file, "--request-id", "r1"}), kOk) << err();
  EXPECT_EQ(out(), "jobs/a1\n");
  EXPECT_EQ(server_.jobs.submitted.request_id(), "r1");
  ASSERT_EQ(server_.jobs.submitted.spec().files_size(), 1);
  EXPECT_EQ(
      server_.jobs.uploads.at(server_.jobs.submitted.spec().files(0).sha256()),
      "print(1)\n");
}

TEST_F(JobCommandsTest, PutsTheServersViolationsAtTheirLines) {
  server_.jobs.submit_status = wire::ToGrpc(
      wire::BadRequest({{"resources.replicas", "this project may have 1"},
                        {"command[1]", "not allowed"}}));
  const std::string file = folder_.Write(
      "job.yaml", "command: [sh,\n  -c]\nresources: {replicas: 3}\n");
  EXPECT_EQ(Run({"submit", file}), kInvalid);
  EXPECT_THAT(err(),
              HasSubstr(file + ":2:3: command[1]: not allowed\n" + file +
                        ":3:13: resources.replicas: this project may have "
                        "1\n2 problems\n"));
}

TEST_F(JobCommandsTest, CancelsAndReportsEach) {
  EXPECT_EQ(Run({"stop", "a1"}), kOk) << err();
  EXPECT_EQ(out(), "jobs/a1 STOPPING\n");
}

TEST_F(JobCommandsTest, PlotsWhatTheEventsTell) {
  for (int epoch = 1; epoch <= 3; ++epoch) {
    v1::Event event = client::Numbered(epoch);
    event.mutable_epoch_finished()->set_epoch(epoch);
    (*event.mutable_epoch_finished()->mutable_metrics())["val/loss"] =
        1.0 / epoch;
    server_.jobs.listed.push_back(event);
  }
  EXPECT_EQ(Run({"job", "plot", "a1", "--width", "40", "--height", "6"}), kOk);
  EXPECT_THAT(out(), HasSubstr("loss  * val/loss\n1.0000 +"));
  EXPECT_EQ(Run({"job", "plot", "a1", "-m", "val/los"}), kNotFound);
  EXPECT_THAT(err(), HasSubstr("no 'val/los', known are val/loss"));
  EXPECT_EQ(Run({"job", "events", "a1", "--no-headers"}), kOk);
  EXPECT_THAT(out(), HasSubstr("epoch_finished  epoch 3  val/loss 0.3333"));
}

TEST_F(JobCommandsTest, TellsThatNobodyAnswers) {
  environment_["EPOCHD_SERVER"] = "127.0.0.1:1";
  EXPECT_EQ(Run({"health"}), kUnreachable);
  EXPECT_THAT(err(), HasSubstr("is a coordinator running at 127.0.0.1:1?"));
  EXPECT_EQ(Run({"ps", "--token-file", "/nowhere"}), kNotFound);
}

}  // namespace
}  // namespace epochd::epochctl
