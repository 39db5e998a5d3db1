// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/residual_blocks.h"

#include <torch/nn/init.h>

#include <bit>

#include "worker/engine/core/error.h"

namespace epochd::engine {

ResidualBlock::ResidualBlock(int64_t features, double res_scale,
                             bool scaled_init)
    : res_scale_(res_scale),
      first_(MakeConv2d(features, features, 3)),
      second_(MakeConv2d(features, features, 3)) {
  register_module("conv1", first_);
  register_module("conv2", second_);
  if (!scaled_init) return;
  ScaleInitialWeights(*first_, 0.1);
  ScaleInitialWeights(*second_, 0.1);
}

at::Tensor ResidualBlock::Forward(const at::Tensor& x) {
  return at::add(x, second_->forward(first_->forward(x).relu_()), res_scale_);
}

void ScaleInitialWeights(torch::nn::Conv2dImpl& conv, double scale) {
  const c10::NoGradGuard no_grad;
  torch::nn::init::kaiming_normal_(conv.weight);
  conv.weight.mul_(scale);
  if (conv.bias.defined()) conv.bias.zero_();
}

std::shared_ptr<Sequence> MakeUpsample(int64_t scale, int64_t features) {
  auto upsample = std::make_shared<Sequence>();
  const auto add = [&](int64_t factor) {
    upsample->Add(MakeConv2d(features, factor * factor * features, 3));
    upsample->AddFunction(
        [factor](const at::Tensor& x) { return at::pixel_shuffle(x, factor); });
  };
  if (scale == 3) {
    add(3);
  } else {
    for (int64_t done = 1; done < scale; done *= 2) add(2);
  }
  return upsample;
}

void CheckUpscale(int64_t scale, int64_t max) {
  if (scale >= 2 && scale <= max &&
      (scale == 3 || std::has_single_bit(static_cast<uint64_t>(scale)))) {
    return;
  }
  throw Error(ErrorKind::kBadSpec, "upscale: " + std::to_string(scale) +
                                       "; 2, 3, 4" + (max > 4 ? " and 8" : "") +
                                       " are accepted");
}

}  // namespace epochd::engine
