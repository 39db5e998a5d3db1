// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/builtin.h"

#include <memory>
#include <string>
#include <utility>

#include "worker/engine/model/bicubic.h"
#include "worker/engine/model/dcgan.h"
#include "worker/engine/model/declarations.h"
#include "worker/engine/model/discriminators.h"
#include "worker/engine/model/ecg_crnn.h"
#include "worker/engine/model/edsr.h"
#include "worker/engine/model/gan_model.h"
#include "worker/engine/model/mlp.h"
#include "worker/engine/model/resnet.h"
#include "worker/engine/model/resnet1d.h"
#include "worker/engine/model/rrdbnet.h"
#include "worker/engine/model/srresnet.h"
#include "worker/engine/model/torch_script.h"
#include "worker/engine/model/unet.h"
#include "worker/engine/model/vit.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Parameter;

// ---- MLP
// ---------------------------------------------------------------------

Component MlpComponent() {
  return {.kind = "model",
          .name = "MLP",
          .aliases = {"mlp"},
          .help =
              "multi-layer perceptron; parameters are net.0.weight, ... as "
              "in an nn.Sequential called net",
          .parameters = {
              {.name = "in_features",
               .type = "int",
               .required = true,
               .min = 1,
               .help = "values of a sample"},
              {.name = "hidden",
               .type = "list<int>",
               .default_value = catalogue::Json::array(),
               .min = 1,
               .aliases = {"hidden_features"},
               .scalar_ok = true,
               .help = "widths of the hidden layers"},
              {.name = "out_features",
               .type = "int",
               .required = true,
               .min = 1,
               .aliases = {"num_classes"},
               .help = "values of the output"},
              {.name = "activation",
               .type = "string",
               .default_value = "relu",
               .choices = MlpActivations(),
               .help = "function behind each hidden layer"},
              {.name = "dropout",
               .type = "float",
               .default_value = 0.0,
               .min = 0,
               .max = 1,
               .help = "probability of dropping a value of a hidden layer"},
              {.name = "flatten",
               .type = "bool",
               .default_value = true,
               .help = "take samples of any shape as one list of values"},
              TextParameter("input", "input", "field to read"),
              TextParameter("output", "output", "field to return")}};
}

// Of one layer: 256 GiB. Without a limit memory is filled first.
constexpr double kMaxWeights = 68719476736;

std::shared_ptr<Model> BuildMlp(const Params& params) {
  MlpOptions options;
  options.fields = FieldsFrom(params);
  options.in_features = params.Int("in_features");
  options.hidden = params.Ints("hidden");
  options.out_features = params.Int("out_features");
  options.activation = params.String("activation");
  options.dropout = params.Float("dropout");
  options.flatten = params.Bool("flatten");
  auto inputs = static_cast<double>(options.in_features);
  for (const int64_t width : options.hidden) {
    const auto outputs = static_cast<double>(width);
    if (inputs * outputs > kMaxWeights) {
      params.Fail("hidden", std::to_string(width) + " makes a layer of " +
                                nlohmann::json(inputs * outputs).dump() +
                                " weights; up to " +
                                nlohmann::json(kMaxWeights).dump() +
                                " are accepted");
    }
    inputs = outputs;
  }
  return MakeMlp(options);
}

// ---- ResNet
// ------------------------------------------------------------------

Component ResNetComponent() {
  return {.kind = "model",
          .name = "ResNet",
          .aliases = {"resnet"},
          .help =
              "ResNet with torchvision's parameter names; reads images "
              "[B, C, H, W]",
          .parameters = {
              {.name = "depth",
               .type = "int",
               .default_value = 18,
               .numbers = {18, 34, 50},
               .help = "layers"},
              ChannelsParameter("in_channels"),
              CountParameter("num_classes", 1000, "values of the output"),
              {.name = "small_image_stem",
               .type = "bool",
               .default_value = false,
               .help = "for images of about 32 pixels: a 3x3 convolution with "
                       "stride 1 first, and no max pooling"},
              TextParameter("input", "input", "field to read"),
              TextParameter("output", "output", "field to return")}};
}

std::shared_ptr<Model> BuildResNet(const Params& params) {
  ResNetOptions options;
  options.fields = FieldsFrom(params);
  options.depth = params.Int("depth");
  options.in_channels = params.Int("in_channels");
  options.num_classes = params.Int("num_classes");
  options.small_image_stem = params.Bool("small_image_stem");
  return MakeResNet(options);
}

// ---- GAN
// ---------------------------------------------------------------------

