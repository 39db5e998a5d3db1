// SPDX-License-Identifier: Apache-2.0
//
// When schedulers step, and what a checkpoint keeps of them. Values are
// compared with Python's, bit for bit, in tests/golden.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

#include "tests/worker/engine/schedule/made.h"

namespace epochd::engine {
namespace {

constexpr char kSgd[] = R"({"type": "SGD", "lr": 1.0, "momentum": 0.9})";
constexpr char kHalves[] =
    R"({"type": "StepLR", "step_size": 1, "gamma": 0.5})";

const Scores kNoScores;

void FinishEpoch(Schedules& schedules, bool is_complete = true) {
  schedules.AfterEpoch({.scores = kNoScores, .is_complete = is_complete});
}

std::vector<double> RatesOver(Schedules& schedules, Optimizer& optimizer,
                              int epochs) {
  std::vector<double> rates;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    rates.push_back(optimizer.lr());
    FinishEpoch(schedules);
  }
  return rates;
}

void ExpectNear(const std::vector<double>& values,
                const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance) << i;
  }
}

// However often there is validation.
TEST(SchedulesTest, Case26StepsWithEachEpochWhateverTheValidation) {
  for (const int validated_every : {1, 2}) {
    const auto optimizer = MadeOptimizer(kSgd);
    Schedules schedules = MadeSchedules({kHalves}, optimizer);
    schedules.Start();
    for (int epoch = 1; epoch <= 4; ++epoch) {
      FinishEpoch(schedules, epoch % validated_every == 0);
    }
    EXPECT_EQ(optimizer->lr(), 0.0625);
    EXPECT_EQ(schedules.State()[0]["steps"], 4);
  }
}

TEST(SchedulesTest, Case28PlateauWaitsForTheEndOfTheEpoch) {
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules schedules = MadeSchedules(
      {R"({"type": "ReduceLROnPlateau", "patience": 0, "monitor": "foo"})"},
      optimizer);
  schedules.Start();
  EXPECT_NO_THROW(schedules.AfterBatch());
  EXPECT_EQ(schedules.State()[0]["steps"], 0);
  EXPECT_EQ(optimizer->lr(), 1.0);
}

TEST(SchedulesTest, Case29AMissingMetricIsAnErrorOrAWarning) {
  const Scores scores{{"train/loss", 0.5}, {"val/loss", 0.6}};
  const auto strict = MadeOptimizer(kSgd);
  Schedules refuses = MadeSchedules(
      {R"({"type": "ReduceLROnPlateau", "monitor": "foo"})"}, strict);
  refuses.Start();
  EXPECT_EQ(ErrorOf([&] { refuses.AfterEpoch({.scores = scores}); }),
            "experiment.lr_scheduler[0].monitor: \"foo\" is not measured; "
            "there are train/loss, val/loss");

  std::vector<std::string> warnings;
  const auto lenient = MadeOptimizer(kSgd);
  Schedules warns = MadeSchedules(
      {R"({"type": "ReduceLROnPlateau", "monitor": "foo", "patience": 0,
           "strict": false})"},
      lenient, {}, [&](const std::string& text) { warnings.push_back(text); });
  warns.Start();
  for (int epoch = 0; epoch < 3; ++epoch) warns.AfterEpoch({.scores = scores});
  EXPECT_EQ(lenient->lr(), 1.0);
  EXPECT_EQ(warns.State()[0]["num_bad_epochs"], 0);
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_NE(warnings[0].find("\"foo\" is not measured"), std::string::npos);
}

TEST(SchedulesTest, PlateauCountsEpochsAndLooksAtValidations) {
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules schedules = MadeSchedules(
      {R"({"type": "ReduceLROnPlateau", "monitor": "val/loss", "patience": 0,
           "factor": 0.5, "begin": 1})",
       R"({"type": "SequentialLR", "milestones": [9], "schedulers": [
            {"type": "ReduceLROnPlateau", "monitor": "val/loss",
             "patience": 0, "factor": 0.5},
            {"type": "ConstantLR"}]})"},
      optimizer);
  schedules.Start();
  const Scores scores{{"val/loss", 1.0}};
  schedules.AfterValidation({.scores = scores});
  schedules.AfterValidation({.scores = scores});
  EXPECT_EQ(optimizer->lr(), 0.5);  // the second's; the first has not begun
  EXPECT_EQ(schedules.State()[0]["steps"], 0);
  schedules.AfterEpoch({.scores = scores, .is_measured = false});
  EXPECT_EQ(schedules.State()[0]["steps"], 1);
  EXPECT_EQ(optimizer->lr(), 0.5);
  schedules.AfterValidation({.scores = scores});
  schedules.AfterValidation({.scores = scores});
  EXPECT_EQ(optimizer->lr(), 0.0625);
}

