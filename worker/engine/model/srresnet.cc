// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/srresnet.h"

#include "worker/engine/core/error.h"
#include "worker/engine/model/declarations.h"
#include "worker/engine/model/residual_blocks.h"

namespace epochd::engine {
namespace {

using torch::nn::Conv2d;

class SrResNetModule : public Layer {
 public:
  explicit SrResNetModule(const SrResNetOptions& options)
      : upscale_(options.upscale), shuffle_(upscale_ == 4 ? 2 : upscale_) {
    const int64_t features = options.features;
    const int64_t wide = features * shuffle_ * shuffle_;
    conv_first_ = register_module("conv_first",
                                  MakeConv2d(options.in_channels, features, 3));
    body_ = std::make_shared<Sequence>();
    for (int64_t i = 0; i < options.blocks; ++i) {
      body_->Add(std::make_shared<ResidualBlock>(features, /*res_scale=*/1.0,
                                                 /*scaled_init=*/true));
    }
    register_module("body", body_);
    upconvs_.push_back(
        register_module("upconv1", MakeConv2d(features, wide, 3)));
    if (upscale_ == 4) {
      upconvs_.push_back(
          register_module("upconv2", MakeConv2d(features, wide, 3)));
    }
    conv_hr_ = register_module("conv_hr", MakeConv2d(features, features, 3));
    conv_last_ = register_module("conv_last",
                                 MakeConv2d(features, options.out_channels, 3));
    for (Conv2d conv : {conv_first_, upconvs_.front(), conv_hr_, conv_last_}) {
      ScaleInitialWeights(*conv, 0.1);
    }
    if (upscale_ == 4) ScaleInitialWeights(*upconvs_.back(), 0.1);
  }

  at::Tensor Forward(const at::Tensor& input) override {
    at::Tensor x = body_->Forward(Rectify(conv_first_->forward(input)));
    for (Conv2d& upconv : upconvs_) {
      x = Rectify(at::pixel_shuffle(upconv->forward(x), shuffle_));
    }
    x = conv_last_->forward(Rectify(conv_hr_->forward(x)));
    const auto scale = static_cast<double>(upscale_);
    return x.add_(at::upsample_bilinear2d(
        input, {input.size(2) * upscale_, input.size(3) * upscale_},
        /*align_corners=*/false, scale, scale));
  }

 private:
  static at::Tensor Rectify(at::Tensor x) { return at::leaky_relu_(x, 0.1); }

  const int64_t upscale_;
  const int64_t shuffle_;
  Conv2d conv_first_{nullptr};
  std::shared_ptr<Sequence> body_;
  std::vector<Conv2d> upconvs_;
  Conv2d conv_hr_{nullptr};
  Conv2d conv_last_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeSrResNet(const SrResNetOptions& options) {
  CheckUpscale(options.upscale, 4);
  return MakeModel(std::make_shared<SrResNetModule>(options), options.fields);
}

Entry<Model> SrResNetEntry() {
  return {{.kind = "model",
           .name = "SRResNet",
           .aliases = {"MSRResNet", "srresnet"},
           .help = "SRResNet without normalization, with the parameter names "
                   "of basicsr's MSRResNet; images [B, C, H, W] to images "
                   "upscale times as large",
           .parameters = EnlargingParameters(16, {2, 3, 4})},
          [](const Params& params) {
            return MakeSrResNet(ReadEnlarging<SrResNetOptions>(params));
          }};
}

}  // namespace epochd::engine
