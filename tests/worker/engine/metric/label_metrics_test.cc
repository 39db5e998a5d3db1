// SPDX-License-Identifier: Apache-2.0
//
// Values are compared with Python's in tests/golden; here is what is ours.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
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
  TopKAccuracy masked({.ignore_index = 0, .weighing = {.mask = "mask"}});
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
  TopKAccuracy metric({.weighing = {.mask = "mask"}});
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
  options.labels.weighing.mask = "mask";
  options.average = Average::kMicro;
  ClassScore metric(options);
  Batch batch = Pairs(torch::tensor({{1.0f, -1.0f}, {1.0f, 1.0f}}),
                      torch::tensor({{1.0f, 0.0f}, {0.0f, NAN}}));
  batch.Set("mask", torch::tensor({{1.0f, 0.0f}, {1.0f, 1.0f}}));
  metric.Update(batch);
  EXPECT_EQ(ValueOf(metric), 0.5);
}

TEST(ClassScoreTest, OneScoreHasLabelsWhicheverTypeTheyHave) {
  const at::Tensor logits = torch::tensor({2.0f, -1.0f, 0.5f, 0.6f, -2.0f});
  const at::Tensor truth = torch::tensor({1, 0, 0, 1, 1});
  const at::Tensor column = logits.unsqueeze(1);
  // Image masks: [B, 1, H, W] beside [B, H, W].
  const at::Tensor image = logits.reshape({1, 1, 1, 5});
  const at::Tensor places = truth.reshape({1, 1, 5});
  for (const auto& [output, target] :
       std::vector<std::pair<at::Tensor, at::Tensor>>{
           {column, truth},
           {column, truth.unsqueeze(1)},
           {column, truth.to(torch::kFloat)},
           {column, truth.to(torch::kBool)},
           {logits, truth},
           {logits, truth.unsqueeze(1)},
           {image, places}}) {
    const Batch batch = Pairs(output, target);
    TopKAccuracy accuracy({});
    accuracy.Update(batch);
    EXPECT_DOUBLE_EQ(ValueOf(accuracy), 3.0 / 5);
    ClassScore f1(Scored(ClassScore::Kind::kFBeta));
    f1.Update(batch);
    EXPECT_DOUBLE_EQ(ValueOf(f1), 2.0 * 2 / (2 * 2 + 1 + 1));
    RankingMetric auroc({});
    auroc.Update(batch);
    EXPECT_DOUBLE_EQ(ValueOf(auroc), 4.0 / 6);
  }
  TopKAccuracy of_shares({.from_logits = false});
  of_shares.Update(Pairs(column.sigmoid(), truth));
  EXPECT_DOUBLE_EQ(ValueOf(of_shares), 3.0 / 5);
  TopKAccuracy weighed({.weighing = {.sample_weight = "w"}});
  Batch batch = Pairs(column, truth);
  batch.Set("w", torch::tensor({{1.0f}, {2.0f}, {3.0f}, {4.0f}, {0.0f}}));
  weighed.Update(batch);
  EXPECT_DOUBLE_EQ(ValueOf(weighed), 7.0 / 10);
}

// Else the share of class 0 would be the best score of a model that diverged.
TEST(LabelMetricsTest, ScoresThatAreNanGiveNanWhereTheyCount) {
  const float nan = NAN;
  const at::Tensor scores =
      torch::tensor({{1.0f, 0.0f}, {nan, 0.0f}, {0.5f, 2.0f}});
  const auto values = [](Metric& metric, Batch batch) {
    batch.Set("mask", torch::tensor({true, false, true}));
    metric.Update(batch);
    return metric.Values({metric.Sums(), metric.Rows()})[0].second;
  };
  for (const at::Tensor& target :
       {torch::tensor({0, 1, 1}),
        torch::tensor({{1.0f, 0.0f}, {0.0f, 1.0f}, {0.0f, 1.0f}})}) {
    const Batch batch = Pairs(scores, target);
    for (const bool masked : {false, true}) {
      Weighing weighing;
      if (masked) weighing.mask = "mask";
      SCOPED_TRACE(masked);
      TopKAccuracy accuracy({.weighing = weighing});
      EXPECT_EQ(std::isnan(values(accuracy, batch)), !masked);
      using Kind = ClassScore::Kind;
      for (const Kind kind :
           {Kind::kPrecision, Kind::kRecall, Kind::kSpecificity, Kind::kFBeta,
            Kind::kIou, Kind::kAccuracy}) {
        for (const Average average :
             {Average::kMacro, Average::kMicro, Average::kWeighted}) {
          ClassScore::Options options = Scored(kind);
          options.average = average;
          options.labels.weighing = weighing;
          ClassScore score(options);
          EXPECT_EQ(std::isnan(values(score, batch)), !masked);
        }
      }
      ConfusionMatrix matrix({.labels = {.weighing = weighing}, .name = "m"});
      EXPECT_EQ(std::isnan(values(matrix, batch)), !masked);
    }
  }
  TopKAccuracy of_one({});
  EXPECT_TRUE(std::isnan(
      values(of_one, Pairs(scores.slice(1, 0, 1), torch::tensor({0, 1, 1})))));
}

