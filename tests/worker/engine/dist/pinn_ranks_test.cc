// SPDX-License-Identifier: Apache-2.0
//
// Two ranks train an equation as one does with the whole batch: derivatives of
// derivatives, and weights of losses.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "tests/worker/engine/burgers_run.h"
#include "tests/worker/engine/dist/ranks.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::engine {
namespace {

// Weights in the end, of rank 0.
at::Tensor TrainOn(int world_size, Json json) {
  const TempFolder folder;
  json["data"]["train"]["batch_size"] = 16 / world_size;
  const std::string file = folder / "weights.safetensors";
  const std::vector<int> statuses =
      RunRanks(world_size, [&](const GlooOptions& options) {
        at::set_num_threads(1);
        TestRun run(json, "", MakeGlooCommunicator(options));
        run.trainer().Start();
        run.trainer().Run();
        if (options.rank == 0) {
          WriteSafetensors(file, {{"weights", run.Weights()}});
        }
        return 0;
      });
  EXPECT_EQ(statuses, std::vector<int>(static_cast<size_t>(world_size), 0));
  return ReadSafetensors(file).front().tensor;
}

TEST(PinnRanksTest, TwoRanksAreOneWithTheWholeBatch) {
  Json json = BurgersExperiment(3);
  json["optimizer"] = {{"type", "SGD"}, {"lr", 0.02}, {"momentum", 0.9}};
  for (const Json& balancer :
       {Json{{"type", "Static"}},
        Json{{"type", "GradientNorm"}, {"update_every_n_steps", 3}},
        Json{{"type", "Ntk"},
             {"update_every_n_steps", 4},
             {"kernel_size", 8}}}) {
    json["loss_balancer"] = balancer;
    const at::Tensor one = TrainOn(1, json);
    const at::Tensor two = TrainOn(2, json);
    EXPECT_LT((one - two).abs().max().item<double>(), 1e-5) << balancer;
    // And the balancer had a say.
    if (balancer["type"] == "Static") continue;
    json["loss_balancer"] = {{"type", "Static"}};
    EXPECT_GT((one - TrainOn(1, json)).abs().max().item<double>(), 1e-4)
        << balancer;
  }
}

}  // namespace
}  // namespace epochd::engine
