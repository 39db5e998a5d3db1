// SPDX-License-Identifier: Apache-2.0
#include "hooks/early_stopping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"

namespace epochd::hooks {
namespace {

using engine::Json;
using Kind = StopRule::Kind;

constexpr int kNever = -1;

// Index of the value that stops.
int StopIndex(StopRule rule, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (rule.Observe(values[i])) return static_cast<int>(i);
  }
  return kNever;
}

StopRule Rule(Kind kind, int64_t patience, double min_delta = 0,
              bool higher = false) {
  return StopRule({.kind = kind,
                   .patience = patience,
                   .min_delta = min_delta,
                   .higher_is_better = higher,
                   .check_finite = StopRule::ChecksFinite(kind)});
}

TEST(EarlyStoppingTest, Case44EachRuleStopsAConstantScoreAsItsSystemDoes) {
  const std::vector<double> constant(6, 0.5);
  struct {
    Kind kind;
    int patience2, patience0;
  } const cases[] = {
      {Kind::kLightning, 2, 1}, {Kind::kMmEngine, kNever, kNever},
      {Kind::kSrForge, 1, 0},   {Kind::kTorchEcg, kNever, kNever},
      {Kind::kPhiJax, 3, 1},    {Kind::kKeras, 2, 1}};
  for (const auto& each : cases) {
    const std::string& name = StopRule::Names()[static_cast<size_t>(each.kind)];
    EXPECT_EQ(StopIndex(Rule(each.kind, 2), constant), each.patience2) << name;
    EXPECT_EQ(StopIndex(Rule(each.kind, 0), constant), each.patience0) << name;
  }
  // With its default gain of 0.1 MMEngine stops after the sixth.
  EXPECT_EQ(StopIndex(Rule(Kind::kMmEngine, 5, 0.1), constant), 5);
}

TEST(EarlyStoppingTest, SrForgeComparesWithinItsWindow) {
  struct {
    int64_t patience;
    double min_delta;
    bool higher;
    std::vector<double> values;
    int index;
  } const cases[] = {
      {3, 0.1, false, {1, .95, .9, .85}, 2},
      {3, 0.0, false, {1, .95, .9, .85}, kNever},
      {2, 0.0, false, {1, .5, .25, .25}, 3},
      {3, 0.0, true, {.5, .6, .7, .65, .6}, 4},
      // With the first of the window, not with the best ever.
      {3, 0.0, false, {1, 2, 3, 2.5, 2.4}, 2},
      {3, 0.0, false, {1, NAN, NAN}, 2},
      // A gain must be larger than min_delta.
      {2, 0.5, false, {1, 0.5}, 1},
      {1, 0.0, false, {1}, 0},
      {3, 0.1, false, {1, 1, .75, .75, .5, .5, .5}, 6},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(StopIndex(Rule(Kind::kSrForge, each.patience, each.min_delta,
                             each.higher),
                        each.values),
              each.index)
        << "patience " << each.patience << ", first " << each.values[0];
  }
}

TEST(EarlyStoppingTest, TorchEcgTakesMinDeltaAsATolerance) {
  EXPECT_EQ(StopIndex(Rule(Kind::kTorchEcg, 2, 0, true), {.5, .4, .4}), 2);
  EXPECT_EQ(
      StopIndex(Rule(Kind::kTorchEcg, 2, .1, true), {.5, .45, .45, .45, .45}),
      kNever);
  EXPECT_EQ(StopIndex(Rule(Kind::kTorchEcg, 2, 0, true), {NAN, NAN, NAN}), 1);
}

TEST(EarlyStoppingTest, MmEngineNeedsTheGainFromItsBest) {
  // Slow gains below min_delta never move the best.
  EXPECT_EQ(
      StopIndex(Rule(Kind::kMmEngine, 3, .1, true), {.5, .55, .58, .59, .7}),
      3);
  // A gain of exactly min_delta counts.
  EXPECT_EQ(
      StopIndex(Rule(Kind::kMmEngine, 2, .25, true), {.5, .75, .75, 1, 1, 1}),
      5);
}

TEST(EarlyStoppingTest, Case49ValuesThatAreNotFinite) {
  for (double odd : {NAN, INFINITY}) {
    const std::vector<double> values = {1, odd, .9, .8, .7, .6};
    EXPECT_EQ(StopIndex(Rule(Kind::kLightning, 3), values), 1);
    EXPECT_EQ(StopIndex(Rule(Kind::kMmEngine, 3), values), 1);
    for (Kind kind : {Kind::kLightning, Kind::kMmEngine, Kind::kTorchEcg,
                      Kind::kPhiJax, Kind::kKeras}) {
      StopRule rule({.kind = kind, .patience = 3});
      EXPECT_EQ(StopIndex(rule, values), kNever);
    }
  }
}

TEST(EarlyStoppingTest, Case48NoRuleTakesNanForItsBest) {
  for (const std::string& name : StopRule::Names()) {
    StopRule rule({.kind = StopRule::KindOf(name), .patience = 9});
    EXPECT_TRUE(std::isnan(rule.best())) << name;
    for (double value : std::vector<double>{NAN, 1.0, NAN, .9}) {
      EXPECT_FALSE(rule.Observe(value)) << name;
    }
    EXPECT_EQ(rule.best(), .9) << name;
  }
  // PhiJAX stops after patience + 2 NaNs.
  EXPECT_EQ(StopIndex(Rule(Kind::kPhiJax, 2), {NAN, NAN, NAN, NAN}), 3);
}

TEST(EarlyStoppingTest, Case51ANewBestStartsTheCountAgain) {
  EXPECT_EQ(StopIndex(Rule(Kind::kLightning, 2, 0, true), {.5, .4, .6, .4, .4}),
            4);
}

TEST(EarlyStoppingTest, Case53PatienceGoesOnAfterARestart) {
  StopRule before = Rule(Kind::kLightning, 3);
  for (double value : {1.0, 1.1, 1.2}) EXPECT_FALSE(before.Observe(value));
  StopRule after = Rule(Kind::kLightning, 3);
  after.LoadState(before.State());
  EXPECT_TRUE(after.Observe(1.3));
  EXPECT_EQ(after.best(), 1.0);

  StopRule window = Rule(Kind::kSrForge, 3, 0.1);
  EXPECT_FALSE(window.Observe(1));
  EXPECT_FALSE(window.Observe(NAN));
  StopRule restored = Rule(Kind::kSrForge, 3, 0.1);
  restored.LoadState(window.State());
  EXPECT_TRUE(restored.Observe(0.95));
}

TEST(EarlyStoppingTest, Case55ABaselineThatIsNeverMetEndsTheRun) {
  StopRule rule({.kind = Kind::kKeras,
                 .patience = 1,
                 .higher_is_better = true,
                 .baseline = .9});
  EXPECT_FALSE(rule.Observe(.5));
  EXPECT_FALSE(rule.Observe(.6));
  EXPECT_EQ(rule.best(), .6);
  EXPECT_TRUE(rule.Observe(.6));
}

TEST(EarlyStoppingTest, AThresholdEndsTheRunWhenItIsBeaten) {
  StopRule rule({.kind = Kind::kMmEngine,
                 .patience = 5,
                 .higher_is_better = true,
                 .threshold = .9});
  EXPECT_FALSE(rule.Observe(.9));
  EXPECT_TRUE(rule.Observe(.91));
  EXPECT_EQ(rule.reason(), "reached its threshold");
}

// Steps that a run takes whose score never improves.
Json StalledExperiment(const char* hook) {
  Json json = engine::DigitsExperiment(20);
  json["optimizer"] = {{"type", "SGD"}, {"lr", 1e-30}};
  json["model"]["dropout"] = 0.0;
  json["hooks"] = Json::array({Json::parse(hook)});
  return json;
}

TEST(EarlyStoppingTest, Case46EndsNotBeforeMinEpochs) {
  engine::TestRun run(StalledExperiment(
      R"({"type": "EarlyStopping", "rule": "lightning", "patience": 0,
          "min_epochs": 5})"));
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(run.trainer().position().epoch, 5);
  EXPECT_EQ(run.trainer().stop_reason(),
            "val/accuracy did not improve within 0 checks");
}

TEST(EarlyStoppingTest, Case54LooksOnlyAfterAValidation) {
  engine::TestRun run(StalledExperiment(
      R"({"type": "EarlyStopping", "rule": "lightning", "patience": 1})"));
  engine::TrainerContext context;
  context.trainer = &run.trainer();
  context.monitored = 0.5;
  // A validation every second epoch.
  for (context.epoch = 0; context.epoch < 5 && !context.stop; ++context.epoch) {
    context.was_validated = context.epoch % 2 == 1;
    run.trainer().on_stop_check.Fire(context);
  }
  EXPECT_TRUE(context.stop);
  EXPECT_EQ(context.epoch - 1, 3);
}

TEST(EarlyStoppingTest, LooksAtAMetricOfItsOwn) {
  engine::TestRun run(StalledExperiment(
      R"({"type": "EarlyStopping", "rule": "phijax", "patience": 1,
          "metric": "val/loss"})"));
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(run.trainer().position().epoch, 3);
  EXPECT_EQ(run.trainer().stop_reason(),
            "val/loss did not improve within 1 check");
}

TEST(EarlyStoppingTest, LooksAtStepsWhenAskedTo) {
  engine::TestRun run(StalledExperiment(
      R"({"type": "EarlyStopping", "rule": "phijax", "patience": 2,
          "min_delta": 100, "every": "1 steps"})"));
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(run.trainer().position().step, 4);
  EXPECT_EQ(run.trainer().stop_reason(),
            "train/loss did not improve within 2 checks");
}

TEST(EarlyStoppingTest, LooksAtStepsOfAGan) {
  for (const char* metric : {"", "train/d_loss"}) {
    Json json = engine::GanExperiment(4);
    json["hooks"] = {{{"type", "EarlyStopping"},
                      {"rule", "phijax"},
                      {"patience", 2},
                      {"min_delta", 100},
                      {"every", "1 steps"}}};
    const std::string name = *metric != 0 ? metric : "train/g_loss";
    if (*metric != 0) json["hooks"][0]["metric"] = metric;
    engine::TestRun run(json);
    run.trainer().Start();
    run.trainer().Run();
    EXPECT_EQ(run.trainer().position().step, 4);
    EXPECT_EQ(run.trainer().stop_reason(),
              name + " did not improve within 2 checks");
  }
  Json json = engine::GanExperiment(1);
  json["hooks"] = {{{"type", "EarlyStopping"},
                    {"patience", 2},
                    {"metric", "train/loss"},
                    {"every", "1 steps"}}};
  EXPECT_THROW(engine::TestRun{json}, engine::Error);
}

TEST(EarlyStoppingTest, MmEnginesHookHasItsRuleAndItsNames) {
  // Nothing beats the first by 5.
  engine::TestRun run(StalledExperiment(
      R"({"type": "EarlyStoppingHook", "monitor": "val/accuracy",
          "rule": "greater", "min_delta": 5, "patience": 1})"));
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(run.trainer().position().epoch, 2);
}

// What a run that takes the greatest loss for the best one gave after each
// epoch: its best is an early one.
struct Course {
  std::vector<double> scores;
  std::vector<double> weights;
  size_t Best() const {
    return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) -
                               scores.begin());
  }
};

