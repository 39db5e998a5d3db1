// SPDX-License-Identifier: Apache-2.0
//
// GAN training: rows of shared/cases/trainer_cases.md, section J.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "hooks/r1_gradient_penalty.h"
#include "tests/worker/engine/loop/tiny_run.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loss/ragan.h"

namespace epochd::engine {
namespace {

Batch ScoresOf(const std::vector<double>& real,
               const std::vector<double>& fake) {
  return {{"score_real", at::tensor(real, at::kDouble)},
          {"score_fake", at::tensor(fake, at::kDouble)}};
}

TEST(GanCaseTest, Case139TakesRelativisticAverages) {
  const RaGanDiscriminatorLoss d({});
  const RaGanGeneratorLoss g({});
  const Batch near = ScoresOf({1, 0}, {0, -1});
  EXPECT_NEAR(d.Compute(near).item<double>(), 0.337745, 1e-6);
  EXPECT_NEAR(g.Compute(near).item<double>(), 1.337745, 1e-6);
  const Batch far = ScoresOf({200}, {-200});
  EXPECT_NEAR(d.Compute(far).item<double>(), 0.0, 1e-9);
  EXPECT_NEAR(g.Compute(far).item<double>(), 400.0, 1e-9);
}

GanTrainingRunner& RunnerOf(TestRun& run) {
  return dynamic_cast<GanTrainingRunner&>(run.trainer().training_runner());
}

double NormOf(Model& model) {
  double square = 0;
  for (const NamedTensor& each : model.Parameters()) {
    if (!each.tensor.grad().defined()) continue;
    square += each.tensor.grad().square().sum().item<double>();
  }
  return std::sqrt(square);
}

TEST(GanCaseTest, Case140BeginsEachDiscriminatorStepWithoutGradients) {
  TestRun run(GanExperiment(1));
  std::vector<double> norms;
  RunnerOf(run).on_pre_d_forward.Bind([&](GanContext& context) {
    norms.push_back(NormOf(context.gan->discriminator()));
  });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(norms, std::vector<double>(norms.size(), 0.0));
  EXPECT_GE(norms.size(), 3u);
}

TEST(GanCaseTest, Case141TrainsTheGeneratorThroughAFrozenDiscriminator) {
  TestRun run(GanExperiment(1));
  int seen = 0;
  RunnerOf(run).on_post_g_backward.Bind([&](GanContext& context) {
    ++seen;
    EXPECT_GT(NormOf(context.gan->generator()), 0.0);
    for (const NamedTensor& each : context.gan->discriminator().Parameters()) {
      EXPECT_FALSE(each.tensor.grad().defined()) << each.name;
    }
  });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_GT(seen, 0);
}

// Scores are sum(w x^2 / 2): the gradient with respect to x is w x.
class Quadratic : public AdversarialModel {
 public:
  Batch Forward(const Batch&) override { return {}; }
  std::vector<NamedTensor> Parameters() const override {
    return weights.Parameters();
  }
  std::vector<NamedTensor> Buffers() const override { return {}; }
  void SetTraining(bool) override {}
  void To(c10::Device) override {}
  Model& generator() override { return weights; }
  Model& discriminator() override { return weights; }
  const std::string& real_field() const override { return real_; }
  at::Tensor Discriminate(const at::Tensor& images) override {
    return (weights.w * images.square() / 2).sum(1);
  }
  at::Tensor Generate(const Batch&, int64_t) override { return {}; }

  WeightsModel weights;

