// SPDX-License-Identifier: Apache-2.0
//
// `epochctl run` with a script for each program and a coordinator in this
// process behind them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <tuple>

#include "client/epochctl/exit_code.h"
#include "proto/wire/status.h"
#include "tests/client/epochctl/coordinator.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RunTest : public CoordinatorTest {
 protected:
  RunTest() {
    file_ = folder_.Write("job.yaml",
                          "resources: {replicas: 2, cpus: 3}\n"
                          "experiment:\n"
                          "  model: {type: MLP, in_features: 64, "
                          "out_features: 10}\n"
                          "  data: {train: {type: Digits, file: d}}\n"
                          "  loss: {type: CrossEntropy}\n"
                          "  optimizer: {type: AdamW}\n"
                          "  trainer: {type: EpochTrainer, epochs: 3}\n");
    run_ = folder_.path() + "/run";
    // Makes the token, then says where this test's coordinator listens.
    folder_.Write("epochd",
                  "#!/bin/sh\n"
                  "while [ $# -gt 0 ]; do\n"
                  "  [ \"$1\" = --state-dir ] && state=$2\n"
                  "  [ \"$1\" = --port-file ] && port=$2\n"
                  "  shift\n"
                  "done\n"
                  "umask 077\n"
                  "printf '%064d' 0 > \"$state/token\"\n"
                  "echo '{\"grpc\":\"" +
                      server_.address +
                      "\"}' > \"$port.new\"\n"
                      "mv \"$port.new\" \"$port\"\n"
                      "trap 'exit 0' TERM\n"
                      "while :; do sleep 0.05; done\n",
                  true);
    folder_.Write("epochd-worker",
                  "#!/bin/sh\n"
                  "trap 'exit 0' TERM\n"
                  "while :; do sleep 0.05; done\n",
                  true);
    // The cluster's own is used.
    environment_["EPOCHD_SERVER"] = "127.0.0.1:1";
  }

  void WaitsForEver() {
    server_.jobs.rounds = {{{client::Ended(1, v1::JOB_STATE_SUCCEEDED)},
                            {},
                            {},
                            std::numeric_limits<size_t>::max()}};
  }

  std::string file_;
  std::string run_;
};

TEST_F(RunTest, TrainsAndEndsAsTheJobDoes) {
  EndsWith(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Run({"run", file_, "--folder", run_}), kOk) << err();
  EXPECT_THAT(err(), HasSubstr("jobs/a1 SUCCEEDED\n"));
  EXPECT_THAT(out(),
              testing::EndsWith("best val/accuracy 0.9750 at epoch 11\n"));
  EXPECT_EQ(server_.jobs.submitted.spec().resources().replicas().max(), 2);
  for (const auto& [state, code] :
       {std::pair(v1::JOB_STATE_FAILED, kJobFailed),
        std::pair(v1::JOB_STATE_CANCELLED, kJobCancelled)}) {
    EndsWith(state);
    EXPECT_EQ(Run({"run", file_, "--folder", run_, "-q"}), code);
    EXPECT_EQ(err(), "");
  }
}

TEST_F(RunTest, SaysInOneLineWhatBecameOfTheJobWhereItIsQuiet) {
  v1::Event ended;
  ended.set_sequence(1);
  (*ended.mutable_training_ended()->mutable_outputs())["metrics"] = "/s/m";
  v1::Event epoch;
  epoch.set_sequence(2);
  epoch.mutable_epoch_finished()->set_epoch(1);
  (*epoch.mutable_epoch_finished()->mutable_metrics())["val/loss"] = 0.5;
  for (const bool is_terminal : {false, true}) {
    style_.is_terminal = is_terminal;
    for (const auto& [state, code, line] :
         {std::tuple(v1::JOB_STATE_SUCCEEDED, kOk, "a1 SUCCEEDED\n"),
          std::tuple(v1::JOB_STATE_FAILED, kJobFailed,
                     "a1 FAILED (training): the loss is nan\n")}) {
      server_.jobs.job.set_state(state);
      server_.jobs.job.set_message("the loss is nan");
      server_.jobs.rounds = {{{ended, epoch, client::Ended(3, state)}, {}, {}}};
      EXPECT_EQ(Run({"run", file_, "--folder", run_, "-q"}), code);
      EXPECT_EQ(out(), line);
      EXPECT_EQ(err(), "");
    }
  }
}

TEST_F(RunTest, MakesAFolderOfItsOwn) {
  environment_["HOME"] = folder_.path();
  EndsWith(v1::JOB_STATE_SUCCEEDED);
  setenv("EPOCHD_HOME", (folder_.path() + "/home").c_str(), 1);
  EXPECT_EQ(Run({"run", file_, "-q"}), kOk) << err();
  unsetenv("EPOCHD_HOME");
  int num_folders = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder_.path() + "/home/runs")) {
    EXPECT_THAT(entry.path().filename().string(), HasSubstr("job-19700112-"));
    ++num_folders;
  }
  EXPECT_EQ(num_folders, 1);
}