double FirstWeight(engine::TestRun& run) {
  return run.trainer().model().Parameters().front().tensor.sum().item<double>();
}

Course Follow(engine::TestRun& run) {
  Course course;
  run.trainer().on_stop_check.Bind([&](engine::TrainerContext& context) {
    course.scores.push_back(*engine::FindScore(context.scores, "val/loss"));
    course.weights.push_back(FirstWeight(run));
  });
  run.trainer().Start();
  run.trainer().Run();
  return course;
}

Json RestoringExperiment(int epochs) {
  Json json = engine::DigitsExperiment(epochs);
  json["hooks"] = Json::array({{{"type", "EarlyStopping"},
                                {"rule", "lightning"},
                                {"patience", 3},
                                {"metric", "val/loss"},
                                {"mode", "max"},
                                {"restore_best", true}}});
  return json;
}

// Accuracy rises at first: taken for a loss, the first epoch would be the best.
TEST(EarlyStoppingTest, KnowsByItsMetricWhichWayIsBetter) {
  const auto epochs = [](const char* mode) {
    Json json = engine::DigitsExperiment(3);
    Json hook = {{"type", "EarlyStopping"},
                 {"rule", "lightning"},
                 {"patience", 1},
                 {"metric", "val/accuracy"}};
    if (mode != nullptr) hook["mode"] = mode;
    json["hooks"] = Json::array({hook});
    engine::TestRun run(json);
    return Follow(run).weights.size();
  };
  EXPECT_EQ(epochs(nullptr), 3u);
  EXPECT_LT(epochs("min"), 3u);
}