TEST(SchedulesTest, PlateauPassesOverEpochsWithoutValidation) {
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules schedules = MadeSchedules(
      {R"({"type": "ReduceLROnPlateau", "monitor": "val/loss", "patience": 0,
           "factor": 0.5})"},
      optimizer);
  schedules.Start();
  const Scores with{{"val/loss", 1.0}};
  const Scores without{{"train/loss", 1.0}};
  schedules.AfterEpoch({.scores = with});
  schedules.AfterEpoch({.scores = without, .is_complete = false});
  EXPECT_EQ(optimizer->lr(), 1.0);
  schedules.AfterEpoch({.scores = with});
  EXPECT_EQ(optimizer->lr(), 0.5);
}

TEST(SchedulesTest, Case31PlateauCountsBadEpochsFromTheFirstValueOn) {
  const auto rates = [](const std::string& options,
                        const std::vector<double>& values) {
    const auto optimizer = MadeOptimizer(R"({"type": "SGD", "lr": 0.1})");
    Schedules schedules = MadeSchedules(
        {R"({"type": "ReduceLROnPlateau", "factor": 0.1, )" + options + "}"},
        optimizer);
    schedules.Start();
    std::vector<double> seen;
    for (const double value : values) {
      schedules.AfterEpoch({.scores = kNoScores, .monitored = value});
      seen.push_back(optimizer->lr());
    }
    return seen;
  };
  const std::vector<double> constant(10, 1.0);
  ExpectNear(rates(R"("patience": 2)", constant),
             {.1, .1, .1, .01, .01, .01, .001, .001, .001, .0001}, 1e-15);
  ExpectNear(rates(R"("patience": 2, "cooldown": 1)", constant),
             {.1, .1, .1, .01, .01, .01, .01, .001, .001, .001}, 1e-15);
  ExpectNear(rates(R"("patience": 0)", {1, 1.1, 1.2}), {.1, .01, .001}, 1e-15);
}

// Optimizer and schedulers restored, in either order of their values.
TEST(SchedulesTest, Case34CosineGoesOnFromACheckpoint) {
  const std::string job = R"({"type": "CosineAnnealingLR", "T_max": 10})";
  const std::vector<double> expected{1,  .975528, .904508, .793893, .654508,
                                     .5, .345492, .206107, .095492, .024472};
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules schedules = MadeSchedules({job}, optimizer);
  schedules.Start();
  ExpectNear(RatesOver(schedules, *optimizer, 5),
             {expected.begin(), expected.begin() + 5}, 1e-6);
  const nlohmann::ordered_json settings = optimizer->Settings();
  const nlohmann::ordered_json state = schedules.State();
  for (const bool optimizer_first : {true, false}) {
    const auto restored = MadeOptimizer(kSgd);
    Schedules again = MadeSchedules({job}, restored);
    if (optimizer_first) {
      EXPECT_EQ(restored->LoadSettings(settings), "");
    }
    again.LoadState(state);
    if (!optimizer_first) {
      EXPECT_EQ(restored->LoadSettings(settings), "");
    }
    ExpectNear(RatesOver(again, *restored, 5),
               {expected.begin() + 5, expected.end()}, 1e-6);
  }
}

TEST(SchedulesTest, Case36OneCycleEndsWithItsLastStep) {
  const std::string job =
      R"({"type": "OneCycleLR", "max_lr": 0.1, "total_steps": 10,
          "by": "iteration"})";
  const std::vector<double> expected{.004,    .052,    .1,      .095048,
                                     .081175, .061126, .038874, .018826,
                                     .004952, 4e-7};
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules schedules = MadeSchedules({job}, optimizer, {.batches = 10});
  schedules.Start();
  std::vector<double> used;
  nlohmann::ordered_json settings;
  nlohmann::ordered_json state;
  for (int step = 0; step < 10; ++step) {
    if (step == 5) {
      settings = optimizer->Settings();
      state = schedules.State();
    }
    used.push_back(optimizer->lr());
    schedules.AfterBatch();
  }
  ExpectNear(used, expected, 1e-6);
  EXPECT_NE(ErrorOf([&] { schedules.AfterBatch(); }).find("total_steps 10"),
            std::string::npos);

  const auto restored = MadeOptimizer(kSgd);
  Schedules again = MadeSchedules({job}, restored, {.batches = 10});
  EXPECT_EQ(restored->LoadSettings(settings), "");
  again.LoadState(state);
  EXPECT_NEAR(restored->lr(), .061126, 1e-6);
  again.AfterBatch();
  EXPECT_NEAR(restored->lr(), .038874, 1e-6);
}

