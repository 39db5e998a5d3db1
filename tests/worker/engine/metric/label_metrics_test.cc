// SPDX-License-Identifier: Apache-2.0
//
// Values are compared with Python's in tests/golden; here is what is ours.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/error_of.h"
#include "worker/engine/metric/accuracy.h"
#include "worker/engine/metric/challenge_score.h"
#include "worker/engine/metric/decisions.h"
#include "worker/engine/metric/ranking.h"
#include "worker/engine/metric/weight_table.h"

namespace epochd::engine {
namespace {

double ValueOf(const Metric& metric, size_t index = 0) {
  return metric.Values({metric.Sums(), metric.Rows()})[index].second;
}

Batch Pairs(const at::Tensor& output, const at::Tensor& target) {
  return {{"output", output}, {"target", target}};
}

ClassScore::Options Scored(ClassScore::Kind kind) {
  ClassScore::Options options;
  options.name = "score";
  options.kind = kind;
  return options;
}

TEST(AccuracyTest, LeavesOutIgnoredAndMaskedSamples) {
  const at::Tensor scores =
      torch::tensor({{2.0f, 1.0f}, {2.0f, 1.0f}, {2.0f, 1.0f}, {1.0f, 2.0f}});
  TopKAccuracy metric({});
  metric.Update(Pairs(scores, torch::tensor({0, -100, 1, -100})));
  EXPECT_EQ(ValueOf(metric), 0.5);
  TopKAccuracy masked({.ignore_index = 0, .mask = "mask"});
  Batch batch = Pairs(scores, torch::tensor({0, 1, 1, 1}));
  batch.Set("mask", torch::tensor({true, true, false, true}));
  masked.Update(batch);
  EXPECT_EQ(ValueOf(masked), 0.5);
}

TEST(ClassScoreTest, RefusesClassesThatAreNot) {
  ClassScore metric(Scored(ClassScore::Kind::kRecall));
  EXPECT_EQ(ErrorOf([&] {
              metric.Update(Pairs(torch::zeros({2, 3}), torch::tensor({1, 3})));
            }),
            "batch field \"target\": class 3; 0 to 2 of \"output\" or the "
            "ignore_index -100 is accepted");
  EXPECT_NE(ErrorOf([&] {
              metric.Update(Pairs(torch::zeros({2, 3}), torch::zeros({2, 4})));
            }),
            "");
}

// Each of these had a score before, of nothing that anyone meant.
TEST(ClassScoreTest, RefusesTargetsThatAreNeitherClassesNorLabels) {
  struct Case {
    at::Tensor target;
    std::string message;
  };
  const std::string accepted =
      "; class probabilities, which add up to 1, or integer classes without "
      "the second dimension are accepted";
  const std::string shapes =
      " does not go with shape [2, 3] (float32) of \"output\"; class scores "
      "[B, C, ...] go with integer classes [B, ...] or class probabilities "
      "[B, C, ...]";
  const std::vector<Case> cases = {
      {torch::tensor({0.5f, 1.5f}),
       "batch field \"target\": shape [2] (float32)" + shapes},
      {torch::tensor({{0, 1, 0}, {1, 0, 0}}),
       "batch field \"target\": shape [2, 3] (int64)" + shapes},
      {torch::tensor({true, false}),
       "batch field \"target\": shape [2] (bool)" + shapes},
      {torch::tensor({{0.25f, 7.0f, 1.0f}, {1.0f, 0.0f, 0.0f}}),
       "batch field \"target\": numbers from 0 to 7 that add up to 1 to 8.25 "
       "for a sample" +
           accepted},
      {torch::tensor({{1.5f, -0.5f, 0.0f}, {1.0f, 0.0f, 0.0f}}),
       "batch field \"target\": numbers from -0.5 to 1.5 that add up to 1 to "
       "1 for a sample" +
           accepted},
      {torch::tensor({1, 3}),
       "batch field \"target\": class 3; 0 to 2 of \"output\" or the "
       "ignore_index -100 is accepted"},
  };
  const at::Tensor scores = torch::zeros({2, 3});
  for (const Case& each : cases) {
    const Batch batch = Pairs(scores, each.target);
    TopKAccuracy accuracy({});
    EXPECT_EQ(ErrorOf([&] { accuracy.Update(batch); }), each.message);
    ClassScore::Options options = Scored(ClassScore::Kind::kFBeta);
    options.labels.task = LabelOptions::Task::kClasses;
    ClassScore score(options);
    EXPECT_EQ(ErrorOf([&] { score.Update(batch); }), each.message);
    RankingMetric::Options ranked;
    ranked.labels = options.labels;
    RankingMetric ranking(ranked);
    EXPECT_EQ(ErrorOf([&] { ranking.Update(batch); }), each.message);
  }
}

TEST(ClassScoreTest, RefusesLabelsThatAreNoShares) {
  ClassScore metric(Scored(ClassScore::Kind::kAccuracy));
  EXPECT_EQ(
      ErrorOf([&] {
        metric.Update(Pairs(torch::zeros({2, 2}),
                            torch::tensor({{0.5f, 3.0f}, {-1.0f, 0.0f}})));
      }),
      "batch field \"target\": numbers from -1 to 3 as yes-or-no labels; "
      "0 to 1 is accepted, or integer classes without the second "
      "dimension");
}

TEST(AccuracyTest, WhatIsMaskedMayBeAnything) {
  TopKAccuracy metric({.mask = "mask"});
  Batch batch =
      Pairs(torch::tensor({{2.0f, 1.0f}, {2.0f, 1.0f}}), torch::tensor({0, 7}));
  batch.Set("mask", torch::tensor({true, false}));
  metric.Update(batch);
  EXPECT_EQ(ValueOf(metric), 1);
}

TEST(ClassScoreTest, RefusesAnotherNumberOfClasses) {
  ClassScore metric(Scored(ClassScore::Kind::kRecall));
  metric.Update(Pairs(torch::zeros({2, 3}), torch::tensor({1, 2})));
  EXPECT_EQ(ErrorOf([&] {
              metric.Update(Pairs(torch::zeros({2, 4}), torch::tensor({1, 3})));
            }),
            "scores of 4 classes in a batch after batches of 3; one number for "
            "all batches is accepted");
}

TEST(ClassScoreTest, NamesOfClassesMustBeAsMany) {
  ClassScore::Options options = Scored(ClassScore::Kind::kRecall);
  options.per_class = true;
  options.classes = {"a", "b"};
  ClassScore metric(options);
  metric.Update(Pairs(torch::eye(3), torch::tensor({0, 1, 2})));
  EXPECT_EQ(ErrorOf([&] { ValueOf(metric); }),
            "classes: 2 names for 3 classes; one for each is accepted");
}

TEST(ClassScoreTest, OneAndTheSameScoreWhicheverShapeLabelsHave) {
  const at::Tensor logits = torch::tensor({1.0f, -1.0f, 1.0f, -1.0f});
  const at::Tensor truth = torch::tensor({1.0f, 0.0f, 0.0f, 1.0f});
  ClassScore flat(Scored(ClassScore::Kind::kFBeta));
  flat.Update(Pairs(logits, truth));
  ClassScore column(Scored(ClassScore::Kind::kFBeta));
  column.Update(Pairs(logits.reshape({4, 1}), truth.reshape({4, 1})));
  // Two labels at each of two places: [B, L, N].
  ClassScore places(Scored(ClassScore::Kind::kFBeta));
  places.Update(Pairs(logits.reshape({1, 1, 4}), truth.reshape({1, 1, 4})));
  EXPECT_EQ(ValueOf(flat), 0.5);
  EXPECT_EQ(ValueOf(column), 0.5);
  EXPECT_EQ(ValueOf(places), 0.5);
}

TEST(ClassScoreTest, MasksAndMissingLabelsDoNotCount) {
  ClassScore::Options options = Scored(ClassScore::Kind::kAccuracy);
  options.labels.mask = "mask";
  options.average = Average::kMicro;
  ClassScore metric(options);
  Batch batch = Pairs(torch::tensor({{1.0f, -1.0f}, {1.0f, 1.0f}}),
                      torch::tensor({{1.0f, 0.0f}, {0.0f, NAN}}));
  batch.Set("mask", torch::tensor({{1.0f, 0.0f}, {1.0f, 1.0f}}));
  metric.Update(batch);
  EXPECT_EQ(ValueOf(metric), 0.5);
}

TEST(ConfusionMatrixTest, HasTrueClassesInRows) {
  DecisionOptions options;
  options.name = "matrix";
  options.classes = {"cat", "dog"};
  ConfusionMatrix metric(options);
  metric.Update(Pairs(torch::tensor({{2.0f, 1.0f}, {2.0f, 1.0f}, {1.0f, 2.0f}}),
                      torch::tensor({0, 1, 1})));
  const Collected all{metric.Sums(), metric.Rows()};
  EXPECT_EQ(metric.Values(all)[0].first, "matrix/labels");
  EXPECT_EQ(metric.Values(all)[0].second, 3);
  const MetricTable table = metric.Tables(all).at(0);
  EXPECT_EQ(table.rows, options.classes);
  EXPECT_TRUE(table.values.equal(
      torch::tensor({{1.0, 0.0}, {1.0, 1.0}}, torch::kDouble)));
}

TEST(RankingTest, TiesCountHalf) {
  EXPECT_EQ(AreaUnderRoc({{0.5, true}, {0.5, false}}), 0.5);
  EXPECT_EQ(AreaUnderRoc({{0.9, true}, {0.5, true}, {0.5, false}}), 0.75);
  EXPECT_EQ(AveragePrecisionOf({{0.5, true}, {0.5, false}}), 0.5);
  EXPECT_EQ(AreaUnderRoc({{1, false}, {2, false}, {3, true}}), 1);
  EXPECT_EQ(AreaUnderRoc({{1, true}, {2, false}}), 0);
}

TEST(RankingTest, IsNoNumberWhereNothingCanBeSaid) {
  EXPECT_TRUE(std::isnan(AreaUnderRoc({})));
  EXPECT_TRUE(std::isnan(AreaUnderRoc({{1, true}})));
  EXPECT_TRUE(std::isnan(AreaUnderRoc({{1, true}, {NAN, false}})));
  EXPECT_TRUE(std::isnan(AveragePrecisionOf({{1, false}})));
  EXPECT_EQ(AveragePrecisionOf({{1, true}}), 1);
}

TEST(RankingTest, KeepsNoGraph) {
  RankingMetric::Options options;
  options.name = "auroc";
  RankingMetric metric(options);
  metric.Update(Pairs(torch::rand({4}).requires_grad_(),
                      torch::tensor({0.0f, 1.0f, 0.0f, 1.0f})));
  EXPECT_FALSE(metric.Rows().requires_grad());
}

TEST(ChallengeScoreTest, RefusesScoresOfOtherClasses) {
  ChallengeScore metric({.weights = {{1, 0}, {0, 1}}, .normal_class = 1});
  EXPECT_EQ(ErrorOf([&] {
              metric.Update(Pairs(torch::zeros({2, 3}), torch::zeros({2, 3})));
            }),
            "weights: a matrix of 2 classes for scores of 3; one for each "
            "class is accepted");
}

class WeightTableTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = folder_ / "weights.csv";
    std::ofstream(path) << text;
    return path;
  }
  std::string Refusal(const std::string& text,
                      const std::vector<std::string>& classes = {}) {
    const std::string path = Write(text);
    const std::string message =
        ErrorOf([&] { ReadWeightTable(path, classes); });
    const std::string subject = "CSV file \"" + path + "\"";
    EXPECT_EQ(message.find(subject), 0U) << message;
    return message.substr(std::min(message.size(), subject.size()));
  }

