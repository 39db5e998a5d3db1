// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/unet.h"

#include <torch/nn/modules/batchnorm.h>

#include "worker/engine/core/error.h"
#include "worker/engine/model/declarations.h"
#include "worker/engine/model/layers.h"

namespace epochd::engine {
namespace {

using torch::nn::ConvTranspose2d;

constexpr int kLevels = 4;

// Two convolutions with normalization, such as enc1conv1, enc1norm1, ...
std::shared_ptr<Sequence> MakeBlock(int64_t in, int64_t out,
                                    const std::string& name) {
  auto block = std::make_shared<Sequence>();
  for (const char* number : {"1", "2"}) {
    block->Add(name + "conv" + number,
               MakeConv2d(in, out, 3, /*stride=*/1, /*bias=*/false));
    block->Add(name + "norm" + number, torch::nn::BatchNorm2d(out));
    block->AddFunction(Relu());
    in = out;
  }
  return block;
}

class UNetModule : public Layer {
 public:
  explicit UNetModule(const UNetOptions& options)
      : has_sigmoid_(options.activation == "sigmoid") {
    int64_t channels = options.in_channels;
    int64_t width = options.features;
    for (int level = 1; level <= kLevels; ++level, width *= 2) {
      const std::string number = std::to_string(level);
      encoders_.push_back(register_module(
          "encoder" + number, MakeBlock(channels, width, "enc" + number)));
      channels = width;
    }
    bottleneck_ =
        register_module("bottleneck", MakeBlock(channels, width, "bottleneck"));
    for (int level = kLevels; level >= 1; --level) {
      const std::string number = std::to_string(level);
      const int64_t half = width / 2;
      upconvs_.push_back(register_module(
          "upconv" + number,
          ConvTranspose2d(
              torch::nn::ConvTranspose2dOptions(width, half, 2).stride(2))));
      decoders_.push_back(register_module(
          "decoder" + number, MakeBlock(width, half, "dec" + number)));
      width = half;
    }
    conv_ = register_module("conv", MakeConv2d(width, options.out_channels, 1));
  }

  at::Tensor Forward(const at::Tensor& input) override {
    RequireSides(input, 1 << kLevels, "UNet");
    std::vector<at::Tensor> skipped;
    at::Tensor x = input;
    for (const auto& encoder : encoders_) {
      skipped.push_back(encoder->Forward(x));
      x = at::max_pool2d(skipped.back(), {2, 2}, {2, 2});
    }
    x = bottleneck_->Forward(x);
    for (int i = 0; i < kLevels; ++i) {
      x = at::cat({upconvs_[i]->forward(x), skipped[kLevels - 1 - i]}, 1);
      x = decoders_[i]->Forward(x);
    }
    x = conv_->forward(x);
    return has_sigmoid_ ? x.sigmoid_() : x;
  }

 private:
  const bool has_sigmoid_;
  std::vector<std::shared_ptr<Sequence>> encoders_;
  std::shared_ptr<Sequence> bottleneck_;
  std::vector<ConvTranspose2d> upconvs_;  // from the deepest on
  std::vector<std::shared_ptr<Sequence>> decoders_;
  torch::nn::Conv2d conv_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeUNet(const UNetOptions& options) {
  if (options.activation != "sigmoid" && options.activation != "none") {
    throw Error(ErrorKind::kBadSpec, "activation: unknown \"" +
                                         options.activation +
                                         "\"; sigmoid, none are accepted");
  }
  return MakeModel(std::make_shared<UNetModule>(options), options.fields);
}

Entry<Model> UNetEntry() {
  return {{.kind = "model",
           .name = "UNet",
           .aliases = {"unet"},
           .help = "U-Net with the parameter names of torch.hub's "
                   "mateuszbuda/brain-segmentation-pytorch; images [B, C, H, "
                   "W] with sides that are multiples of 16",
           .parameters = WithFields(
               {ChannelsParameter("in_channels"),
                CountParameter("out_channels", 1, "channels of the output"),
                CountWithAliases("features", 32, "channels at full size",
                                 {"init_features"}),
                {.name = "activation",
                 .type = "string",
                 .default_value = "sigmoid",
                 .choices = {"sigmoid", "none"},
                 .help = "function behind the last layer; none for losses "
                         "that take logits"}})},
          [](const Params& params) {
            UNetOptions options;
            options.fields = FieldsFrom(params);
            options.in_channels = params.Int("in_channels");
            options.out_channels = params.Int("out_channels");
            options.features = params.Int("features");
            options.activation = params.String("activation");
            return MakeUNet(options);
          }};
}

}  // namespace epochd::engine
