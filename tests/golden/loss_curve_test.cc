// SPDX-License-Identifier: Apache-2.0
//
// A fixed job (given initial weights, no shuffle) trains as it does in Python.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <functional>
#include <map>
#include <memory>

#include "tests/golden/golden.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/loss/cross_entropy.h"
#include "worker/engine/model/mlp.h"
#include "worker/engine/optim/adam.h"
#include "worker/engine/optim/sgd.h"

namespace epochd::engine {
namespace {

using Make =
    std::function<std::unique_ptr<Optimizer>(std::vector<NamedTensor>)>;

template <class T>
Make With(typename T::Options options) {
  return [options](std::vector<NamedTensor> parameters) {
    return std::make_unique<T>(std::move(parameters), options);
  };
}

std::map<std::string, Make> Optimizers() {
  return {
      {"sgd", With<Sgd>({.lr = 0.05})},
      {"sgd_nesterov", With<Sgd>({.lr = 0.05,
                                  .momentum = 0.9,
                                  .weight_decay = 1e-3,
                                  .nesterov = true})},
      {"sgd_dampening",
       With<Sgd>({.lr = 0.05, .momentum = 0.8, .dampening = 0.3})},
      {"adam", With<Adam>({.lr = 3e-3, .beta1 = 0.5, .weight_decay = 1e-2})},
      {"adamw",
       With<Adam>(
           {.lr = 3e-3, .weight_decay = 0.01, .decoupled_weight_decay = true})},
      {"adamw_amsgrad", With<Adam>({.lr = 3e-3,
                                    .weight_decay = 0.01,
                                    .amsgrad = true,
                                    .decoupled_weight_decay = true})},
  };
}

std::shared_ptr<Model> MakeModel() {
  MlpOptions options;
  options.in_features = 16;
  options.hidden = {32, 16};
  options.out_features = 10;
  return MakeMlp(options);
}

TEST(LossCurveTest, EqualsPythonsOverFiftySteps) {
  at::set_num_threads(1);
  const nlohmann::json curves = golden::Read("loss_curves");
  const std::map<std::string, Make> optimizers = Optimizers();
  ASSERT_EQ(curves.size(), optimizers.size());
  const at::Tensor inputs = golden::Fill({160, 16}, 1) * 4;
  const at::Tensor targets =
      ((golden::Fill({160}, 2) + 0.5) * 10).to(torch::kLong);
  const CrossEntropyLoss criterion({});
  for (const auto& [name, make] : optimizers) {
    SCOPED_TRACE(name);
    std::shared_ptr<Model> model = MakeModel();
    {
      const torch::NoGradGuard no_grad;
      std::map<std::string, at::Tensor> initial;
      for (const NamedTensor& named :
           ReadSafetensors(golden::Path("mlp.safetensors"))) {
        initial[named.name] = named.tensor;
      }
      for (const NamedTensor& parameter : model->Parameters()) {
        ASSERT_TRUE(initial.contains(parameter.name)) << parameter.name;
        parameter.tensor.copy_(initial[parameter.name]);
      }
    }
    const auto optimizer = make(model->Parameters());
    const std::vector<double> losses = golden::Doubles(curves[name]["losses"]);
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
    golden::ExpectSums(model->Parameters(), curves[name]["weights"], 1e-4);
  }
}

// torch.manual_seed(7) and the same layers give the recorded file.
TEST(LossCurveTest, SeedGivesPythonsInitialWeights) {
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
