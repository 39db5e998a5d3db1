// SPDX-License-Identifier: Apache-2.0
//
// A fixed job (given initial weights, no shuffle) trains as it does in Python,
// with each optimizer as job files write it.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <map>
#include <memory>

#include "tests/golden/golden.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/loss/cross_entropy.h"
#include "worker/engine/model/mlp.h"

namespace epochd::engine {
namespace {

std::shared_ptr<Model> MakeModel() {
  MlpOptions options;
  options.in_features = 16;
  options.hidden = {32, 16};
  options.out_features = 10;
  return MakeMlp(options);
}

void LoadInitialWeights(Model& model) {
  const torch::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> initial;
  for (const NamedTensor& named :
       ReadSafetensors(golden::Path("mlp.safetensors"))) {
    initial[named.name] = named.tensor;
  }
  for (const NamedTensor& parameter : model.Parameters()) {
    ASSERT_TRUE(initial.contains(parameter.name)) << parameter.name;
    parameter.tensor.copy_(initial[parameter.name]);
  }
}

// Names of per-parameter state, as Python's state_dict has them.
std::vector<std::string> StateNames(const Optimizer& optimizer) {
  std::vector<std::string> names;
  for (const NamedTensor& each : optimizer.State()) {
    if (each.name != "step") names.push_back(each.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(OptimizersTest, FiftyStepsAreThoseOfPython) {
  at::set_num_threads(1);
  const nlohmann::json cases = golden::Read("optimizers")["cases"];
  ASSERT_EQ(cases.size(), 20u);
  const at::Tensor inputs = golden::Fill({160, 16}, 1) * 4;
  const at::Tensor targets =
      ((golden::Fill({160}, 2) + 0.5) * 10).to(torch::kLong);
  const CrossEntropyLoss criterion({});
  for (const auto& [name, recorded] : cases.items()) {
    SCOPED_TRACE(name);
    const std::shared_ptr<Model> model = MakeModel();
    LoadInitialWeights(*model);
    const auto optimizer =
        golden::BuildOptimizer(recorded["job"], model->Parameters());
    const std::vector<double> losses = golden::Doubles(recorded["losses"]);
    ASSERT_EQ(losses.size(), 50u);
    for (int64_t step = 0; step < 50; ++step) {
      const int64_t first = step * 32 % 160;
      Batch batch{{"input", inputs.slice(0, first, first + 32)},
                  {"target", targets.slice(0, first, first + 32)}};
      optimizer->ZeroGrad();
      batch.Merge(model->Forward(batch));
      const at::Tensor loss = criterion.Compute(batch);
      loss.backward();
      optimizer->Step();
      EXPECT_NEAR(loss.item<double>(), losses[step], 1e-5 * losses[step])
          << "step " << step;
    }
    golden::ExpectSums(model->Parameters(), recorded["weights"], 1e-4);
    // Groups of other layouts have the same.
    if (recorded.contains("state")) {
      EXPECT_EQ(StateNames(*optimizer),
                recorded["state"].get<std::vector<std::string>>());
    }
  }
}

TEST(OptimizersTest, FiftyStepsWithAClosureAreThoseOfPython) {
  at::set_num_threads(1);
  const nlohmann::json cases = golden::Read("optimizers")["convex"];
  ASSERT_EQ(cases.size(), 2u);
  const at::Tensor inputs = (golden::Fill({160, 16}, 1) * 4).to(torch::kDouble);
  const at::Tensor targets =
      ((golden::Fill({160}, 2) + 0.5) * 10).to(torch::kLong);
  for (const auto& [name, recorded] : cases.items()) {
    SCOPED_TRACE(name);
    const at::Tensor weight =
        (golden::Fill({16, 10}, 4) * 4).to(torch::kDouble).requires_grad_();
    const auto optimizer =
        golden::BuildOptimizer(recorded["job"], {{"weight", weight}});
    const std::vector<double> losses = golden::Doubles(recorded["losses"]);
    ASSERT_EQ(losses.size(), 50u);
    EXPECT_LT(losses.back(), losses.front());
    for (const double expected : losses) {
      const at::Tensor loss = optimizer->Step([&] {
        optimizer->ZeroGrad();
        at::Tensor value =
            at::cross_entropy_loss(at::mm(inputs, weight), targets) +
            0.05 * weight.square().sum();
        value.backward();
        return value;
      });
      EXPECT_NEAR(loss.item<double>(), expected, 1e-9 * expected);
    }
    golden::ExpectSums({{"weight", weight}}, recorded["weights"], 1e-6);
  }
}

// torch.manual_seed(7) and the same layers give the recorded file.
TEST(OptimizersTest, SeedGivesPythonsInitialWeights) {
  torch::manual_seed(7);
  const std::shared_ptr<Model> model = MakeModel();
  std::map<std::string, at::Tensor> recorded;
  for (const NamedTensor& named :
       ReadSafetensors(golden::Path("mlp.safetensors"))) {
    recorded[named.name] = named.tensor;
  }
  ASSERT_EQ(model->Parameters().size(), recorded.size());
  for (const auto& [name, tensor] : model->Parameters()) {
    EXPECT_TRUE(torch::equal(tensor, recorded[name])) << name;
  }
}

}  // namespace
}  // namespace epochd::engine
