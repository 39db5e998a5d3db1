// SPDX-License-Identifier: Apache-2.0
//
// Accumulation, scales, clipping and refused steps: rows of
// shared/cases/trainer_cases.md, sections A and B.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/worker/engine/loop/tiny_run.h"
#include "worker/engine/core/error.h"
#include "worker/engine/dist/single.h"
#include "worker/engine/loop/update.h"

namespace epochd::engine {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TrainingRunner::Options Accumulate(
    int64_t count, Update::Remainder remainder = Update::Remainder::kFull) {
  TrainingRunner::Options options;
  options.update.accumulation = count;
  options.update.remainder = remainder;
  return options;
}

// Batches (from 0, since the job began) that ended in an optimizer step.
std::vector<int64_t> SteppingBatches(TinyRun& run) {
  std::vector<int64_t> batches;
  run.runner().on_after_optimizer_step.Bind([&](RunnerContext& context) {
    if (context.stepped) batches.push_back(context.global_batch);
  });
  run.Run();
  return batches;
}

TEST(AccumulationTest, Case1StepsAlsoForTheLastGroupOfAnEpoch) {
  TinyRun run(List(Ones(10)), {.runner = Accumulate(4)});
  EXPECT_EQ(SteppingBatches(run), (std::vector<int64_t>{3, 7, 9}));
}

TEST(AccumulationTest, Case3StepsOnceWhenTheLoaderIsShorterThanAGroup) {
  TinyRun full(List(Ones(3)), {.runner = Accumulate(4)});
  EXPECT_EQ(SteppingBatches(full), (std::vector<int64_t>{2}));
  EXPECT_DOUBLE_EQ(full.Weight(), 0.75);
  TinyRun actual(List(Ones(3)),
                 {.runner = Accumulate(4, Update::Remainder::kActual)});
  SteppingBatches(actual);
  EXPECT_DOUBLE_EQ(actual.Weight(), 1.0);
}

TEST(AccumulationTest, Case15WeighsItemsOrBatchesAlike) {
  const std::vector<Batch> batches = {Inputs({1, 1, 1}), Inputs({5})};
  TrainingRunner::Options by_items = Accumulate(2);
  by_items.update.mean = Update::Mean::kItems;
  TinyRun items(List(batches), {.runner = by_items});
  items.Run();
  EXPECT_DOUBLE_EQ(items.Weight(), 2.0);
  TinyRun means(List(batches), {.runner = Accumulate(2)});
  means.Run();
  EXPECT_DOUBLE_EQ(means.Weight(), 3.0);
  // A last group of fewer batches is a mean of what it has.
  by_items.update.accumulation = 4;
  TinyRun rest(List(batches), {.runner = by_items});
  rest.Run();
  EXPECT_DOUBLE_EQ(rest.Weight(), 2.0);
}

TEST(AccumulationTest, Case15HooksSeeTheMeanAlsoWhereTheLastBatchIsLeftOut) {
  TrainingRunner::Options options = Accumulate(3);
  options.update.mean = Update::Mean::kItems;
  TinyRun run(List({Inputs({1, 1, 1}), Inputs({5}), Inputs({9})}),
              {.runner = options});
  run.runner().on_pre_step.Bind(
      [](RunnerContext& context) { context.skip = context.batch == 2; });
  double seen = 0;
  run.runner().on_before_optimizer_step.Bind(
      [&](RunnerContext&) { seen = run.model->w.grad().item<double>(); });
  run.Run();
  EXPECT_DOUBLE_EQ(seen, -2.0);
  EXPECT_DOUBLE_EQ(run.Weight(), 2.0);
}

TEST(AccumulationTest, Case5DividesTheLastGroupByItsSizeAfterAResume) {
  const Update update(
      "optimizer",
      std::make_shared<Sgd>(WeightsModel().Parameters(), Sgd::Options()),
      {.accumulation = 3, .remainder = Update::Remainder::kActual});
  std::vector<double> divisors;
  std::vector<int64_t> steps;
  for (int64_t batch = 96; batch < 100; ++batch) {
    const Update::Share share = update.ShareOf(batch, 100, batch == 99);
    divisors.push_back(share.divisor);
    if (share.ends_group) steps.push_back(batch);
  }
  EXPECT_EQ(divisors, (std::vector<double>{3, 3, 3, 1}));
  EXPECT_EQ(steps, (std::vector<int64_t>{98, 99}));
}

TEST(AccumulationTest, Case7KeepsGradientsThroughAValidationInAGroup) {
  LoopPlan plan{.max_batches = 6, .groups_cross_epochs = true};
  plan.validation.unit = ValidationPlan::Unit::kBatches;
  plan.validation.interval = 2;
  TinyRun run(List(Ones(6)),
              {.plan = plan, .runner = Accumulate(3), .val = List(Ones(2))});
  std::vector<bool> there;
  run.trainer->on_validation_began.Bind(
      [&](TrainerContext&) { there.push_back(run.model->w.grad().defined()); });
  run.runner().on_pre_step.Bind(
      [&](RunnerContext&) { EXPECT_TRUE(run.model->is_training); });
  run.Run();
  EXPECT_EQ(there, (std::vector<bool>{true, true, false}));
  TinyRun without(List(Ones(6)), {.runner = Accumulate(3)});
  without.Run();
  EXPECT_TRUE(run.model->w.equal(without.model->w));
}

TEST(AccumulationTest, Case8CountsStepsNotBatchesForMaxSteps) {
  TinyRun plenty(List(Ones(100)), {.plan = {.max_epochs = 9, .max_steps = 5},
                                   .runner = Accumulate(2)});
  plenty.Run();
  EXPECT_EQ(plenty.trainer->position().global_batch, 10);
  EXPECT_EQ(plenty.trainer->position().step, 5);
  TinyRun short_epochs(
      List(Ones(7)),
      {.plan = {.max_epochs = 9, .max_steps = 5}, .runner = Accumulate(2)});
  short_epochs.Run();
  EXPECT_EQ(short_epochs.trainer->position().global_batch, 9);
  EXPECT_EQ(short_epochs.trainer->position().step, 5);
  EXPECT_EQ(short_epochs.trainer->position().epoch, 1);
}

TEST(AccumulationTest, Case10CountsStepsAndBatchesApart) {
  TinyRun run(List(Ones(10)), {.runner = Accumulate(4)});
  run.Run();
  EXPECT_EQ(run.trainer->position().step, 3);
  EXPECT_EQ(run.trainer->position().global_batch, 10);
}

TEST(AccumulationTest, Case11DoesNotStepOnTheFirstBatchOfAGroup) {
  TinyRun run(List(Ones(10)), {.runner = Accumulate(4)});
  for (const int64_t batch : SteppingBatches(run)) EXPECT_GT(batch, 0);
}

TEST(AccumulationTest, Case12LogsTheLossUndivided) {
  auto model = std::make_shared<WeightsModel>();
  model->w = at::full({1}, -1.0).requires_grad_(true);
  TinyRun run(List(Ones(8)),
              {.runner = Accumulate(4), .lr = 0.0, .model = model});
  std::vector<double> losses;
  run.runner().on_step_metrics.Bind([&](RunnerContext& context) {
    losses.push_back(context.loss.item<double>());
  });
  Scores scores;
  run.trainer->on_epoch_finished.Bind(
      [&](TrainerContext& context) { scores = context.scores; });
  run.Run();
  EXPECT_EQ(losses, std::vector<double>(8, 1.0));
  EXPECT_DOUBLE_EQ(*FindScore(scores, "train/loss"), 1.0);
}

TEST(AccumulationTest, Case15WeighsByItemsOrByBatches) {
  // Sample losses [1, 1, 1] and [5].
  auto mean = [](Meter::Weighting weighting) {
    auto model = std::make_shared<WeightsModel>();
    model->w = at::full({1}, -1.0).requires_grad_(true);
    TinyRun run(List({Inputs({1, 1, 1}), Inputs({5})}),
                {.lr = 0.0, .loss_mean = weighting, .model = model});
    Scores scores;
    run.trainer->on_epoch_finished.Bind(
        [&](TrainerContext& context) { scores = context.scores; });
    run.Run();
    return *FindScore(scores, "train/loss");
  };
  EXPECT_DOUBLE_EQ(mean(Meter::Weighting::kSamples), 2.0);
  EXPECT_DOUBLE_EQ(mean(Meter::Weighting::kBatches), 3.0);
}

TEST(AccumulationTest, StepsForAGroupWhoseLastBatchIsLeftOut) {
  TinyRun run(List(Ones(4)), {.runner = Accumulate(2)});
  run.runner().on_pre_step.Bind(
      [](RunnerContext& context) { context.skip = context.batch % 2 == 1; });
  EXPECT_EQ(SteppingBatches(run), (std::vector<int64_t>{1, 3}));
  EXPECT_DOUBLE_EQ(run.Weight(), 1.0);
}

TEST(AccumulationTest, GroupsGoOnOverEpochsWhenAsked) {
  TinyRun run(List(Ones(3)),
              {.plan = {.max_epochs = 3, .groups_cross_epochs = true},
               .runner = Accumulate(4, Update::Remainder::kActual)});
  EXPECT_EQ(SteppingBatches(run), (std::vector<int64_t>{3, 7, 8}));
  EXPECT_DOUBLE_EQ(run.Weight(), 3.0);
}

// One optimizer over `size` weights, to be given gradients by hand.
struct ByHand {
  explicit ByHand(int64_t size, Update::Options options, double lr = 1.0)
      : model(size),
        update(
            "optimizer",
            std::make_shared<Sgd>(model.Parameters(), Sgd::Options{.lr = lr}),
            options),
        sync(MakeSingleCommunicator()->SyncGradients({}, {}, {}, nullptr)) {}
  // Differentiates a loss whose gradient is this.
  void Backward(const std::vector<double>& gradient,
                const Update::Share& share = {}, double num_items = 1) {
    update.Backward(*sync, (model.w * at::tensor(gradient, at::kFloat)).sum(),
                    share, num_items);
  }
  std::vector<float> Gradient() const {
    const at::Tensor gradient = model.w.grad().contiguous();
    const float* values = gradient.const_data_ptr<float>();
    return {values, values + gradient.numel()};
  }

