// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>

#include <algorithm>

#include "worker/engine/core/error.h"
#include "worker/engine/model/declarations.h"
#include "worker/engine/model/discriminators.h"
#include "worker/engine/model/layers.h"

namespace epochd::engine {
namespace {

class PatchGanModule : public Layer {
 public:
  explicit PatchGanModule(const PatchGanOptions& options)
      : norm_(options.norm) {
    model_ = std::make_shared<Sequence>();
    AddConv(options.in_channels, options.features, /*stride=*/2, true);
    model_->AddFunction(LeakyRelu(0.2));
    int64_t channels = options.features;
    for (int64_t layer = 1; layer <= options.layers; ++layer) {
      const int64_t next = options.features
                           << std::min<int64_t>(layer, 3);  // up to 8 times
      // Instance normalization has no bias of its own.
      AddConv(channels, next, layer < options.layers ? 2 : 1,
              norm_ == "instance");
      AddNorm(next);
      model_->AddFunction(LeakyRelu(0.2));
      channels = next;
    }
    AddConv(channels, 1, /*stride=*/1, true);
    register_module("model", model_);
    Initialize();
  }

  at::Tensor Forward(const at::Tensor& x) override {
    return model_->Forward(x);
  }

 private:
  void AddConv(int64_t in, int64_t out, int64_t stride, bool bias) {
    model_->Add(MakeConv2d(in, out, 4, stride, bias));
  }

  void AddNorm(int64_t channels) {
    if (norm_ == "batch") {
      model_->Add(torch::nn::BatchNorm2d(channels));
    } else if (norm_ == "instance") {
      model_->AddFunction([](const at::Tensor& x) {
        return at::instance_norm(x, {}, {}, {}, {}, /*use_input_stats=*/true,
                                 /*momentum=*/0.1, /*eps=*/1e-5,
                                 /*cudnn_enabled=*/true);
      });
    } else {
      model_->AddFunction([](at::Tensor x) { return x; });
    }
  }

  // pix2pix draws again once all is built (its init_net, "normal").
  void Initialize() {
    for (const auto& module : model_->children()) {
      if (auto* conv = module->as<torch::nn::Conv2dImpl>()) {
        torch::nn::init::normal_(conv->weight, 0.0, 0.02);
        if (conv->bias.defined()) torch::nn::init::zeros_(conv->bias);
      } else if (auto* norm = module->as<torch::nn::BatchNorm2dImpl>()) {
        torch::nn::init::normal_(norm->weight, 1.0, 0.02);
        torch::nn::init::zeros_(norm->bias);
      }
    }
  }

  const std::string norm_;
  std::shared_ptr<Sequence> model_;
};

}  // namespace

std::shared_ptr<Model> MakePatchGan(const PatchGanOptions& options) {
  if (options.norm != "batch" && options.norm != "instance" &&
      options.norm != "none") {
    throw Error(ErrorKind::kBadSpec, "norm: unknown \"" + options.norm +
                                         "\"; batch, instance, none are "
                                         "accepted");
  }
  return MakeModel(std::make_shared<PatchGanModule>(options), options.fields);
}

Entry<Model> PatchGanEntry() {
  return {{.kind = "model",
           .name = "PatchGAN",
           .aliases = {"NLayerDiscriminator", "patch_gan"},
           .help = "pix2pix's NLayerDiscriminator: images [B, C, H, W] to a "
                   "score for each patch",
           .parameters = WithFields(
               {CountWithAliases("in_channels", 3, "channels of the images",
                                 {"channels", "input_nc"}),
                CountWithAliases("features", 64,
                                 "channels behind the first layer", {"ndf"}),
                {.name = "layers",
                 .type = "int",
                 .default_value = 3,
                 .min = 1,
                 .max = 8,
                 .aliases = {"n_layers"},
                 .help = "layers between the first and the last; each but "
                         "one halves"},
                {.name = "norm",
                 .type = "string",
                 .default_value = "batch",
                 .choices = {"batch", "instance", "none"},
                 .help = "normalization"}})},
          [](const Params& params) {
            PatchGanOptions options;
            options.fields = FieldsFrom(params);
            options.in_channels = params.Int("in_channels");
            options.features = params.Int("features");
            options.layers = params.Int("layers");
            options.norm = params.String("norm");
            return MakePatchGan(options);
          }};
}

}  // namespace epochd::engine
