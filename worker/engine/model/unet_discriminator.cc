// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "worker/engine/core/error.h"
#include "worker/engine/model/declarations.h"
#include "worker/engine/model/discriminators.h"
#include "worker/engine/model/layers.h"

namespace epochd::engine {
namespace {

// A convolution without bias whose weight is divided by its largest singular
// value (Miyato et al. 2018), as torch.nn.utils.spectral_norm keeps it:
// weight_orig is trained; weight_u and weight_v, the singular vectors, get
// closer by one step of the power iteration in each pass of training.
class SpectralConv2d : public Layer {
 public:
  SpectralConv2d(int64_t in, int64_t out, int64_t kernel, int64_t stride)
      : stride_(stride), padding_((kernel - 1) / 2) {
    const torch::nn::Conv2d drawn =
        MakeConv2d(in, out, kernel, stride, /*bias=*/false);
    weight_ = register_parameter("weight_orig", drawn->weight.detach());
    const at::Tensor matrix = weight_.detach().flatten(1);
    const auto draw = [](int64_t size) {
      return Normalized(at::randn({size}));
    };
    u_ = register_buffer("weight_u", draw(matrix.size(0)));
    v_ = register_buffer("weight_v", draw(matrix.size(1)));
  }

  at::Tensor Forward(const at::Tensor& x) override {
    const at::Tensor matrix = weight_.flatten(1);
    if (is_training()) {
      const c10::NoGradGuard no_grad;
      v_.copy_(Normalized(at::mv(matrix.t(), u_)));
      u_.copy_(Normalized(at::mv(matrix, v_)));
    }
    // Copies: a second pass before the backward pass moves the vectors.
    const at::Tensor u = u_.clone();
    const at::Tensor v = v_.clone();
    const at::Tensor sigma = at::dot(u, at::mv(matrix, v));
    return at::conv2d(x, weight_ / sigma, {}, stride_, padding_);
  }

 private:
  static at::Tensor Normalized(const at::Tensor& vector) {
    return vector / vector.norm().clamp_min(1e-12);
  }

  const int64_t stride_;
  const int64_t padding_;
  at::Tensor weight_;
  at::Tensor u_;
  at::Tensor v_;
};

class UNetDiscriminatorModule : public Layer {
 public:
  explicit UNetDiscriminatorModule(const UNetDiscriminatorOptions& options)
      : skips_(options.skip_connection) {
    const int64_t width = options.features;
    conv0_ =
        register_module("conv0", MakeConv2d(options.in_channels, width, 3));
    for (int level = 0; level < 3; ++level) {
      Add(width << level, width << (level + 1), 4, /*stride=*/2);
    }
    for (int level = 3; level > 0; --level) {
      Add(width << level, width << (level - 1), 3, /*stride=*/1);
    }
    Add(width, width, 3, /*stride=*/1);
    Add(width, width, 3, /*stride=*/1);
    conv9_ = register_module("conv9", MakeConv2d(width, 1, 3));
  }

  at::Tensor Forward(const at::Tensor& input) override {
    // What goes round by the way down is added on the way up.
    if (skips_) RequireSides(input, 8, "UNetDiscriminator");
    at::Tensor first = conv0_->forward(input);
    // At full size, half, a quarter.
    std::array<at::Tensor, 3> skipped;
    at::Tensor x = at::leaky_relu_(first, kSlope);
    size_t layer = 0;
    for (at::Tensor& skip : skipped) {
      skip = x;
      x = Rectified(layer++, x);
    }
    for (size_t level = skipped.size(); level-- > 0;) {
      x = at::upsample_bilinear2d(x, {x.size(2) * 2, x.size(3) * 2},
                                  /*align_corners=*/false, 2.0, 2.0);
      x = Rectified(layer++, x);
      if (skips_) x = x + skipped[level];
    }
    x = Rectified(layer++, x);
    x = Rectified(layer++, x);
    return conv9_->forward(x);
  }

 private:
  static constexpr double kSlope = 0.2;

  void Add(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
    layers_.push_back(register_module(
        "conv" + std::to_string(layers_.size() + 1),
        std::make_shared<SpectralConv2d>(in, out, kernel, stride)));
  }

  at::Tensor Rectified(size_t layer, const at::Tensor& x) {
    at::Tensor y = layers_[layer]->Forward(x);
    return at::leaky_relu_(y, kSlope);
  }

  const bool skips_;
  torch::nn::Conv2d conv0_{nullptr};
  std::vector<std::shared_ptr<SpectralConv2d>> layers_;
  torch::nn::Conv2d conv9_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeUNetDiscriminator(
    const UNetDiscriminatorOptions& options) {
  return MakeModel(std::make_shared<UNetDiscriminatorModule>(options),
                   options.fields);
}

Entry<Model> UNetDiscriminatorEntry() {
  return {{.kind = "model",
           .name = "UNetDiscriminator",
           .aliases = {"UNetDiscriminatorSN", "unet_discriminator"},
           .help = "basicsr's UNetDiscriminatorSN, with spectral "
                   "normalization: images [B, C, H, W] with sides that are "
                   "multiples of 8 to a score for each pixel",
           .parameters = WithFields(
               {CountWithAliases("in_channels", 3, "channels of the images",
                                 {"channels", "num_in_ch"}),
                CountWithAliases("features", 64, "channels at full size",
                                 {"num_feat"}),
                {.name = "skip_connection",
                 .type = "bool",
                 .default_value = true,
                 .help = "add the way down's features on the way up"}})},
          [](const Params& params) {
            UNetDiscriminatorOptions options;
            options.fields = FieldsFrom(params);
            options.in_channels = params.Int("in_channels");
            options.features = params.Int("features");
            options.skip_connection = params.Bool("skip_connection");
            return MakeUNetDiscriminator(options);
          }};
}

}  // namespace epochd::engine
