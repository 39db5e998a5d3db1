// SPDX-License-Identifier: Apache-2.0
//
// ResNets are torchvision's and the DCGAN pair is its Python original: names,
// initial weights of a seed, outputs and gradients.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

#include "tests/golden/golden.h"
#include "worker/engine/loss/cross_entropy.h"
#include "worker/engine/model/dcgan.h"
#include "worker/engine/model/resnet.h"

namespace epochd::engine {
namespace {

std::vector<std::string> Names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const NamedTensor& named : tensors) names.push_back(named.name);
  return names;
}

class ResNetGoldenTest : public ::testing::TestWithParam<int64_t> {};

TEST_P(ResNetGoldenTest, IsTorchvisions) {
  const nlohmann::json recorded =
      golden::Read("resnets")[std::to_string(GetParam())];
  ResNetOptions options;
  options.depth = GetParam();
  options.num_classes = 10;
  torch::manual_seed(3);
  const std::shared_ptr<Model> model = MakeResNet(options);
  EXPECT_EQ(Names(model->Parameters()),
            recorded["parameters"].get<std::vector<std::string>>());
  EXPECT_EQ(Names(model->Buffers()),
            recorded["buffers"].get<std::vector<std::string>>());
  golden::ExpectSums(model->Parameters(), recorded["seeded"], 1e-9);

  golden::FillModel(*model);
  Batch batch{{"input", golden::Fill({4, 3, 64, 64}, 20) * 2},
              {"target", torch::tensor({1, 3, 5, 7})}};
  model->SetTraining(false);
  {
    const torch::NoGradGuard no_grad;
    golden::ExpectValues(model->Forward(batch).At("output"),
                         recorded["evaluated"], 1e-4);
  }
  if (!recorded.contains("loss")) return;
  model->SetTraining(true);
  batch.Merge(model->Forward(batch));
  const at::Tensor loss = CrossEntropyLoss({}).Compute(batch);
  loss.backward();
  const double expected = recorded["loss"].get<double>();
  EXPECT_NEAR(loss.item<double>(), expected, 1e-4 * expected);
  for (const auto& [name, tensor] : model->Buffers()) {
    if (name != "bn1.running_mean") continue;
    golden::ExpectSums({{"bn1", tensor}}, recorded["running_mean"], 1e-5);
  }
  size_t compared = 0;
  for (const auto& [name, tensor] : model->Parameters()) {
    if (!recorded["gradients"].contains(name)) continue;
    const double norm = recorded["gradients"][name].get<double>();
    EXPECT_NEAR(tensor.grad().to(torch::kDouble).norm().item<double>(), norm,
                5e-3 * norm)
        << name;
    ++compared;
  }
  EXPECT_EQ(compared, recorded["gradients"].size());
}

INSTANTIATE_TEST_SUITE_P(Depths, ResNetGoldenTest,
                         ::testing::Values(18, 34, 50));

class DcGanGoldenTest : public ::testing::TestWithParam<int64_t> {};

TEST_P(DcGanGoldenTest, IsThePythonOriginal) {
  const nlohmann::json recorded =
      golden::Read("gans")[std::to_string(GetParam())];
  DcGeneratorOptions generator_options;
  generator_options.latent = 6;
  generator_options.channels = 2;
  generator_options.size = GetParam();
  generator_options.width = 8;
  DcDiscriminatorOptions discriminator_options;
  discriminator_options.channels = 2;
  discriminator_options.size = GetParam();
  discriminator_options.width = 8;
  torch::manual_seed(5);
  const std::shared_ptr<Model> generator = MakeDcGenerator(generator_options);
  const std::shared_ptr<Model> discriminator =
      MakeDcDiscriminator(discriminator_options);
  golden::ExpectSums(generator->Parameters(), recorded["seeded"][0], 1e-9);
  golden::ExpectSums(discriminator->Parameters(), recorded["seeded"][1], 1e-9);

  golden::FillModel(*generator);
  golden::FillModel(*discriminator);
  const at::Tensor fakes =
      generator->Forward({{"noise", golden::Fill({5, 6}, 30) * 3}})
          .At("output");
  const at::Tensor scores =
      discriminator->Forward({{"input", fakes}}).At("output");
  golden::ExpectValues(fakes[0][0], recorded["fakes"], 1e-4);
  golden::ExpectValues(scores, recorded["scores"], 1e-4);
  scores.sum().backward();
  std::vector<NamedTensor> gradients;
  for (const auto& [name, tensor] : generator->Parameters()) {
    gradients.push_back({name, tensor.grad()});
  }
  golden::ExpectSums(gradients, recorded["gradients"], 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Sizes, DcGanGoldenTest, ::testing::Values(8, 32));

}  // namespace
}  // namespace epochd::engine
