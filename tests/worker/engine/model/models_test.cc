// SPDX-License-Identifier: Apache-2.0
// Values are compared with Python's in tests/golden; here is what is ours.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include "worker/engine/core/error.h"
#include "worker/engine/model/builtin.h"
#include "worker/engine/model/dcgan.h"
#include "worker/engine/model/gan_model.h"
#include "worker/engine/model/mlp.h"
#include "worker/engine/model/resnet.h"

namespace epochd::engine {
namespace {

std::vector<std::string> Names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const NamedTensor& named : tensors) names.push_back(named.name);
  return names;
}

MlpOptions SmallMlp() {
  MlpOptions options;
  options.in_features = 6;
  options.hidden = {5, 4};
  options.out_features = 3;
  return options;
}

TEST(MlpTest, NamesCountTheLayersWithoutParametersToo) {
  MlpOptions options = SmallMlp();
  EXPECT_EQ(
      Names(MakeMlp(options)->Parameters()),
      (std::vector<std::string>{"net.0.weight", "net.0.bias", "net.2.weight",
                                "net.2.bias", "net.4.weight", "net.4.bias"}));
  options.dropout = 0.5;
  EXPECT_EQ(Names(MakeMlp(options)->Parameters())[4], "net.6.weight");
}

TEST(MlpTest, TakesSamplesOfAnyShapeAndItsFieldNames) {
  MlpOptions options = SmallMlp();
  options.fields = {.input = "image", .output = "logits"};
  const auto model = MakeMlp(options);
  const at::Tensor flat = torch::randn({2, 6});
  const at::Tensor shaped = flat.reshape({2, 1, 2, 3});
  const at::Tensor expected = model->Forward({{"image", flat}}).At("logits");
  EXPECT_EQ(expected.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_TRUE(
      torch::equal(model->Forward({{"image", shaped}}).At("logits"), expected));
  EXPECT_THROW(model->Forward({{"input", flat}}), Error);
}

TEST(MlpTest, WithoutFlattenLayersWorkOnTheLastDimension) {
  MlpOptions options = SmallMlp();
  options.flatten = false;
  const Batch output =
      MakeMlp(options)->Forward({{"input", torch::zeros({2, 7, 6})}});
  EXPECT_EQ(output.At("output").sizes(), at::IntArrayRef({2, 7, 3}));
}

TEST(MlpTest, DropsOutInTrainingOnly) {
  MlpOptions options = SmallMlp();
  options.hidden = {64};
  options.dropout = 0.5;
  const auto model = MakeMlp(options);
  const Batch batch{{"input", torch::ones({2, 6})}};
  const auto run = [&] { return model->Forward(batch).At("output"); };
  model->SetTraining(true);
  EXPECT_FALSE(torch::equal(run(), run()));
  model->SetTraining(false);
  EXPECT_TRUE(torch::equal(run(), run()));
}

TEST(MlpTest, EveryActivationHasAGradient) {
  for (const std::string& name : MlpActivations()) {
    MlpOptions options = SmallMlp();
    options.activation = name;
    const auto model = MakeMlp(options);
    model->Forward({{"input", torch::randn({8, 6})}})
        .At("output")
        .square()
        .sum()
        .backward();
    EXPECT_GT(model->Parameters()[0].tensor.grad().abs().sum().item<float>(), 0)
        << name;
  }
  MlpOptions options = SmallMlp();
  options.activation = "rleu";
  EXPECT_THROW(MakeMlp(options), Error);
}

TEST(ResNetTest, SmallImageStemKeepsTheResolution) {
  ResNetOptions options;
  options.in_channels = 1;
  options.num_classes = 10;
  options.small_image_stem = true;
  const auto model = MakeResNet(options);
  EXPECT_EQ(model->Parameters()[0].tensor.sizes(),
            at::IntArrayRef({64, 1, 3, 3}));
  const torch::NoGradGuard no_grad;
  EXPECT_EQ(model->Forward({{"input", torch::zeros({2, 1, 8, 8})}})
                .At("output")
                .sizes(),
            at::IntArrayRef({2, 10}));
}

TEST(ResNetTest, RefusesAnotherDepth) {
  ResNetOptions options;
  options.depth = 20;
  try {
    MakeResNet(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "depth: 20; 18, 34 and 50 are accepted");
  }
}

TEST(DcGanTest, RefusesASizeThatIsNoPowerOfTwo) {
  for (const int64_t size : {0, 4, 12, 31}) {
    DcGeneratorOptions generator;
    generator.size = size;
    EXPECT_THROW(MakeDcGenerator(generator), Error) << size;
    DcDiscriminatorOptions discriminator;
    discriminator.size = size;
    EXPECT_THROW(MakeDcDiscriminator(discriminator), Error) << size;
  }
}

std::shared_ptr<Model> SmallGenerator() {
  DcGeneratorOptions options;
  options.latent = 4;
  options.channels = 1;
  options.size = 8;
  options.width = 4;
  return MakeDcGenerator(options);
}

std::shared_ptr<Model> SmallDiscriminator() {
  DcDiscriminatorOptions options;
  options.channels = 1;
  options.size = 8;
  options.width = 4;
  return MakeDcDiscriminator(options);
}

TEST(GanModelTest, GeneratesAsManyAsAreAskedFor) {
  GanModel model(SmallGenerator(), SmallDiscriminator(), {});
  const Batch real{{"input", torch::zeros({3, 64})}};
  EXPECT_EQ(model.Generate(real, 5).sizes(), at::IntArrayRef({5, 1, 8, 8}));
  EXPECT_EQ(model.Forward(real).At("fake").sizes(),
            at::IntArrayRef({3, 1, 8, 8}));
}

TEST(GanModelTest, NoiseComesFromTheDefaultGenerator) {
  GanModel model(SmallGenerator(), SmallDiscriminator(), {});
  model.SetTraining(false);
  torch::manual_seed(1);
  const at::Tensor first = model.Generate({}, 2);
  const at::Tensor second = model.Generate({}, 2);
  torch::manual_seed(1);
  EXPECT_TRUE(torch::equal(model.Generate({}, 2), first));
  EXPECT_FALSE(torch::equal(first, second));
}

TEST(GanModelTest, ScoresFlatImagesAsSquareOnes) {
  GanModel model(SmallGenerator(), SmallDiscriminator(), {});
  const at::Tensor images = torch::randn({3, 1, 8, 8});
  const at::Tensor scores = model.Discriminate(images);
  EXPECT_EQ(scores.sizes(), at::IntArrayRef({3}));
  EXPECT_TRUE(torch::equal(model.Discriminate(images.flatten(1)), scores));
}

// R1 needs the gradient of a gradient through every layer.
TEST(GanModelTest, DiscriminatorIsTwiceDifferentiable) {
  GanModel model(SmallGenerator(), SmallDiscriminator(), {});
  const at::Tensor real = torch::randn({3, 1, 8, 8}).requires_grad_();
  const at::Tensor gradient =
      torch::autograd::grad({model.Discriminate(real).sum()}, {real}, {},
                            /*retain_graph=*/true, /*create_graph=*/true)[0];
  gradient.square().mean().backward();
  EXPECT_GT(model.discriminator()
                .Parameters()[0]
                .tensor.grad()
                .abs()
                .sum()
                .item<float>(),
            0);
}

TEST(GanModelTest, NamesTellThePartsApart) {
  GanModel model(SmallGenerator(), SmallDiscriminator(), {});
  const std::vector<std::string> names = Names(model.Parameters());
  EXPECT_EQ(names.front(), "generator.main.0.weight");
  EXPECT_EQ(names.back(), "discriminator.main.2.weight");
  EXPECT_EQ(Names(model.Buffers()).front(), "generator.main.1.running_mean");
}

TEST(GanModelTest, AGeneratorWithoutNoiseReadsTheBatch) {
  GanModel model(MakeMlp(SmallMlp()), SmallDiscriminator(), {});
  const Batch batch{{"input", torch::zeros({2, 6})}};
  EXPECT_EQ(model.Forward(batch).At("fake").sizes(), at::IntArrayRef({2, 3}));
  EXPECT_THROW(model.Generate(batch, 3), Error);
}

TEST(BuiltinModelsTest, DeclareWhatTheyRequire) {
  catalogue::Catalogue catalogue;
  for (const Entry<Model>& entry : BuiltinModels()) {
    catalogue.components.push_back(entry.component);
  }
  // Reads back, so every type is spelt right.
  EXPECT_EQ(catalogue::FromJson(catalogue::ToJson(catalogue)).components.size(),
            BuiltinModels().size());
  EXPECT_NE(catalogue.Find("model", "srforge.models.GANModel"), nullptr);
}

}  // namespace
}  // namespace epochd::engine
