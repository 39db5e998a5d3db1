// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
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
                    "  trainer: {type: EpochTrainer, epochs: many}\n"
                    "  monitor: {metric: val/acuracy}\n"
                    "  metrics: [{type: Accuracy}]\n"
                    "  loss: {type: CrossEntropy}\n");
  EXPECT_EQ(Run({"validate", file}), kInvalid);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(),
            file +
                ":2:1: experiment.optimizer: missing, TrainingRunner needs it "
                "(experiment.runner)\n" +
                file +
                ":3:3: experiment.model.out_features: missing, MLP needs "
                "it (an integer, at least 1)\n" +
                file +
                ":3:39: experiment.model.out_feature: MLP has no "
                "parameter 'out_feature', did you mean "
                "'out_features'?\n" +
                file +
                ":5:33: experiment.trainer.epochs: expected an "
                "integer, got \"many\"\n" +
                file +
                ":6:13: experiment.monitor.metric: no loss, metric or hook of "
                "this experiment gives 'val/acuracy', did you mean "
                "'val/accuracy'?\n5 problems\n");
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

TEST_F(ValidateTest, PrintsTheResolvedFileThatResolvesToItself) {
  for (const char* example :
       {"examples/digits.yaml", "examples/digits_gan.yaml"}) {
    EXPECT_EQ(Run({"validate", SourceFile(example), "--resolved", "--set",
                   "trainer.epochs=2"}),
              kOk)
        << err();
    const std::string once = out();
    EXPECT_THAT(once, HasSubstr("\n    epochs: 2\n"));
    EXPECT_EQ(
        Run({"validate", folder_.Write("again.yaml", once), "--resolved"}), kOk)
        << err();
    EXPECT_EQ(out(), once);
    // JSON is a job file too.
    EXPECT_EQ(Run({"validate", folder_.Write("again.yaml", once), "--resolved",
                   "-o", "json"}),
              kOk);
    EXPECT_EQ(
        Run({"validate", folder_.Write("again.json", out()), "--resolved"}),
        kOk);
    EXPECT_EQ(out(), once);
  }
}

TEST_F(ValidateTest, PrintsWhatTheGoldenFileHolds) {
  const std::string folder = "tests/client/epochctl/golden/";
  EXPECT_EQ(
      Run({"validate", SourceFile(folder + "over.yaml"), "--resolved", "--set",
           "hooks.1={type: StepRatio}", "--set", "experiment.seed=7"}),
      kOk)
      << err();
  std::ifstream file(SourceFile(folder + "over.resolved.yaml"));
  std::string golden{std::istreambuf_iterator<char>(file), {}};
  // The file names the folder that paths start from.
  const std::string mark = "SOURCE/";
  for (size_t at = golden.find(mark); at != std::string::npos;
       at = golden.find(mark)) {
    golden.replace(at, mark.size(), SourceFile(folder));
  }
  EXPECT_EQ(out(), golden);
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
  EXPECT_THAT(out(), HasSubstr("Also learning_rate\n"));
  EXPECT_EQ(Run({"catalogue", "--offline", "-o", "name"}), kOk);
  EXPECT_THAT(out(), HasSubstr("model/MLP\n"));
}

TEST_F(ValidateTest, ShowsOneComponentAsThePartOfTheCatalogueThatItIs) {
  EXPECT_EQ(Run({"catalogue", "--offline", "-o", "json"}), kOk);
  auto expected = nlohmann::json::parse(out());
  std::erase_if(expected["components"].get_ref<nlohmann::json::array_t&>(),
                [](const auto& each) { return each["name"] != "AdamW"; });
  ASSERT_EQ(expected["components"].size(), 1u);
  EXPECT_EQ(Run({"catalogue", "--offline", "AdamW", "-o", "json"}), kOk);
  EXPECT_EQ(nlohmann::json::parse(out()), expected);
  EXPECT_EQ(Run({"catalogue", "--offline", "AdamW", "-o", "yaml"}), kOk);
  EXPECT_THAT(out(), HasSubstr("  - kind: optimizer\n    name: AdamW\n"));
  EXPECT_EQ(Run({"catalogue", "--offline", "AdamW", "-o", "name"}), kOk);
  EXPECT_EQ(out(), "optimizer/AdamW\n");
}

}  // namespace
}  // namespace epochd::epochctl