 private:
  std::string real_ = "real";
};

TEST(GanCaseTest, Case143PenalizesTheGradientItselfToSecondOrder) {
  Quadratic model;
  {
    const c10::NoGradGuard no_grad;
    model.weights.w.fill_(2.0);
  }
  GanTrainingRunner runner(
      std::make_shared<Sgd>(model.Parameters(), Sgd::Options()),
      std::make_shared<Sgd>(model.Parameters(), Sgd::Options()), Criterion(),
      Criterion(), {});
  hooks::R1GradientPenalty hook(1.0);
  runner.Attach(hook);
  Batch batch = {{"real", at::tensor({3.0F, 1.0F}).unsqueeze(0)}};
  GanContext context;
  context.gan = &model;
  context.model = &model;
  context.entry = &batch;
  runner.on_post_d_forward.Fire(context);
  ASSERT_EQ(context.d_extra_losses.size(), 1u);
  const at::Tensor penalty = context.d_extra_losses[0].second;
  EXPECT_FLOAT_EQ(penalty.item<float>(), 20.0F);
  penalty.backward();
  EXPECT_FLOAT_EQ(model.weights.w.grad().item<float>(), 20.0F);
}

TEST(GanCaseTest, Case146WarmsUpOnceAlsoAfterAResume) {
  Json json = GanExperiment(3);
  json["data"]["train"]["batch_size"] = 300;  // five batches an epoch
  json["hooks"] = {{{"type", "DiscriminatorWarmup"}, {"batches", 3}}};
  auto sequence = [](TestRun& run) {
    auto batches = std::make_shared<std::string>();
    RunnerOf(run).on_post_d_backward.Bind(
        [batches](GanContext&) { *batches += "D"; });
    RunnerOf(run).on_post_g_backward.Bind(
        [batches](GanContext&) { *batches += "G"; });
    RunnerOf(run).on_post_step.Bind(
        [batches](GanContext&) { *batches += " "; });
    return batches;
  };
  Snapshot snapshot;
  {
    TestRun run(json);
    const auto batches = sequence(run);
    run.trainer().on_epoch_committed.Bind([&](TrainerContext& context) {
      snapshot = context.trainer->TakeSnapshot();
      context.trainer->RequestStop();
    });
    run.trainer().Start();
    run.trainer().Run();
    EXPECT_EQ(batches->substr(0, 12), "D D D DG DG ");
  }
  TestRun resumed(json);
  const auto batches = sequence(resumed);
  resumed.trainer().Restore(snapshot);
  resumed.trainer().Run();
  EXPECT_EQ(batches->substr(0, 6), "DG DG ");
}

TEST(GanCaseTest, Case148BringsBackBothOptimizersScalesAndCounters) {
  Json json = GanExperiment(2);
  json["trainer"]["limit_train_batches"] = 2;
  Snapshot snapshot;
  TestRun run(json);
  run.trainer().on_epoch_committed.Bind([&](TrainerContext& context) {
    if (context.ending) snapshot = context.trainer->TakeSnapshot();
  });
  run.trainer().Start();
  run.trainer().Run();
  TestRun resumed(json);
  resumed.trainer().Restore(snapshot);
  EXPECT_EQ(resumed.trainer().position().global_batch, 4);
  EXPECT_EQ(resumed.trainer().training_runner().State(),
            run.trainer().training_runner().State());
  const auto before = run.trainer().training_runner().Optimizers();
  const auto after = resumed.trainer().training_runner().Optimizers();
  ASSERT_EQ(before.size(), 2u);
  for (size_t i = 0; i < before.size(); ++i) {
    const auto was = before[i].second->State();
    const auto is = after[i].second->State();
    ASSERT_EQ(was.size(), is.size());
    EXPECT_GT(was.size(), 1u);
    for (size_t k = 0; k < was.size(); ++k) {
      EXPECT_TRUE(was[k].tensor.equal(is[k].tensor)) << was[k].name;
    }
  }
  // Scales are each side's own.
  Update::Options fp16;
  fp16.scaler = GradScaler::Options();
  auto made = [&] {
    const Quadratic model;
    auto sgd = std::make_shared<Sgd>(model.Parameters(), Sgd::Options());
    return std::make_unique<GanTrainingRunner>(
        sgd, sgd, Criterion(), Criterion(),
        GanTrainingRunner::Options{.update = fp16});
  };
  auto state = made()->State();
  state["generator"]["scaler"]["scale"] = 128.0;
  const auto runner = made();
  runner->LoadState(state);
  EXPECT_EQ(runner->State(), state);
  EXPECT_EQ(runner->State()["discriminator"]["scaler"]["scale"], 65536.0);
}

TEST(GanCaseTest, Case150SavesWithoutAnAverageWhereThereIsNone) {
  Json json = GanExperiment(1);
  json["trainer"]["limit_train_batches"] = 1;
  TestRun run(json);
  run.trainer().Start();
  run.trainer().Run();
  const Snapshot snapshot = run.trainer().TakeSnapshot();
  for (const NamedTensor& each : snapshot.model) {
    EXPECT_EQ(each.name.find("ema"), std::string::npos) << each.name;
  }
  EXPECT_FALSE(snapshot.json["hooks"].contains("EMA"));
}

}  // namespace
}  // namespace epochd::engine
