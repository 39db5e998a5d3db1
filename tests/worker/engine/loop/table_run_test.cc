// SPDX-License-Identifier: Apache-2.0
//
// Regression and yes-or-no from a table with one target column, as a job file
// says them: the data set gives targets [B], the model [B, 1].
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/worker/engine/digits_run.h"

namespace epochd::engine {
namespace {

// y = a - b, and whether it is above 0.
class TableRunTest : public testing::Test {
 protected:
  TableRunTest() {
    std::ofstream file(folder_ / "table.csv");
    file << "a,b,y,positive\n";
    for (int i = 0; i < 64; ++i) {
      const double a = (i * 37 % 64) / 32.0 - 1;
      const double b = (i * 11 % 64) / 32.0 - 1;
      file << a << ',' << b << ',' << a - b << ',' << (a > b) << '\n';
    }
  }
  Json Experiment(const std::string& target) const {
    Json json = Json::parse(R"json({
      "seed": 1,
      "model": {"type": "MLP", "in_features": 2, "hidden": [8],
                "out_features": 1},
      "optimizer": {"type": "Adam", "lr": 0.02},
      "trainer": {"type": "EpochTrainer", "epochs": 30}})json");
    for (const char* part : {"train", "val"}) {
      json["data"][part] = {{"type", "Csv"},
                            {"file", folder_ / "table.csv"},
                            {"input", {"a", "b"}},
                            {"target", target},
                            {"batch_size", 16}};
    }
    return json;
  }
  static Scores LastScores(const Json& json) {
    TestRun run(json);
    Scores scores;
    run.trainer().on_epoch_finished.Bind(
        [&](TrainerContext& context) { scores = context.scores; });
    run.trainer().Start();
    EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
    return scores;
  }

 private:
  const TempFolder folder_;
};

TEST_F(TableRunTest, RegressionOfOneColumnLearns) {
  Json json = Experiment("y");
  json["loss"] = {{"type", "MSE"}};
  json["metrics"] = {{{"type", "RMSE"}}, {{"type", "MAE"}}};
  const Scores scores = LastScores(json);
  for (const char* name : {"val/rmse", "val/mae"}) {
    const double* score = FindScore(scores, name);
    ASSERT_NE(score, nullptr) << name;
    EXPECT_LT(*score, 0.2) << name;
  }
}

TEST_F(TableRunTest, YesOrNoFromOneLogitLearns) {
  Json json = Experiment("positive");
  json["loss"] = {{"type", "BCEWithLogits"}};
  json["metrics"] = Json::array();
  for (const char* type : {"Accuracy", "AUROC", "F1", "LabelAccuracy"}) {
    json["metrics"].push_back({{"type", type}});
  }
  const Scores scores = LastScores(json);
  for (const char* name :
       {"val/accuracy", "val/auroc", "val/f1", "val/label_accuracy"}) {
    const double* score = FindScore(scores, name);
    ASSERT_NE(score, nullptr) << name;
    EXPECT_GT(*score, 0.9) << name;
  }
}

}  // namespace
}  // namespace epochd::engine
