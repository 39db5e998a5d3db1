// SPDX-License-Identifier: Apache-2.0
//
// A small DCGAN pair for square images whose side is a power of two from 8.
// Names, order and initial weights (from the same seed) are those of two flat
// nn.Sequential called `main`; with s = size, w = width:
//
//   generator      ConvTranspose2d(latent, w*s/8, 4, 1, 0), BatchNorm2d, ReLU,
//                  ConvTranspose2d(c, c/2, 4, 2, 1), BatchNorm2d, ReLU  until
//                  the side is s/2, ConvTranspose2d(w, channels, 4, 2, 1), Tanh
//   discriminator  Conv2d(channels, w, 4, 2, 1), LeakyReLU(0.2),
//                  Conv2d(c, 2c, 4, 2, 1), BatchNorm2d, LeakyReLU(0.2)  until
//                  the side is 4, Conv2d(c, 1, 4, 1, 0)
//
// No convolution has a bias. Convolutions start from N(0, 0.02), weights of
// norms from N(1, 0.02).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "worker/engine/model/module_model.h"

namespace epochd::engine {

struct DcGeneratorOptions {
  ModelFields fields{.input = "noise"};
  int64_t latent = 64;
  int64_t channels = 3;
  int64_t size = 32;
  // Channels before the last layer.
  int64_t width = 64;
  // tanh, sigmoid or none.
  std::string activation = "tanh";
};

struct DcDiscriminatorOptions {
  ModelFields fields;
  int64_t channels = 3;
  int64_t size = 32;
  // Channels behind the first layer.
  int64_t width = 64;
};

// Turns noise [B, latent] into images [B, channels, size, size]; is NoiseFed.
// Forward() draws noise where the batch has none, a row for each of its
// samples. Throws Error(kBadSpec) for a size or activation not listed above.
std::shared_ptr<Model> MakeDcGenerator(const DcGeneratorOptions& options);

// Turns images [B, channels, size, size], or flat ones
// [B, channels * size * size], into scores [B] (logits). Throws
// Error(kBadSpec) for a size not listed above.
std::shared_ptr<Model> MakeDcDiscriminator(
    const DcDiscriminatorOptions& options);

}  // namespace epochd::engine
