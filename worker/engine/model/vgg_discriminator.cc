// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/modules/batchnorm.h>

#include <algorithm>
#include <bit>

#include "worker/engine/core/error.h"
#include "worker/engine/model/declarations.h"
#include "worker/engine/model/discriminators.h"
#include "worker/engine/model/layers.h"

namespace epochd::engine {
namespace {

using torch::nn::BatchNorm2d;
using torch::nn::Conv2d;
using torch::nn::Linear;

class VggDiscriminatorModule : public Layer {
 public:
  explicit VggDiscriminatorModule(const VggDiscriminatorOptions& options)
      : size_(options.size) {
    int64_t channels = options.in_channels;
    // Down to 4x4.
    for (int64_t stage = 0; (size_ >> stage) > 4; ++stage) {
      const int64_t width = options.features
                            << std::min<int64_t>(stage, 3);  // up to 8 times
      const std::string name = std::to_string(stage);
      // The first convolution has a bias and no normalization.
      AddLayer(name + "_0",
               MakeConv2d(channels, width, 3, /*stride=*/1, stage == 0),
               stage > 0);
      AddLayer(name + "_1",
               MakeConv2d(width, width, 4, /*stride=*/2, /*bias=*/false), true);
      channels = width;
    }
    linear1_ = register_module("linear1", Linear(channels * 16, 100));
    linear2_ = register_module("linear2", Linear(100, 1));
  }

  at::Tensor Forward(const at::Tensor& input) override {
    if (input.dim() != 4 || input.size(2) != size_ || input.size(3) != size_) {
      throw Error(ErrorKind::kTraining,
                  "VGG discriminator: images of " + c10::str(input.sizes()) +
                      "; [B, C, " + std::to_string(size_) + ", " +
                      std::to_string(size_) + "] is accepted");
    }
    at::Tensor x = input;
    for (auto& [conv, norm] : layers_) {
      x = conv->forward(x);
      if (norm) x = norm->forward(x);
      x = at::leaky_relu_(x, 0.2);
    }
    x = linear1_->forward(x.flatten(1));
    return linear2_->forward(at::leaky_relu_(x, 0.2));
  }

 private:
  struct ConvNorm {
    Conv2d conv{nullptr};
    BatchNorm2d norm{nullptr};
  };

  void AddLayer(const std::string& name, const Conv2d& conv, bool has_norm) {
    ConvNorm layer;
    layer.conv = register_module("conv" + name, conv);
    if (has_norm) {
      layer.norm = register_module("bn" + name,
                                   BatchNorm2d(conv->options.out_channels()));
    }
    layers_.push_back(std::move(layer));
  }

  const int64_t size_;
  std::vector<ConvNorm> layers_;
  Linear linear1_{nullptr};
  Linear linear2_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeVggDiscriminator(
    const VggDiscriminatorOptions& options) {
  if (options.size < 32 || options.size > 256 ||
      !std::has_single_bit(static_cast<uint64_t>(options.size))) {
    throw Error(ErrorKind::kBadSpec, "size: " + std::to_string(options.size) +
                                         "; 32, 64, 128 and 256 are accepted");
  }
  return MakeModel(std::make_shared<VggDiscriminatorModule>(options),
                   options.fields);
}

Entry<Model> VggDiscriminatorEntry() {
  return {
      {.kind = "model",
       .name = "VGGDiscriminator",
       .aliases = {"VGGStyleDiscriminator", "vgg_discriminator"},
       .help = "basicsr's VGGStyleDiscriminator: images [B, C, size, size] "
               "to scores [B, 1]",
       .parameters = WithFields(
           {CountWithAliases("in_channels", 3, "channels of the images",
                             {"channels", "num_in_ch"}),
            CountWithAliases("features", 64, "channels behind the first layer",
                             {"num_feat"}),
            AmongNumbers(CountWithAliases("size", 128, "sides of the images",
                                          {"input_size"}),
                         {32, 64, 128, 256})})},
      [](const Params& params) {
        VggDiscriminatorOptions options;
        options.fields = FieldsFrom(params);
        options.in_channels = params.Int("in_channels");
        options.features = params.Int("features");
        options.size = params.Int("size");
        return MakeVggDiscriminator(options);
      }};
}

}  // namespace epochd::engine