  WeightsModel model;
  Update update;
  std::unique_ptr<GradientSync> sync;
};

Update::Options Scaled(GradScaler::Options scaler = {}) {
  Update::Options options;
  options.scaler = scaler;
  return options;
}

TEST(UpdateTest, Case16ClipsTheTrueGradientNotTheScaledOne) {
  ByHand run(2, Scaled());
  run.Backward({3, 4});
  EXPECT_FLOAT_EQ(run.Gradient()[0], 3 * 65536.0F);
  const at::Tensor norm = run.update.ClipNorm(1.0);
  EXPECT_FLOAT_EQ(norm.item<float>(), 5.0F);
  EXPECT_NEAR(run.Gradient()[0], 0.6, 1e-6);
  EXPECT_NEAR(run.Gradient()[1], 0.8, 1e-6);
  EXPECT_TRUE(run.update.Step());
}

TEST(UpdateTest, Case18LeavesOutAndCountsStepsThatOverflow) {
  ByHand run(1, Scaled({.init_scale = 1024, .growth_interval = 2}), 0.1);
  {
    const c10::NoGradGuard no_grad;
    run.model.w.fill_(1.0);
  }
  std::vector<double> scales;
  std::vector<float> weights;
  int steps = 0;
  for (const double gradient : {1.0, kInf, 1.0, 1.0, 1.0}) {
    run.Backward({gradient});
    steps += run.update.Step() ? 1 : 0;
    scales.push_back(run.update.scale());
    weights.push_back(run.model.w.item<float>());
  }
  EXPECT_EQ(scales, (std::vector<double>{1024, 512, 512, 1024, 1024}));
  EXPECT_EQ(steps, 4);
  EXPECT_EQ(run.update.left_out().total, 1);
  const std::vector<double> expected = {0.9, 0.9, 0.8, 0.7, 0.6};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(weights[i], expected[i], 1e-6) << i;
  }
}

