// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/edsr.h"

#include "worker/engine/core/error.h"
#include "worker/engine/model/declarations.h"
#include "worker/engine/model/residual_blocks.h"

namespace epochd::engine {
namespace {

class EdsrModule : public Layer {
 public:
  explicit EdsrModule(const EdsrOptions& options)
      : image_range_(options.image_range),
        mean_(at::tensor(options.mean, at::kFloat).view({1, -1, 1, 1})) {
    const int64_t features = options.features;
    conv_first_ = register_module("conv_first",
                                  MakeConv2d(options.in_channels, features, 3));
    body_ = std::make_shared<Sequence>();
    for (int64_t i = 0; i < options.blocks; ++i) {
      body_->Add(std::make_shared<ResidualBlock>(features, options.res_scale,
                                                 /*scaled_init=*/false));
    }
    register_module("body", body_);
    conv_after_body_ =
        register_module("conv_after_body", MakeConv2d(features, features, 3));
    upsample_ =
        register_module("upsample", MakeUpsample(options.upscale, features));
    conv_last_ = register_module("conv_last",
                                 MakeConv2d(features, options.out_channels, 3));
  }

  at::Tensor Forward(const at::Tensor& input) override {
    // No buffer of the original's, so it does not move with the module.
    if (mean_.options().type_equal(input.options()) == false ||
        mean_.device() != input.device()) {
      mean_ = mean_.to(input.options());
    }
    const at::Tensor x = conv_first_->forward((input - mean_) * image_range_);
    const at::Tensor deep =
        conv_after_body_->forward(body_->Forward(x)).add_(x);
    return conv_last_->forward(upsample_->Forward(deep)) / image_range_ + mean_;
  }

 private:
  const double image_range_;
  at::Tensor mean_;
  torch::nn::Conv2d conv_first_{nullptr};
  std::shared_ptr<Sequence> body_;
  torch::nn::Conv2d conv_after_body_{nullptr};
  std::shared_ptr<Sequence> upsample_;
  torch::nn::Conv2d conv_last_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeEdsr(const EdsrOptions& options) {
  CheckUpscale(options.upscale, 8);
  const auto means = static_cast<int64_t>(options.mean.size());
  if (means != 1 &&
      (means != options.in_channels || means != options.out_channels)) {
    throw Error(ErrorKind::kBadSpec,
                "mean: " + std::to_string(means) + " values for " +
                    std::to_string(options.in_channels) + " and " +
                    std::to_string(options.out_channels) +
                    " channels; one, or one for each channel, is accepted");
  }
  return MakeModel(std::make_shared<EdsrModule>(options), options.fields);
}

Entry<Model> EdsrEntry() {
  return {{.kind = "model",
           .name = "EDSR",
           .aliases = {"edsr"},
           .help = "EDSR with basicsr's parameter names; images [B, C, H, W] "
                   "to images upscale times as large",
           .parameters = EnlargingParameters(
               16, {2, 3, 4, 8},
               {{.name = "res_scale",
                 .type = "float",
                 .default_value = 1.0,
                 .help = "factor of what each residual block adds"},
                {.name = "image_range",
                 .type = "float",
                 .default_value = 255.0,
                 .min = 0,
                 .exclusive_min = true,
                 .aliases = {"img_range"},
                 .help = "images are multiplied by it inside"},
                {.name = "mean",
                 .type = "list<float>",
                 .default_value = catalogue::Json{0.4488, 0.4371, 0.4040},
                 .aliases = {"rgb_mean"},
                 .scalar_ok = true,
                 .help = "taken off inside: one value, or one for each "
                         "channel"}}),
           .rules = {{.check = catalogue::Rule::Check::kOneForEach,
                      .of = {"mean", "in_channels"}},
                     {.check = catalogue::Rule::Check::kOneForEach,
                      .of = {"mean", "out_channels"}}}},
          [](const Params& params) {
            auto options = ReadEnlarging<EdsrOptions>(params);
            options.res_scale = params.Float("res_scale");
            options.image_range = params.Float("image_range");
            options.mean = params.Floats("mean");
            return MakeEdsr(options);
          }};
}

}  // namespace epochd::engine