// Known before the first batch, not after the last that fits.
TEST(SchedulesTest, OneCycleRefusesARunThatIsLonger) {
  const auto optimizer = MadeOptimizer(kSgd);
  EXPECT_EQ(ErrorOf([&] {
              MadeSchedules({R"({"type": "OneCycleLR", "max_lr": 0.1,
                                 "total_steps": 10, "by": "iteration"})"},
                            optimizer, {.batches = 11});
            }),
            "experiment.lr_scheduler[0]: total_steps: 10, and the run has 11; "
            "at least that many, or an end, is accepted");
}

TEST(SchedulesTest, Case38LengthsFollowFromTheWindow) {
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules cycle = MadeSchedules(
      {R"({"type": "OneCycleLR", "max_lr": 0.1, "begin": 0, "end": 100})"},
      optimizer);
  cycle.Start();
  for (int step = 0; step < 99; ++step) FinishEpoch(cycle);
  EXPECT_NEAR(optimizer->lr(), 4e-7, 1e-12);

  // T_max is (end - begin) of the file, in batches.
  const auto other = MadeOptimizer(kSgd);
  Schedules converted = MadeSchedules(
      {R"({"type": "CosineAnnealingLR", "begin": 1, "end": 3,
           "convert_to_iter_based": true})"},
      other, {.epochs = 5, .batches_per_epoch = 10, .batches = 50});
  converted.Start();
  for (int batch = 0; batch < 20; ++batch) converted.AfterBatch();
  EXPECT_NEAR(other->lr(), 0.5, 1e-12);
}

TEST(SchedulesTest, Case41TorchEcgsStepCountsBatches) {
  const auto optimizer = MadeOptimizer(R"({"type": "SGD", "lr": 0.1})");
  Schedules schedules =
      MadeSchedules({R"({"type": "step", "lr_step_size": 1, "lr_gamma": 0.5,
                         "by": "iteration"})"},
                    optimizer);
  schedules.Start();
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (int batch = 0; batch < 2; ++batch) schedules.AfterBatch();
    FinishEpoch(schedules);
  }
  EXPECT_NEAR(optimizer->lr(), .000390625, 1e-18);
}

TEST(SchedulesTest, Case43AWarmUpAsPrefixLengthensTheSchedule) {
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules schedules =
      MadeSchedules({R"({"type": "Warmup", "length": 5, "start_factor": 0.1,
           "after": {"type": "CosineAnnealingLR", "T_max": 10,
                     "eta_min": 0.001}})"},
                    optimizer, {.epochs = 15});
  schedules.Start();
  const std::vector<double> rates = RatesOver(schedules, *optimizer, 15);
  ExpectNear({rates.begin(), rates.begin() + 6}, {.1, .28, .46, .64, .82, 1.0},
             1e-12);
  EXPECT_GT(rates[14], 0.001);
  EXPECT_EQ(optimizer->lr(), 0.001);
}

TEST(SchedulesTest, AWarmUpThatIsNoPrefixMultiplies) {
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules schedules =
      MadeSchedules({R"({"type": "Warmup", "length": 2, "mode": "constant",
           "start_factor": 0.5, "prefix": false,
           "after": {"type": "ExponentialLR", "gamma": 0.1}})"},
                    optimizer);
  schedules.Start();
  ExpectNear(RatesOver(schedules, *optimizer, 4), {.5, .05, .01, .001}, 1e-12);
}

// Accumulated or skipped batches do no step, so the schedule waits.
TEST(SchedulesTest, Case18BySteppingItCountsStepsThatTookPlace) {
  const NamedTensor weight{"weight", torch::ones({1}).requires_grad_()};
  const auto optimizer = MadeOptimizer(kSgd, {weight});
  Schedules by_step = MadeSchedules(
      {R"({"type": "StepLR", "step_size": 1, "gamma": 0.5, "by": "step"})"},
      optimizer);
  by_step.Start();
  for (const bool is_finite : {true, false, true, true, true}) {
    if (is_finite) {
      weight.tensor.mutable_grad() = torch::ones({1});
      optimizer->Step();
    }
    by_step.AfterBatch();
  }
  EXPECT_EQ(by_step.State()[0]["steps"], 4);
  EXPECT_EQ(optimizer->lr(), 0.0625);
}

TEST(SchedulesTest, SeveralSchedulersMultiplyAndEachHasItsUnit) {
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules schedules = MadeSchedules(
      {kHalves, R"({"type": "ExponentialLR", "gamma": 0.1, "by": "iteration"})",
       R"({"type": "StepMomentum", "step_size": 2, "gamma": 0.5})"},
      optimizer);
  schedules.Start();
  for (int epoch = 0; epoch < 2; ++epoch) {
    schedules.AfterBatch();
    FinishEpoch(schedules);
  }
  EXPECT_NEAR(optimizer->lr(), 0.25 * 0.01, 1e-15);
  EXPECT_EQ(optimizer->momentum(), 0.45);
}