TEST(UpdateTest, Case19NeitherUnscalesNorStepsForSkippedBatches) {
  TrainingRunner::Options options;
  options.update = Scaled({.growth_interval = 3});
  TinyRun run(List(Ones(5)), {.runner = options});
  run.runner().on_pre_step.Bind(
      [](RunnerContext& context) { context.skip = context.batch % 2 == 1; });
  int before = 0;
  run.runner().on_before_optimizer_step.Bind([&](RunnerContext&) { ++before; });
  run.Run();
  EXPECT_EQ(before, 3);
  EXPECT_EQ(run.trainer->position().step, 3);
  // The third update made it grow.
  EXPECT_EQ(run.runner().State()["scaler"]["scale"], 131072.0);
}

TEST(UpdateTest, Case21UnscalesAgainAfterASkippedStep) {
  ByHand run(1, Scaled());
  run.Backward({2});
  run.update.Unscale();
  run.update.Drop();
  run.Backward({3});
  run.update.Unscale();
  EXPECT_FLOAT_EQ(run.Gradient()[0], 3.0F);
  EXPECT_TRUE(run.update.Step());
}

TEST(UpdateTest, Case23DoesNotScaleInBFloat16) {
  TrainingRunner::Options options;
  options.precision = Precision::kBFloat16;
  TinyRun run(List(Ones(2)), {.runner = options});
  run.runner().on_post_backward.Bind([](RunnerContext& context) {
    EXPECT_EQ(context.update->scale(), 1.0);
    EXPECT_FLOAT_EQ(
        context.optimizer->parameters()[0].tensor.grad().item<float>(), -1.0F);
  });
  run.Run();
  EXPECT_EQ(run.trainer->position().step, 2);
}

