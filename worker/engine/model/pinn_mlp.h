// SPDX-License-Identifier: Apache-2.0
//
// PinnMlp: a multi-layer perceptron over coordinates, for physics-informed
// training. It evaluates every field of `inputs` that the batch has, points
// [..., in_features], and gives [..., out_features] as core/point_fields.h
// calls it. A field of `differentiable` is replaced by itself with a gradient
// wanted, and evaluated with its graph, in validation too, so that losses can
// differentiate by the points (loss/derivatives.h).
//
// In front of the layers, each optional: columns with a period p become
// cos(2 pi x/p), sin(2 pi x/p), so that the solution repeats exactly; the
// others are scaled from [lower, upper] to [-1, 1]; then random Fourier
// features cos(xB), sin(xB), B drawn from a normal distribution by a seed of
// its own (Tancik et al. 2020). Weights may be factorised, W = diag(g) V with
// g = exp(normal) (Wang et al. 2022).
//
// Layers are an nn.Sequential `net` with activations between: net.0.weight,
// net.0.bias, net.2.weight, ...; factorised net.0.weight_g, net.0.weight_v.
// B is `fourier` [features in, features], a buffer or a parameter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/model.h"

namespace epochd::engine {

enum class PinnInit {
  kXavierNormal,   // and biases 0
  kXavierUniform,  // and biases 0
  kTorch,          // as torch.nn.Linear begins
};

struct PinnMlpOptions {
  int64_t in_features = 2;
  std::vector<int64_t> hidden = {};
  int64_t out_features = 1;
  // tanh, sin, gelu, silu, sigmoid or relu.
  std::string activation = "tanh";
  PinnInit init = PinnInit::kXavierNormal;
  std::vector<std::string> inputs = {"input"};
  std::vector<std::string> differentiable = {};
  // One for each coordinate, or none.
  std::vector<double> lower = {};
  std::vector<double> upper = {};
  // One for each coordinate, 0: no period; or none.
  std::vector<double> periods = {};
  int64_t fourier_features = 0;
  double fourier_scale = 1.0;
  uint64_t fourier_seed = 0;
  bool fourier_trainable = false;
  bool factorized = false;
  double factor_mean = 0.5;
  double factor_std = 0.1;
};

std::vector<std::string> PinnActivations();

// Throws Error(kBadSpec) naming the option.
std::shared_ptr<Model> MakePinnMlp(const PinnMlpOptions& options);

}  // namespace epochd::engine