TEST(LabelMetricsTest, TellThatLogitsLookLikeProbabilities) {
  const at::Tensor target =
      torch::tensor({{1.0f, 0.0f}, {0.0f, 1.0f}, {0.0f, 1.0f}});
  const at::Tensor shares =
      torch::tensor({{0.2f, 0.9f}, {0.0f, 1.0f}, {0.4f, 0.4f}});
  ClassScore score(Scored(ClassScore::Kind::kFBeta));
  EXPECT_EQ(score.Doubt(), "");
  score.Update(Pairs(shares, target));
  EXPECT_NE(score.Doubt().find("from_logits: false"), std::string::npos);
  score.Update(Pairs(shares * 2, target));
  EXPECT_EQ(score.Doubt(), "");
  ClassScore::Options options = Scored(ClassScore::Kind::kFBeta);
  options.labels.from_logits = false;
  ClassScore told(options);
  told.Update(Pairs(shares, target));
  EXPECT_EQ(told.Doubt(), "");
  // The greatest is the greatest in either case.
  ClassScore of_classes(Scored(ClassScore::Kind::kFBeta));
  of_classes.Update(Pairs(shares, torch::tensor({0, 1, 1})));
  EXPECT_EQ(of_classes.Doubt(), "");
  RankingMetric ranking({});
  ranking.Update(Pairs(shares, torch::tensor({0, 1, 1})));
  EXPECT_NE(ranking.Doubt(), "");
}

// Values are scikit-learn 1.x's, each with sample_weight=w, of y, the argmax of
// s, and, for order, the columns of softmax(s) against those of one-hot y.
class WeighedTest : public testing::TestWithParam<const char*> {
 protected:
  static Batch Whole() {
    Batch batch = Pairs(torch::tensor({{2.0f, 1.0f, 0.1f},
                                       {0.0f, 2.5f, 1.0f},
                                       {1.0f, 0.3f, 2.2f},
                                       {2.4f, 0.0f, 1.7f},
                                       {0.2f, 1.4f, 2.0f},
                                       {1.6f, 2.0f, 0.0f}}),
                        torch::tensor({0, 1, 2, 1, 0, 1}));
    batch.Set("w", torch::tensor({1.0f, 0.5f, 2.0f, 0.25f, 1.5f, 3.0f}));
    return batch;
  }
  // In two parts, as ranks and batches have it. Masks weigh alike.
  static void UpdateIn(Metric& metric, const Batch& batch) {
    for (const auto& [from, to] : {std::pair{0, 2}, std::pair{2, 6}}) {
      Batch part;
      for (const char* field : {"output", "target", "w"}) {
        part.Set(field, batch.At(field).slice(0, from, to));
      }
      metric.Update(part);
    }
  }
  static Weighing By() {
    Weighing weighing;
    (std::string(GetParam()) == "mask" ? weighing.mask
                                       : weighing.sample_weight) = "w";
    return weighing;
  }
};
INSTANTIATE_TEST_SUITE_P(Fields, WeighedTest,
                         testing::Values("mask", "sample_weight"));

