// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/epochctl/exit_code.h"
#include "tests/client/epochctl/harness.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;

class ValidateTest : public CommandTest {};

TEST_F(ValidateTest, AcceptsTheExamplesWithoutACoordinator) {
  for (const char* example :
       {"examples/digits.yaml", "examples/digits_gan.yaml"}) {
    EXPECT_EQ(Run({"validate", SourceFile(example)}), kOk) << err();
    EXPECT_THAT(out(), HasSubstr(": valid\n"));
  }
}

TEST_F(ValidateTest, PrintsEveryProblemWithItsPlace) {
  const std::string file =
      folder_.Write("bad.yaml",
                    "resources: {replicas: 2}\n"
                    "experiment:\n"
                    "  model: {type: MLP, in_features: 64, out_feature: 10}\n"
                    "  data: {train: {type: Digits, file: d}}\n"
                    "  trainer: {type: EpochTrainer, epochs: many}\n");
  EXPECT_EQ(Run({"validate", file}), kInvalid);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(),
            file +
                ":3:3: experiment.model.out_features: missing, MLP needs "
                "it (int)\n" +
                file +
                ":3:39: experiment.model.out_feature: MLP has no "
                "parameter 'out_feature', did you mean "
                "'out_features'?\n" +
                file +
                ":5:33: experiment.trainer.epochs: expected an "
                "integer, got \"many\"\n3 problems\n");
}

TEST_F(ValidateTest, RefusesAGanWithTwoReplicasAtTheFieldGiven) {
  EXPECT_EQ(Run({"validate", SourceFile("examples/digits_gan.yaml"), "--set",
                 "resources.replicas=2"}),
            kInvalid);
  EXPECT_EQ(err(),
            "--set: resources.replicas: GanTrainingRunner (experiment.runner) "
            "runs on at most 1 replica, got 2\n1 problem\n");
}

TEST_F(ValidateTest, PrintsTheSpecThatWouldBeSent) {
  EXPECT_EQ(Run({"validate", SourceFile("examples/digits.yaml"), "-o", "json"}),
            kOk);
  EXPECT_THAT(out(), HasSubstr("\"display_name\": \"digits\""));
}

TEST_F(ValidateTest, TellsWhatIsNotThere) {
  EXPECT_EQ(Run({"validate", "/nowhere.yaml"}), kNotFound);
  environment_["EPOCHD_CATALOGUE"] = "/nowhere.json";
  EXPECT_EQ(Run({"validate", SourceFile("examples/digits.yaml")}), kNotFound);
  EXPECT_THAT(err(), HasSubstr("/nowhere.json"));
}

TEST_F(ValidateTest, ShowsTheInstalledCatalogue) {
  EXPECT_EQ(Run({"catalogue", "--offline", "adamw"}), kNotFound);
  EXPECT_THAT(err(), HasSubstr("did you mean 'AdamW'?"));
  EXPECT_EQ(Run({"catalogue", "--offline", "AdamW", "--no-headers"}), kOk);
  EXPECT_THAT(out(), HasSubstr("lr            float, more than 0  0.001"));
  EXPECT_EQ(Run({"catalogue", "--offline", "-o", "name"}), kOk);
  EXPECT_THAT(out(), HasSubstr("model/MLP\n"));
}

}  // namespace
}  // namespace epochd::epochctl