TEST_F(RunTest, PrintsTheJobForPrograms) {
  EndsWith(v1::JOB_STATE_FAILED);
  EXPECT_EQ(Run({"run", file_, "--folder", run_, "-o", "json"}), kJobFailed);
  EXPECT_THAT(out(), HasSubstr("\"state\": \"JOB_STATE_FAILED\""));
  EXPECT_EQ(err(), "");
}

TEST_F(RunTest, DrawsTheCurvesOnRequest) {
  v1::Event epoch;
  epoch.set_sequence(1);
  epoch.mutable_epoch_finished()->set_epoch(1);
  (*epoch.mutable_epoch_finished()->mutable_metrics())["val/loss"] = 0.5;
  server_.jobs.rounds = {
      {{epoch, client::Ended(2, v1::JOB_STATE_SUCCEEDED)}, {}, {}}};
  server_.jobs.job.set_state(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Run({"run", file_, "--folder", run_, "--plot"}), kOk) << err();
  EXPECT_THAT(out(), HasSubstr("loss  * val/loss\n"));
  EXPECT_EQ(Run({"run", file_, "--folder", run_}), kOk);
  EXPECT_THAT(out(), Not(HasSubstr("* val/loss")));
}

TEST_F(RunTest, StartsNothingForAFileThatIsWrong) {
  EXPECT_EQ(Run({"run", file_, "--folder", run_, "--set", "trainer.epochs=x"}),
            kInvalid);
  EXPECT_THAT(err(), HasSubstr("--set: experiment.trainer.epochs: expected an "
                               "integer"));
  EXPECT_EQ(Run({"run", "/nowhere.yaml", "--folder", run_}), kNotFound);
  EXPECT_FALSE(std::filesystem::exists(run_));
}

TEST_F(RunTest, PutsTheCoordinatorsFindingsAtTheirLines) {
  server_.jobs.submit_status =
      wire::ToGrpc(wire::BadRequest({{"resources.cpus", "too many"}}));
  EXPECT_EQ(Run({"run", file_, "--folder", run_}), kInvalid);
  EXPECT_EQ(err(), file_ + ":1:26: resources.cpus: too many\n1 problem\n");
  server_.jobs.submit_status = {grpc::StatusCode::RESOURCE_EXHAUSTED, "full"};
  EXPECT_EQ(Run({"run", file_, "--folder", run_}), kFailed);
  EXPECT_EQ(err(), "error: full\n");
}

TEST_F(RunTest, EndsWithAJobThatThisMachineCannotRun) {
  WaitsForEver();
  server_.jobs.job.set_state(v1::JOB_STATE_QUEUED);
  for (const v1::JobReason reason :
       {v1::JOB_REASON_UNSATISFIABLE, v1::JOB_REASON_COMPONENTS_MISSING}) {
    server_.jobs.job.set_reason(reason);
    server_.jobs.job.set_message("needs 1 rank on gpu");
    EXPECT_EQ(Run({"run", file_, "--folder", run_}), kFailed);
    EXPECT_THAT(err(),
                HasSubstr("error: this machine cannot run the job: needs "
                          "1 rank on gpu\n"));
  }
}

TEST_F(RunTest, EndsWhenItsWorkerDied) {
  folder_.Write("epochd-worker",
                "#!/bin/sh\necho '--plugins: no nope.so' >&2\nexit 2\n", true);
  server_.jobs.job.set_state(v1::JOB_STATE_QUEUED);
  server_.jobs.job.set_reason(v1::JOB_REASON_NO_WORKERS);
  WaitsForEver();
  EXPECT_EQ(Run({"run", file_, "--folder", run_}), kFailed);
  EXPECT_THAT(err(), HasSubstr("epochd-worker ended (exit code 2)"));
  EXPECT_THAT(err(), HasSubstr("--plugins: no nope.so\n"));
}

TEST_F(RunTest, SaysThatAProgramIsMissingOrDied) {
  std::filesystem::remove(folder_.path() + "/epochd-worker");
  EXPECT_EQ(Run({"run", file_, "--folder", run_}), kFailed);
  EXPECT_THAT(err(), HasSubstr("epochd-worker' beside this one"));
  folder_.Write("epochd", "#!/bin/sh\necho 'disk is full' >&2\nexit 3\n", true);
  EXPECT_EQ(Run({"run", file_, "--folder", run_}), kFailed);
  EXPECT_THAT(err(), HasSubstr("epochd ended (exit code 3)"));
  EXPECT_THAT(err(), HasSubstr("disk is full"));
}

}  // namespace
}  // namespace epochd::epochctl