TEST_P(WeighedTest, DecisionsAreScikitLearns) {
  TopKAccuracy accuracy({.weighing = By()});
  UpdateIn(accuracy, Whole());
  EXPECT_NEAR(ValueOf(accuracy), 0.7878787878787878, 1e-9);
  const std::pair<Average, double> f1[] = {
      {Average::kMacro, 0.7420411006617904},
      {Average::kWeighted, 0.7767961749152972},
      {Average::kMicro, 0.7878787878787878}};
  for (const auto& [average, value] : f1) {
    ClassScore::Options options = Scored(ClassScore::Kind::kFBeta);
    options.labels.weighing = By();
    options.average = average;
    ClassScore metric(options);
    UpdateIn(metric, Whole());
    EXPECT_NEAR(ValueOf(metric), value, 1e-9);
  }
  DecisionOptions options;
  options.labels.weighing = By();
  ConfusionMatrix matrix(options);
  UpdateIn(matrix, Whole());
  EXPECT_TRUE(matrix.Tables({matrix.Sums(), {}})
                  .at(0)
                  .values.equal(torch::tensor(
                      {{1.0, 0.0, 1.5}, {0.25, 3.5, 0.0}, {0.0, 0.0, 2.0}},
                      torch::kDouble)));
}

TEST_P(WeighedTest, OrderIsScikitLearns) {
  struct Case {
    bool precision;
    Average average;
    double value;
  };
  const Case cases[] = {{false, Average::kMacro, 0.795169082125604},
                        {true, Average::kMacro, 0.852394916911046},
                        {false, Average::kWeighted, 0.8036890645586298},
                        {true, Average::kWeighted, 0.8603039189549454},
                        {false, Average::kMicro, 0.7878787878787878},
                        {true, Average::kMicro, 0.7901088810179719}};
  for (const Case& each : cases) {
    RankingMetric::Options options;
    options.precision = each.precision;
    options.average = each.average;
    options.labels.weighing = By();
    RankingMetric metric(options);
    UpdateIn(metric, Whole());
    EXPECT_NEAR(ValueOf(metric), each.value, 1e-6);
  }
}

TEST_P(WeighedTest, LabelsAreScikitLearns) {
  Batch batch = Whole();
  batch.Set("output", torch::tensor({2.0f, -1.0f, 0.5f, 0.5f, -2.0f, 1.5f}));
  batch.Set("target", torch::tensor({1, 0, 0, 1, 1, 0}));
  const auto value = [&batch](Metric&& metric) {
    UpdateIn(metric, batch);
    return ValueOf(metric);
  };
  EXPECT_NEAR(value(TopKAccuracy({.weighing = By()})), 0.21212121212121213,
              1e-9);
  ClassScore::Options f1 = Scored(ClassScore::Kind::kFBeta);
  f1.labels.weighing = By();
  EXPECT_NEAR(value(ClassScore(f1)), 0.2777777777777778, 1e-9);
  RankingMetric::Options ranking;
  ranking.labels.weighing = By();
  EXPECT_NEAR(value(RankingMetric(ranking)), 0.3884297520661157, 1e-6);
  ranking.precision = true;
  EXPECT_NEAR(value(RankingMetric(ranking)), 0.5636363636363636, 1e-6);
}

TEST(ChallengeScoreTest, RecordingsWeigh) {
  ChallengeScore::Options options;
  options.weights = {{1, 0}, {0, 1}};
  options.labels.weighing.sample_weight = "w";
  const at::Tensor scores = torch::tensor({{2.0f, -1.0f}, {2.0f, -1.0f}});
  for (const at::Tensor& target :
       {torch::tensor({0, 1}), torch::tensor({{1.0f, 0.0f}, {0.0f, 1.0f}})}) {
    ChallengeScore metric(options);
    Batch batch = Pairs(scores, target);
    batch.Set("w", torch::tensor({3.0f, 0.5f}));
    metric.Update(batch);
    // Earned 3, at best 3.5, by the normal class 3.
    EXPECT_DOUBLE_EQ(ValueOf(metric), 0);
    options.normal_class = 1;
    ChallengeScore other(options);
    other.Update(batch);
    // By the normal class 0.5.
    EXPECT_DOUBLE_EQ(ValueOf(other), 2.5 / 3);
    options.normal_class = 0;
  }
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
