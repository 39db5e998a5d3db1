// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/training_runner.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

TrainingRunner& RunnerOf(TestRun& run) {
  return dynamic_cast<TrainingRunner&>(run.trainer().training_runner());
}

Json Plain(int epochs) {
  Json json = DigitsExperiment(epochs);
  json["model"]["dropout"] = 0.0;
  json["hooks"] = Json::array();
  json["data"]["train"]["shuffle"] = false;
  json["optimizer"] = {{"type", "SGD"}, {"lr", 0.1}};
  json.erase("lr_scheduler");
  return json;
}

TEST(TrainingRunnerTest, StepsEveryGroupAndOnTheLastBatch) {
  Json json = Plain(1);
  json["data"]["train"]["batch_size"] = 250;  // six batches
  json["runner"] = {{"type", "TrainingRunner"},
                    {"gradient_accumulation_steps", 4}};
  TestRun run(json);
  std::vector<int64_t> steps;
  RunnerOf(run).on_post_step.Bind(
      [&](RunnerContext& context) { steps.push_back(context.step); });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(steps, (std::vector<int64_t>{0, 0, 0, 1, 1, 2}));
}

TEST(TrainingRunnerTest, AccumulatedBatchesEqualOneLargeBatch) {
  auto train = [](int64_t batch_size, int64_t accumulation) {
    Json json = Plain(1);
    json["data"]["train"]["batch_size"] = batch_size;
    json["data"]["train"]["drop_last"] = true;
    json["runner"] = {{"type", "TrainingRunner"},
                      {"gradient_accumulation_steps", accumulation}};
    TestRun run(json);
    run.trainer().Start();
    run.trainer().Run();
    return run.Weights();
  };
  // 1437 samples: both see the same 1408 of them.
  EXPECT_TRUE(at::allclose(train(128, 1), train(64, 2), 1e-5, 1e-6));
}

TEST(TrainingRunnerTest, ErrorsNameTheLossTheMetricAndWhatIsFrozen) {
  const auto error_of = [](const Json& json) -> std::string {
    try {
      TestRun run(json);
      run.trainer().Start();
      run.trainer().Run();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  Json json = Plain(1);
  json["loss"]["output"] = "fake";
  EXPECT_EQ(error_of(json).find("loss cross_entropy: batch field \"fake\""), 0u)
      << error_of(json);
  json = Plain(1);
  json["metrics"] = {{{"type", "PSNR"}}};
  json.erase("monitor");
  EXPECT_EQ(error_of(json).find("metric psnr: "), 0u) << error_of(json);
  json = Plain(1);
  json["model"]["freeze"] = {"net"};
  EXPECT_NE(error_of(json).find("frozen"), std::string::npos) << error_of(json);
}

TEST(TrainingRunnerTest, SkipsBatchesThatAHookLeavesOut) {
  TestRun run(Plain(1));
  RunnerOf(run).on_pre_step.Bind(
      [](RunnerContext& context) { context.skip = true; });
  run.trainer().Start();
  const at::Tensor before = run.Weights();
  run.trainer().Run();
  EXPECT_TRUE(run.Weights().equal(before));
  EXPECT_EQ(run.trainer().position().step, 0);
  EXPECT_EQ(run.trainer().position().global_batch,
            run.trainer().train().NumBatches());
}

TEST(TrainingRunnerTest, AddsLossesOfHooksToWhatIsDifferentiated) {
  TestRun plain(Plain(1));
  TestRun extra(Plain(1));
  RunnerOf(extra).on_post_forward.Bind([](RunnerContext& context) {
    at::Tensor sum = at::zeros({});
    for (const NamedTensor& each : context.model->Parameters()) {
      sum = sum + each.tensor.square().sum();
    }
    context.extra_losses.emplace_back("l2", sum * 0.1);
  });
  plain.trainer().Start();
  extra.trainer().Start();
  plain.trainer().Run();
  extra.trainer().Run();
  EXPECT_LT(extra.Weights().norm().item<double>(),
            plain.Weights().norm().item<double>());
}

TEST(TrainingRunnerTest, LetsAHookReplaceTheBatch) {
  TestRun run(Plain(1));
  std::vector<double> losses;
  RunnerOf(run).on_pre_step.Bind([](RunnerContext& context) {
    context.entry->Set("input", at::zeros_like(context.entry->At("input")));
  });
  RunnerOf(run).on_post_forward.Bind([&](RunnerContext& context) {
    EXPECT_EQ(context.entry->At("input").abs().sum().item<double>(), 0.0);
    losses.push_back(context.loss.item<double>());
  });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(static_cast<int64_t>(losses.size()),
            run.trainer().train().NumBatches());
}

TEST(TrainingRunnerTest, TrainsInBFloat16WithFloatWeights) {
  Json json = Plain(3);
  json["trainer"]["precision"] = "bf16";
  TestRun run(json);
  at::ScalarType output = at::kFloat;
  RunnerOf(run).on_post_forward.Bind([&](RunnerContext& context) {
    output = context.entry->At("output").scalar_type();
  });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(output, at::kBFloat16);
  for (const NamedTensor& each : run.trainer().model().Parameters()) {
    EXPECT_EQ(each.tensor.scalar_type(), at::kFloat);
  }
  EXPECT_GT(run.trainer().monitor().best, 0.5);
}

}  // namespace
}  // namespace epochd::engine
