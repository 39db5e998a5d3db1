// SPDX-License-Identifier: Apache-2.0
//
// submit and validate --at-server against a coordinator in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/epochctl/exit_code.h"
#include "proto/wire/status.h"
#include "tests/catalogue/fixture.h"
#include "tests/client/epochctl/coordinator.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kJob =
    "experiment:\n"
    "  model: {type: MLP, in_features: 64, out_features: 10}\n"
    "  data: {train: {type: Digits, file: d}}\n"
    "  loss: {type: CrossEntropy}\n"
    "  optimizer: {type: AdamW}\n"
    "  trainer: {type: EpochTrainer, epochs: 3}\n";

class SubmitTest : public CoordinatorTest {
 protected:
  SubmitTest() { file_ = folder_.Write("job.yaml", kJob); }

  std::string Sent() const {
    return server_.jobs.submitted.spec().experiment_json();
  }

  std::string file_;
};

TEST_F(SubmitTest, ChecksAgainstWhatTheFleetCanBuild) {
  catalogue::Json catalogue = catalogue::FixtureJson();
  for (auto& component : catalogue["components"]) {
    if (component["name"] == "AdamW") component["name"] = "AdamX";
  }
  server_.server.catalogue = catalogue.dump();
  EXPECT_EQ(Run({"submit", file_}), kInvalid);
  EXPECT_THAT(err(), HasSubstr(file_ + ":5:15: experiment.optimizer.type: "
                                       "unknown optimizer 'AdamW', did you "
                                       "mean 'AdamX'?"));
  EXPECT_EQ(Sent(), "");
  // A file that is named counts more.
  EXPECT_EQ(
      Run({"submit", file_, "--catalogue", environment_["EPOCHD_CATALOGUE"]}),
      kOk)
      << err();
}

TEST_F(SubmitTest, FallsBackOnTheInstalledCatalogueThenOnNone) {
  EXPECT_EQ(Run({"submit", file_, "--set", "optimizer.lr=-1"}), kInvalid);
  EXPECT_THAT(err(), HasSubstr("--set: experiment.optimizer.lr: expected more "
                               "than 0, got -1"));
  environment_["EPOCHD_CATALOGUE"] = "/nowhere.json";
  EXPECT_EQ(Run({"submit", file_, "--set", "optimizer.lr=-1"}), kOk);
  EXPECT_THAT(err(), HasSubstr("warning: no component catalogue, components "
                               "are checked by the trainer"));
  EXPECT_THAT(Sent(), HasSubstr("\"lr\":-1"));
  // What is not known to be a path is sent as it is.
  EXPECT_THAT(Sent(), HasSubstr("\"file\":\"d\""));
  EXPECT_EQ(Run({"submit", file_, "--catalogue", "/nowhere.json"}), kNotFound);
}

TEST_F(SubmitTest, SendsARequestIdOfItsOwnOrTheOneGiven) {
  EXPECT_EQ(Run({"submit", file_}), kOk) << err();
  const std::string first = server_.jobs.submitted.request_id();
  EXPECT_EQ(first.size(), 36u);
  EXPECT_EQ(Run({"submit", file_}), kOk);
  EXPECT_NE(server_.jobs.submitted.request_id(), first);
  EXPECT_EQ(Run({"submit", file_, "--request-id", "mine"}), kOk);
  EXPECT_EQ(server_.jobs.submitted.request_id(), "mine");
}

TEST_F(SubmitTest, AsksOnlyOnADryRun) {
  folder_.Write("train.py", "1\n");
  const std::string file = folder_.Write(
      "c.yaml", "command: [python, train.py]\nfiles: [train.py]\n");
  EXPECT_EQ(Run({"submit", file, "--dry-run", "server"}), kOk);
  EXPECT_TRUE(server_.jobs.submitted.validate_only());
  EXPECT_TRUE(server_.jobs.uploads.empty());
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "the coordinator would take it\n");
}

TEST_F(SubmitTest, PrintsTheJobAsAsked) {
  EXPECT_EQ(Run({"submit", file_, "-o", "json"}), kOk);
  EXPECT_THAT(out(), HasSubstr("\"name\": \"jobs/a1\""));
  EXPECT_EQ(Run({"submit", file_, "-o", "yaml"}), kOk);
  EXPECT_THAT(out(), HasSubstr("name: jobs/a1\n"));
}

TEST_F(SubmitTest, FollowsTheJobOnRequest) {
  EndsWith(v1::JOB_STATE_FAILED);
  EXPECT_EQ(Run({"submit", file_, "--watch"}), kJobFailed);
  EXPECT_THAT(err(), HasSubstr("jobs/a1 FAILED\n"));
  EXPECT_THAT(out(), HasSubstr("a1 FAILED (training)"));
  EndsWith(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Run({"submit", file_, "-w", "-q"}), kOk);
  EXPECT_EQ(err(), "");
}

TEST_F(SubmitTest, NamesFileAndLineOfADefaultsFile) {
  const std::string base = folder_.Write("base.yaml", kJob);
  const std::string file = folder_.Write(
      "over.yaml", "defaults: [base.yaml]\nexperiment: {seed: 5}\n");
  EXPECT_EQ(Run({"submit", file}), kOk) << err();
  EXPECT_THAT(Sent(), HasSubstr("\"seed\":5"));
  server_.jobs.submit_status = wire::ToGrpc(
      wire::BadRequest({{"experiment.model.in_features", "too many"},
                        {"experiment.seed", "unlucky"}}));
  EXPECT_EQ(Run({"submit", file}), kInvalid);
  EXPECT_EQ(err(), file + ":2:14: experiment.seed: unlucky\n" + base +
                       ":2:22: experiment.model.in_features: too many\n"
                       "2 problems\n");
}

TEST_F(SubmitTest, PutsWhatValidateHearsAtItsLine) {
  server_.jobs.validation.set_scheduling_hint("waits for 2 devices");
  EXPECT_EQ(Run({"validate", file_, "--at-server"}), kOk) << err();
  EXPECT_EQ(err(), "waits for 2 devices\n");
  EXPECT_THAT(out(), HasSubstr(": valid\n"));
  v1::Violation& violation = *server_.jobs.validation.add_violations();
  violation.set_field("experiment.loss");
  violation.set_description("not on this fleet");
  EXPECT_EQ(Run({"validate", file_, "--at-server"}), kInvalid);
  EXPECT_EQ(err(),
            file_ + ":4:3: experiment.loss: not on this fleet\n1 problem\n");
  EXPECT_EQ(out(), "");
}

TEST_F(SubmitTest, ShowsTheJobFileBehindAJob) {
  server_.server.catalogue = catalogue::FixtureJson().dump();
  EXPECT_EQ(Run({"submit", file_}), kOk) << err();
  *server_.jobs.job.mutable_spec() = server_.jobs.submitted.spec();
  EXPECT_EQ(Run({"job", "get", "a1", "--resolved"}), kOk) << err();
  const std::string resolved = out();
  EXPECT_THAT(resolved, HasSubstr("    weight_decay: 0.01\n"));
  // It says the same job again.
  const std::string again = folder_.Write("again.yaml", resolved);
  EXPECT_EQ(Run({"validate", again, "--resolved"}), kOk) << err();
  EXPECT_EQ(out(), resolved);
  server_.server.catalogue.clear();
  EXPECT_EQ(Run({"job", "get", "a1", "--resolved", "-o", "json"}), kOk);
  EXPECT_THAT(err(), HasSubstr("defaults are not spelled out"));
  EXPECT_THAT(out(), Not(HasSubstr("weight_decay")));
}

}  // namespace
}  // namespace epochd::epochctl