TEST(UpdateTest, Case24RefusesStepsOnNonFiniteGradients) {
  ByHand run(2, {.non_finite = Update::NonFinite::kSkip});
  run.Backward({kInf, 1});
  run.update.ClipNorm(1.0);
  EXPECT_FALSE(run.update.Step());
  EXPECT_EQ(run.update.left_out().total, 1);
  EXPECT_TRUE(run.model.w.eq(0).all().item<bool>());
  ByHand strict(2, {.non_finite = Update::NonFinite::kError});
  strict.Backward({kInf, 1});
  EXPECT_THROW(strict.update.Step(), Error);
  // The default on a CPU.
  ByHand automatic(2, {});
  automatic.Backward({kInf, 1});
  EXPECT_FALSE(automatic.update.Step());
}

TEST(UpdateTest, Case25LeavesOneOptimizerOutWithoutTouchingAnother) {
  ByHand a(1, Scaled());
  ByHand b(1, Scaled());
  a.Backward({kInf});
  b.Backward({1});
  EXPECT_FALSE(a.update.Step());
  EXPECT_TRUE(b.update.Step());
  EXPECT_FLOAT_EQ(a.model.w.item<float>(), 0.0F);
  EXPECT_FLOAT_EQ(b.model.w.item<float>(), -1.0F);
  EXPECT_EQ(a.update.scale(), 32768.0);
  EXPECT_EQ(b.update.scale(), 65536.0);
  a.Backward({1});
  EXPECT_TRUE(a.update.Step());
}

TEST(UpdateTest, ScalesMeansOfItemsAsThoseOfBatches) {
  Update::Options options = Scaled();
  options.accumulation = 2;
  options.mean = Update::Mean::kItems;
  ByHand run(1, options);
  // Twice: what was expected of one group is not of the next.
  for (const double items : {100000.0, 3.0}) {
    run.Backward({1}, {.ends_group = false}, items);
    EXPECT_FLOAT_EQ(run.Gradient()[0], 65536.0F / 2);
    run.Backward({3}, {}, 3 * items);
    run.update.Unscale();
    EXPECT_FLOAT_EQ(run.Gradient()[0], 2.5F);
    EXPECT_TRUE(run.update.Step());
  }
}