TEST(SchedulesTest, AMomentumGoesByATableToo) {
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules schedules =
      MadeSchedules({R"({"type": "PiecewiseMomentum", "milestones": [0, 1, 3],
           "values": [0.5, 0.75, 0.95]})"},
                    optimizer);
  schedules.Start();
  std::vector<double> seen = {optimizer->momentum()};
  for (int epoch = 0; epoch < 4; ++epoch) {
    schedules.AfterBatch();
    FinishEpoch(schedules);
    seen.push_back(optimizer->momentum());
  }
  EXPECT_EQ(seen, (std::vector<double>{0.5, 0.75, 0.75, 0.95, 0.95}));
  EXPECT_EQ(optimizer->lr(), 1.0);
}

// A longer run has a later end, and the rate does not stay at the old one.
TEST(SchedulesTest, TheEndIsNotThatOfTheCheckpoint) {
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules schedules = MadeSchedules({kHalves}, optimizer, {.epochs = 3});
  schedules.Start();
  for (int epoch = 0; epoch < 3; ++epoch) FinishEpoch(schedules);

  const auto longer = MadeOptimizer(kSgd);
  Schedules again = MadeSchedules({kHalves}, longer, {.epochs = 5});
  EXPECT_EQ(longer->LoadSettings(optimizer->Settings()), "");
  again.LoadState(schedules.State());
  EXPECT_EQ(longer->lr(), 0.125);
  for (int epoch = 3; epoch < 5; ++epoch) FinishEpoch(again);
  EXPECT_EQ(longer->lr(), 0.03125);
}

// Case 94's other half: the optimizer begins anew, the schedule does not.
TEST(SchedulesTest, AFreshOptimizerGetsTheValuesOfItsSchedule) {
  const std::vector<std::string> jobs{
      kHalves, R"({"type": "CosineAnnealingMomentum", "T_max": 8})"};
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules schedules = MadeSchedules(jobs, optimizer);
  schedules.Start();
  for (int epoch = 0; epoch < 3; ++epoch) FinishEpoch(schedules);

  const auto fresh = MadeOptimizer(kSgd);
  Schedules again = MadeSchedules(jobs, fresh);
  again.LoadState(schedules.State(), {"optimizer"});
  EXPECT_EQ(fresh->lr(), optimizer->lr());
  EXPECT_EQ(fresh->momentum(), optimizer->momentum());
  FinishEpoch(schedules);
  FinishEpoch(again);
  EXPECT_EQ(fresh->lr(), optimizer->lr());
  EXPECT_EQ(fresh->momentum(), optimizer->momentum());
}

TEST(SchedulesTest, RefusesTheStateOfOtherSchedulers) {
  const auto optimizer = MadeOptimizer(kSgd);
  Schedules schedules = MadeSchedules({kHalves}, optimizer);
  EXPECT_NE(ErrorOf([&] {
              schedules.LoadState(nlohmann::ordered_json::array());
            }).find("has 0 schedulers, the experiment 1"),
            std::string::npos);
}

TEST(SchedulesTest, AsksWhichOptimizerWhereThereAreTwo) {
  const auto one = MadeOptimizer(kSgd);
  const auto two = MadeOptimizer(kSgd);
  const NamedOptimizers both{{"generator", one}, {"discriminator", two}};
  Schedules unnamed({{"", MadeScheduler(kHalves), "experiment.lr_scheduler"}});
  EXPECT_NE(ErrorOf([&] {
              unnamed.Bind(both, {});
            }).find("there are generator, discriminator"),
            std::string::npos);
  Schedules other({{"critic", MadeScheduler(kHalves), "x"}});
  EXPECT_NE(ErrorOf([&] {
              other.Bind(both, {});
            }).find("no optimizer is called \"critic\""),
            std::string::npos);
  Schedules named({{"discriminator", MadeScheduler(kHalves), "x"}});
  named.Bind(both, {});
  named.Start();
  FinishEpoch(named);
  EXPECT_EQ(one->lr(), 1.0);
  EXPECT_EQ(two->lr(), 0.5);
}

TEST(SchedulesTest, OneObjectTwiceWouldCountTwice) {
  const auto one = MadeOptimizer(kSgd);
  const auto shared = MadeScheduler(kHalves);
  Schedules schedules({{"", shared, "a"}, {"", shared, "b"}});
  EXPECT_NE(ErrorOf([&] {
              schedules.Bind({{"optimizer", one}}, {});
            }).find("b: the same object as a"),
            std::string::npos);
}

}  // namespace
}  // namespace epochd::engine
