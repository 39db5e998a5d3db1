// SPDX-License-Identifier: Apache-2.0
//
// What basicsr's super-resolution networks share: the residual block without
// normalization, upsampling by convolution and pixel shuffle, and the initial
// weights of its default_init_weights.
#pragma once

#include "worker/engine/model/layers.h"

namespace epochd::engine {

// x + res_scale * conv2(relu(conv1(x))).
class ResidualBlock : public Layer {
 public:
  // `scaled_init`: ScaleInitialWeights() of both convolutions by 0.1.
  ResidualBlock(int64_t features, double res_scale, bool scaled_init);
  at::Tensor Forward(const at::Tensor& x) override;

 private:
  const double res_scale_;
  torch::nn::Conv2d first_;
  torch::nn::Conv2d second_;
};

// Kaiming's normal weights times `scale`, no bias.
void ScaleInitialWeights(torch::nn::Conv2dImpl& conv, double scale);

// A chain of convolution and pixel shuffle, numbered as a Sequential.
std::shared_ptr<Sequence> MakeUpsample(int64_t scale, int64_t features);

// Throws Error(kBadSpec) naming `upscale` unless `scale` is 3 or a power of 2
// up to `max`.
void CheckUpscale(int64_t scale, int64_t max);

}  // namespace epochd::engine
