// SPDX-License-Identifier: Apache-2.0
//
// Mixed precision on several ranks: they scale, leave out and step alike, and
// train as one rank with the whole batch does.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/dist/ranks.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::engine {
namespace {

constexpr int kSteps = 10;

// Ten steps of samples that both runs have in the same steps.
// "fp16_items" is fp16 with means of items.
Json MixedExperiment(const std::string& name, int world_size) {
  const bool is_half = name.starts_with("fp16");
  Json json = DigitsExperiment(1);
  json["model"]["dropout"] = 0.0;
  json["optimizer"] = {{"type", "SGD"}, {"lr", 0.05}, {"momentum", 0.9}};
  json["data"]["train"]["batch_size"] = 128 / world_size;
  json["data"]["train"]["drop_last"] = true;
  json["trainer"] = {{"type", "EpochTrainer"}, {"max_steps", kSteps}};
  json["runner"] = {{"type", "TrainingRunner"},
                    {"precision", is_half ? "fp16" : name}};
  if (name == "fp16_items") json["runner"]["gradient_mean"] = "items";
  if (is_half) {
    // Overflows at first, and grows later.
    json["runner"]["grad_scaler"] = {{"init_scale", 1e6},
                                     {"growth_interval", 4}};
  }
  return json;
}

struct Ended {
  at::Tensor weights;
  Json steps;  // of each batch: the scale after it, and whether it stepped
  int64_t skipped = 0;
};

std::vector<Ended> TrainMixed(const std::string& precision, int world_size,
                              const TempFolder& folder) {
  const auto path = [&](const char* what, int rank) {
    return folder / (std::string(what) + std::to_string(world_size) +
                     std::to_string(rank));
  };
  const std::vector<int> statuses =
      RunRanks(world_size, [&](const GlooOptions& options) {
        at::set_num_threads(1);
        TestRun run(MixedExperiment(precision, world_size), "",
                    world_size > 1 ? MakeGlooCommunicator(options)
                                   : MakeSingleCommunicator());
        auto& runner =
            dynamic_cast<TrainingRunner&>(run.trainer().training_runner());
        Json steps = Json::array();
        Update* update = nullptr;
        runner.on_post_step.Bind([&](RunnerContext& context) {
          update = context.update;
          steps.push_back({update->scale(), context.stepped});
        });
        // Rank 1 alone meets a sample that is not finite.
        runner.on_pre_step.Bind([&](RunnerContext& context) {
          if (context.batch == 5 && options.rank == world_size - 1) {
            const at::Tensor input = context.entry->At("input").clone();
            input.view(-1)[0] = std::numeric_limits<float>::infinity();
            context.entry->Set("input", input);
          }
        });
        run.trainer().Start();
        run.trainer().Run();
        WriteSafetensors(path("weights", options.rank),
                         {{"weights", run.Weights()}});
        std::ofstream(path("steps", options.rank))
            << Json{{"steps", steps}, {"skipped", update->left_out().total}};
        return 0;
      });
  EXPECT_EQ(statuses, std::vector<int>(static_cast<size_t>(world_size), 0));
  std::vector<Ended> ended;
  for (int rank = 0; rank < world_size; ++rank) {
    std::ifstream file(path("steps", rank));
    const Json json = Json::parse(file);
    ended.push_back({ReadSafetensors(path("weights", rank))[0].tensor,
                     json["steps"], json["skipped"].get<int64_t>()});
  }
  return ended;
}

class MixedPrecisionTest : public testing::TestWithParam<const char*> {};

TEST_P(MixedPrecisionTest, RanksLeaveOutTheSameStepsAndEndAlike) {
  const std::string precision = GetParam();
  const TempFolder folder;
  const std::vector<Ended> two = TrainMixed(precision, 2, folder);
  EXPECT_TRUE(two[0].weights.equal(two[1].weights));
  EXPECT_TRUE(two[0].weights.isfinite().all().item<bool>());
  EXPECT_EQ(two[0].steps, two[1].steps);
  // The sixth batch, and with fp16 those whose scale was too large.
  EXPECT_EQ(two[0].steps[5][1], false);
  if (precision.starts_with("fp16")) {
    EXPECT_GT(two[0].skipped, 1);
    EXPECT_LT(two[0].skipped, 9);
    return;
  }
  EXPECT_EQ(two[0].skipped, 1);
  const Ended one = TrainMixed(precision, 1, folder)[0];
  EXPECT_EQ(two[0].steps, one.steps);
  EXPECT_TRUE(at::allclose(two[0].weights, one.weights, 0.0,
                           precision == "fp32" ? 1e-5 : 1e-2))
      << (two[0].weights - one.weights).abs().max().item<double>();
}

INSTANTIATE_TEST_SUITE_P(Of, MixedPrecisionTest,
                         testing::Values("fp32", "bf16", "fp16", "fp16_items"),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

}  // namespace
}  // namespace epochd::engine