TEST(EarlyStoppingTest, RestoresTheBestWeightsAtTheEnd) {
  engine::TestRun run(RestoringExperiment(12));
  engine::Scores last;
  run.trainer().on_epoch_committed.Bind(
      [&](engine::TrainerContext& context) { last = context.scores; });
  const Course course = Follow(run);
  ASSERT_LT(course.Best() + 1, course.scores.size());
  EXPECT_EQ(FirstWeight(run), course.weights[course.Best()]);
  EXPECT_NE(FirstWeight(run), course.weights.back());
  // What is saved at the end says whose scores these are.
  EXPECT_EQ(*engine::FindScore(last, "val/loss"), course.scores[course.Best()]);
}

// The loss falls to the end: by the monitor the last epoch is the best.
TEST(EarlyStoppingTest, RestoredWeightsAreNotTakenForTheMonitorsBest) {
  Json json = RestoringExperiment(3);
  json["monitor"] = {{"metric", "val/loss"}, {"mode", "min"}};
  engine::TestRun run(json);
  bool was_best = false;
  run.trainer().on_stop_check.Bind(
      [&](engine::TrainerContext& context) { was_best = context.is_best; });
  bool is_best = true;
  std::optional<double> monitored;
  run.trainer().on_epoch_committed.Bind([&](engine::TrainerContext& context) {
    is_best = context.is_best;
    monitored = context.monitored;
  });
  const Course course = Follow(run);
  ASSERT_TRUE(was_best);
  ASSERT_NE(course.Best() + 1, course.scores.size());
  EXPECT_FALSE(is_best);
  EXPECT_EQ(monitored, course.scores[course.Best()]);
}