TEST(UpdateTest, ItemsThatComeLateInAGroupCountAsMuch) {
  Update::Options options = Scaled();
  options.accumulation = 3;
  options.mean = Update::Mean::kItems;
  ByHand run(1, options);
  run.Backward({0}, {.ends_group = false}, 0);
  run.Backward({1}, {.ends_group = false}, 2);
  run.Backward({4}, {}, 1);
  run.update.Unscale();
  EXPECT_FLOAT_EQ(run.Gradient()[0], 2.0F);
  run.update.Step();
  // Nothing counts at all.
  for (const bool ends : {false, false, true}) {
    run.Backward({0}, {.ends_group = ends}, 0);
  }
  run.update.Unscale();
  EXPECT_EQ(run.Gradient()[0], 0.0F);
  EXPECT_TRUE(run.update.Step());
}

TEST(UpdateTest, FindsTheScaleInAsManyStepsForItemsAsForBatches) {
  const auto skipped = [](const char* mean) {
    Json json = DigitsExperiment(1);
    json["runner"] = {{"type", "TrainingRunner"},
                      {"precision", "fp16"},
                      {"gradient_accumulation_steps", 2},
                      {"gradient_mean", mean}};
    TestRun run(json);
    run.trainer().Start();
    run.trainer().Run();
    return run.trainer().training_runner().State()["skipped"].get<int>();
  };
  EXPECT_EQ(skipped("items"), skipped("batches"));
}

TEST(UpdateTest, EndsARunThatNeverStepsAgain) {
  Update::Options options;
  options.max_skipped_in_a_row = 3;
  ByHand run(1, options);
  for (int i = 0; i < 2; ++i) {
    run.Backward({kInf});
    EXPECT_FALSE(run.update.Step());
  }
  run.Backward({kInf});
  EXPECT_THROW(run.update.Step(), Error);
}

TEST(UpdateTest, DoesNotSucceedWithALossThatIsNotANumber) {
  TinyRun run(List({Inputs({kInf}), Inputs({-kInf})}));
  EXPECT_NE(ErrorOf([&] { run.Run(); }).find("train/loss: not a finite"),
            std::string::npos);
  // One bad batch among good ones is left out.
  TinyRun mixed(List({Inputs({1}), Inputs({kInf}), Inputs({1})}));
  EXPECT_EQ(mixed.Run(), Trainer::Outcome::kCompleted);
  EXPECT_DOUBLE_EQ(mixed.Weight(), 2.0);
}

TEST(UpdateTest, DoesNotSucceedWithWeightsThatAreNotNumbers) {
  TinyRun run(List(Ones(2)));
  run.runner().on_after_optimizer_step.Bind([&](RunnerContext& context) {
    if (context.batch == 1) run.model->w.detach().fill_(NAN);
  });
  EXPECT_NE(
      ErrorOf([&] { run.Run(); }).find("the weights \"w\" are not finite"),
      std::string::npos);
  // What counts is what hooks leave.
  TinyRun mended(List(Ones(2)));
  mended.runner().on_after_optimizer_step.Bind([&](RunnerContext& context) {
    if (context.batch == 1) mended.model->w.detach().fill_(NAN);
  });
  mended.trainer->on_training_ended.Bind(
      [&](TrainerContext&) { mended.model->w.detach().fill_(1); });
  EXPECT_EQ(mended.Run(), Trainer::Outcome::kCompleted);
}

TEST(UpdateTest, RestoresScaleAndCounts) {
  ByHand run(1, Scaled());
  run.Backward({kInf});
  run.update.Step();
  ByHand resumed(1, Scaled());
  resumed.update.LoadState(run.update.State());
  EXPECT_EQ(resumed.update.scale(), 32768.0);
  EXPECT_EQ(resumed.update.left_out().total, 1);
  EXPECT_EQ(resumed.update.left_out().in_a_row, 1);
  EXPECT_EQ(resumed.update.faults().in_a_row, 1);
  resumed.Backward({kInf});
  EXPECT_FALSE(resumed.update.Step());
  EXPECT_EQ(resumed.update.left_out().in_a_row, 2);
  EXPECT_EQ(resumed.update.faults().total, 2);
}

}  // namespace
}  // namespace epochd::engine