  const TempFolder folder_;
};

TEST_F(WeightTableTest, ReadsAllOrSomeClasses) {
  const std::string path = Write(
      ",\"10\",20|21,30\r\n10,1,.5,0.25\r\n20|21,.5,1,-1e-1\r\n30,0,0,1\r\n");
  const WeightTable all = ReadWeightTable(path, {});
  EXPECT_EQ(all.classes, (std::vector<std::string>{"10", "20|21", "30"}));
  EXPECT_EQ(all.weights[1], (std::vector<double>{.5, 1, -.1}));
  const WeightTable some = ReadWeightTable(path, {"30", "10"});
  EXPECT_EQ(some.weights, (std::vector<std::vector<double>>{{1, 0}, {.25, 1}}));
}

TEST_F(WeightTableTest, RefusesWhatIsNoSquareOfNumbers) {
  EXPECT_EQ(Refusal(",a,b\na,1,x\nb,0,1\n"),
            " line 2: column 2 (\"b\") is \"x\"; a number is needed");
  EXPECT_EQ(Refusal(",a,b\na,1,inf\nb,0,1\n"),
            " line 2: column 2 (\"b\") is \"inf\"; a number is needed");
  EXPECT_EQ(Refusal(",a,b\nb,1,0\na,0,1\n"),
            " line 2: column 0 (\"\") is \"b\"; \"a\" is needed; rows and "
            "columns are the same classes");
  EXPECT_EQ(Refusal(",a,b\na,1\nb,0,1\n"),
            " line 2: has 2 columns; 3 are needed, as in the first row");
  EXPECT_EQ(
      Refusal(",a,b\na,1,0\n"),
      ": has 1 rows for 2 classes; a row for each of 1 to 4096 is needed");
  EXPECT_NE(Refusal(",a\na,1\nb,1\n").find("has 2 rows for 1 classes"),
            std::string::npos);
  // A number is no place of a class.
  EXPECT_EQ(Refusal(",a\na,1\n", {"1"}), ": has no class \"1\"");
  EXPECT_NE(Refusal("").find("has 0 rows for 0 classes"), std::string::npos);
  EXPECT_NE(Refusal("a").find("has 0 rows for 0 classes"), std::string::npos);
  EXPECT_NE(ErrorOf([] {
              ReadWeightTable("/nowhere/weights.csv", {});
            }).find("/nowhere/weights.csv"),
            std::string::npos);
}