TEST(EarlyStoppingTest, TheBestWeightsOutliveARestart) {
  engine::TestRun straight(RestoringExperiment(12));
  const Course course = Follow(straight);
  const size_t best = course.Best();
  ASSERT_LT(best + 1, course.scores.size());
  engine::TestRun before(RestoringExperiment(12));
  engine::Snapshot saved;
  before.trainer().on_epoch_committed.Bind(
      [&](engine::TrainerContext& context) {
        if (context.epoch != static_cast<int64_t>(best)) return;
        saved = before.trainer().TakeSnapshot();
        for (auto* list : {&saved.model, &saved.state}) {
          for (auto& each : *list) each.tensor = each.tensor.detach().clone();
        }
      });
  before.trainer().Start();
  before.trainer().Run();
  engine::TestRun after(RestoringExperiment(12));
  after.trainer().Restore(saved);
  after.trainer().Run();
  EXPECT_EQ(FirstWeight(after), course.weights[best]);
}

TEST(EarlyStoppingTest, RestoresNothingBesideAverages) {
  Json json = RestoringExperiment(2);
  json["hooks"].push_back({{"type", "EMA"}});
  engine::TestRun run(json);
  EXPECT_THROW(run.trainer().Start(), engine::Error);
}

TEST(EarlyStoppingTest, AMetricThatIsNotMeasuredIsNamed) {
  engine::TestRun lenient(StalledExperiment(
      R"({"type": "EarlyStopping", "patience": 1, "metric": "test/loss"})"));
  lenient.trainer().Start();
  lenient.trainer().Run();
  EXPECT_EQ(lenient.trainer().position().epoch, 20);
  ASSERT_EQ(lenient.sink.Of("notice").size(), 1u);

  engine::TestRun strict(StalledExperiment(
      R"({"type": "EarlyStopping", "patience": 1, "metric": "test/loss",
          "strict": true})"));
  strict.trainer().Start();
  try {
    strict.trainer().Run();
    FAIL() << "no error";
  } catch (const engine::Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("\"test/loss\" is not measured; there are train/loss, "
                        "val/loss, "
                        "val/accuracy"),
              std::string::npos)
        << error.what();
  }
}

TEST(EarlyStoppingTest, RefusesWhatARuleDoesNotHave) {
  for (const char* hook :
       {R"({"type": "EarlyStopping", "patience": 1, "baseline": 1})",
        R"({"type": "EarlyStopping", "patience": 1, "stopping_threshold": 1})",
        R"({"type": "EarlyStopping", "patience": 1, "every": "2 epochs"})",
        R"({"type": "EarlyStopping", "patience": 1, "mode": "max"})"}) {
    EXPECT_THROW(engine::TestRun run(StalledExperiment(hook)), engine::Error)
        << hook;
  }
}

}  // namespace
}  // namespace epochd::hooks