Parameter ImageSize() {
  return {.name = "size",
          .type = "int",
          .default_value = 32,
          .numbers = {8, 16, 32, 64, 128, 256, 512, 1024},
          .help = "side of the images"};
}

Component DcGeneratorComponent() {
  return {.kind = "model",
          .name = "DcGenerator",
          .aliases = {"DCGANGenerator", "dc_generator"},
          .help =
              "DCGAN generator: noise [B, latent] to images [B, C, H, W]; "
              "parameters are main.0.weight, ...",
          .parameters = {
              {.name = "latent",
               .type = "int",
               .default_value = 64,
               .min = 1,
               .aliases = {"latent_dim", "nz"},
               .help = "values of the noise"},
              ChannelsParameter("channels"),
              ImageSize(),
              CountParameter("width", 64, "channels before the last layer"),
              {.name = "activation",
               .type = "string",
               .default_value = "tanh",
               .choices = {"tanh", "sigmoid", "none"},
               .help = "function behind the last layer"},
              TextParameter("input", "noise",
                            "field to read noise from, if it is there"),
              TextParameter("output", "output", "field to return")}};
}

std::shared_ptr<Model> BuildDcGenerator(const Params& params) {
  DcGeneratorOptions options;
  options.fields = FieldsFrom(params);
  options.latent = params.Int("latent");
  options.channels = params.Int("channels");
  options.size = params.Int("size");
  options.width = params.Int("width");
  options.activation = params.String("activation");
  return MakeDcGenerator(options);
}

Component DcDiscriminatorComponent() {
  return {.kind = "model",
          .name = "DcDiscriminator",
          .aliases = {"DCGANDiscriminator", "dc_discriminator"},
          .help =
              "DCGAN discriminator: images [B, C, H, W] to scores [B]; "
              "parameters are main.0.weight, ...",
          .parameters = {
              ChannelsParameter("channels"), ImageSize(),
              CountParameter("width", 64, "channels behind the first layer"),
              TextParameter("input", "input", "field to read"),
              TextParameter("output", "output", "field to return")}};
}

std::shared_ptr<Model> BuildDcDiscriminator(const Params& params) {
  DcDiscriminatorOptions options;
  options.fields = FieldsFrom(params);
  options.channels = params.Int("channels");
  options.size = params.Int("size");
  options.width = params.Int("width");
  return MakeDcDiscriminator(options);
}

Component GanModelComponent() {
  return {.kind = "model",
          .name = "GanModel",
          .aliases = {"GANModel"},
          .help = "a generator and a discriminator; for GanTrainingRunner",
          .parameters = {{.name = "generator",
                          .type = "component<model>",
                          .required = true,
                          .aliases = {"G"},
                          .help = "makes fake samples"},
                         {.name = "discriminator",
                          .type = "component<model>",
                          .required = true,
                          .aliases = {"D"},
                          .help = "scores samples"},
                         {.name = "real",
                          .type = "string",
                          .default_value = "input",
                          .aliases = {"real_field"},
                          .help = "field of the data set with real samples"},
                         TextParameter("generator_output", "output",
                                       "generator's field with fakes"),
                         TextParameter(
                             "discriminator_input", "input",
                             "field in which the discriminator reads samples"),
                         TextParameter("discriminator_output", "output",
                                       "discriminator's field with scores")},
          .role = "GAN"};
}

std::shared_ptr<Model> BuildGanModel(const Params& params) {
  GanModel::Options options;
  options.real = params.String("real");
  options.generator_output = params.String("generator_output");
  options.discriminator_input = params.String("discriminator_input");
  options.discriminator_output = params.String("discriminator_output");
  auto generator = params.Make<Model>("generator");
  auto discriminator = params.Make<Model>("discriminator");
  return std::make_shared<GanModel>(std::move(generator),
                                    std::move(discriminator), options);
}

}  // namespace

std::vector<Entry<Model>> BuiltinModels() {
  return {{MlpComponent(), &BuildMlp},
          {ResNetComponent(), &BuildResNet},
          {DcGeneratorComponent(), &BuildDcGenerator},
          {DcDiscriminatorComponent(), &BuildDcDiscriminator},
          {GanModelComponent(), &BuildGanModel},
          UNetEntry(),
          EdsrEntry(),
          SrResNetEntry(),
          RrdbNetEntry(),
          BicubicEntry(),
          PatchGanEntry(),
          VggDiscriminatorEntry(),
          UNetDiscriminatorEntry(),
          ResNet1dEntry(),
          EcgCrnnEntry(),
          VitEntry(),
          TorchScriptEntry()};
}

}  // namespace epochd::engine