TEST(ChallengeScoreTest, JobFilesNameClassesAndTheNormalOne) {
  const TempFolder folder;
  std::ofstream(folder / "w.csv") << ",a,b\na,1,0.5\nb,0.5,1\n";
  const auto reason = [&](Json metric) {
    metric["type"] = "ChallengeScore";
    Json json = DigitsExperiment(1);
    json["metrics"] = Json::array({metric});
    json.erase("monitor");
    return ErrorOf([&] { TestRun run(json); });
  };
  EXPECT_EQ(reason({{"weights_file", folder / "w.csv"}, {"normal_class", "b"}}),
            "");
  EXPECT_EQ(reason({{"weights", {{1, 0}, {0, 1}}}, {"normal_class", 1}}), "");
  EXPECT_NE(reason({{"weights", {{1, 0}, {0, 1}}}, {"normal_class", 2}})
                .find("normal_class: 2 is none of the 2 classes"),
            std::string::npos);
  EXPECT_NE(reason({{"weights", {{1, 0}, {0}}}, {"normal_class", 0}})
                .find("a square matrix is accepted"),
            std::string::npos);
  EXPECT_NE(reason({{"normal_class", 0}})
                .find("weights: missing, ChallengeScore needs one of weights "
                      "or weights_file"),
            std::string::npos);
}

}  // namespace
}  // namespace epochd::engine
