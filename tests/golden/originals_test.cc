// SPDX-License-Identifier: Apache-2.0
//
// Models that are built by the parameters of their Python originals: names and
// order, initial weights of a seed, a state dict that Python saved, outputs,
// gradients and buffers (record_models.py).
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/golden/golden.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/model/torch_script.h"

namespace epochd::engine {
namespace {

// Keeps the order of names, which golden::Read() does not.
const nlohmann::ordered_json& Recorded() {
  static const nlohmann::ordered_json recorded = [] {
    std::ifstream file(golden::Path("models.json"));
    return nlohmann::ordered_json::parse(file, nullptr,
                                         /*allow_exceptions=*/false);
  }();
  return recorded;
}

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& [name, recorded] : Recorded().items()) names.push_back(name);
  return names;
}

std::vector<std::string> Keys(const nlohmann::ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

std::vector<std::string> Names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const NamedTensor& each : tensors) names.push_back(each.name);
  return names;
}

class OriginalsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(OriginalsTest, LoadsAStateDictOfPythonAndComputesTheSame) {
  const nlohmann::ordered_json& recorded = Recorded()[GetParam()];
  torch::manual_seed(7);
  const std::shared_ptr<Model> model = golden::BuildModel(recorded["job"]);
  EXPECT_EQ(Names(model->Parameters()), Keys(recorded["gradients"]));
  EXPECT_EQ(Names(model->Buffers()),
            recorded["buffers"].get<std::vector<std::string>>());
  if (recorded.contains("seeded")) {
    golden::ExpectSums(model->Parameters(), recorded["seeded"], 1e-6);
  }

  const LoadReport report = LoadModel(
      *model,
      ReadSafetensors(golden::Path("models/" + GetParam() + ".safetensors")));
  EXPECT_TRUE(report.fits());
  const at::Tensor input =
      golden::Fill(recorded["input"].get<std::vector<int64_t>>(), 30) + 0.5;
  model->SetTraining(false);
  {
    const torch::NoGradGuard no_grad;
    const at::Tensor output = model->Forward({{"input", input}}).At("output");
    EXPECT_EQ(output.sizes().vec(),
              recorded["shape"].get<std::vector<int64_t>>());
    golden::ExpectValues(output, recorded["evaluated"], 1e-5);
  }

  model->SetTraining(true);
  const at::Tensor output = model->Forward({{"input", input}}).At("output");
  golden::ExpectSums({{"output", output}}, recorded["trained"], 1e-5);
  output.square().mean().backward();
  double total = 0;
  for (const auto& [name, sums] : recorded["gradients"].items()) {
    total += sums[1].get<double>();
  }
  for (const auto& [name, tensor] : model->Parameters()) {
    ASSERT_TRUE(tensor.grad().defined()) << name;
    // Where normalization follows, a bias has no gradient but rounding.
    EXPECT_NEAR(tensor.grad().to(torch::kDouble).norm().item<double>(),
                std::sqrt(recorded["gradients"][name][1].get<double>()),
                1e-4 * std::sqrt(total))
        << name;
  }
  std::vector<NamedTensor> updated;
  for (const NamedTensor& each : model->Buffers()) {
    if (each.name.ends_with("num_batches_tracked")) {
      EXPECT_EQ(each.tensor.item<int64_t>(), 4) << each.name;
    } else {
      updated.push_back(each);
    }
  }
  golden::ExpectSums(updated, recorded["updated"], 1e-5);
}

TEST(TorchScriptGoldenTest, ComputesWhatPythonDoes) {
  const nlohmann::json recorded = golden::Read("models/script");
  const std::shared_ptr<Model> model =
      LoadTorchScript({.file = golden::Path("models/script.pt"),
                       .inputs = {"image", "age"},
                       .outputs = {"features", "logits"}});
  EXPECT_EQ(Names(model->Parameters()),
            recorded["parameters"].get<std::vector<std::string>>());
  EXPECT_EQ(Names(model->Buffers()),
            recorded["buffers"].get<std::vector<std::string>>());
  const Batch batch{{"image", golden::Fill({2, 3, 5, 6}, 30)},
                    {"age", golden::Fill({2, 1}, 31)}};
  model->SetTraining(false);
  const Batch result = model->Forward(batch);
  golden::ExpectValues(result.At("logits"), recorded["logits"], 1e-5);
  golden::ExpectValues(result.At("features"), recorded["features"], 1e-5);
  result.At("logits").square().mean().backward();
  golden::ExpectValues(model->Parameters()[0].tensor.grad(),
                       recorded["gradient"], 1e-4);
  // Dropout and normalization follow the mode.
  model->SetTraining(true);
  EXPECT_FALSE(model->Forward(batch).At("logits").equal(result.At("logits")));
  EXPECT_EQ(model->Buffers()[2].tensor.item<int64_t>(), 4);
}

INSTANTIATE_TEST_SUITE_P(Models, OriginalsTest,
                         ::testing::ValuesIn(CaseNames()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace epochd::engine
