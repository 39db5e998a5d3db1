// SPDX-License-Identifier: Apache-2.0
//
// The losses of a relativistic average GAN. With r and f the discriminator's
// scores (logits) of real and fake samples, m() the mean over all elements, by
// the weights of mask and sample_weight, which both have in common, and bce(x,
// y) the binary cross entropy of logits:
//
//   discriminator  (bce(r - m(f), 1) + bce(f - m(r), 0)) / 2
//   generator      (bce(r - m(f), 0) + bce(f - m(r), 1)) / 2
//
// The generator's lets gradients flow through f alone: r is a constant to it.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>

#include "worker/engine/core/loss.h"
#include "worker/engine/loss/scores.h"
#include "worker/engine/loss/weighing.h"

namespace epochd::engine {

class RaGanDiscriminatorLoss : public Loss {
 public:
  struct Options {
    ScoreFields fields = {};
    Weighing weighing = {};
    std::string name = "ragan_d";
  };

  explicit RaGanDiscriminatorLoss(Options options)
      : options_(std::move(options)) {}

  at::Tensor Compute(const Batch& batch) const override;
  const std::string& name() const override { return options_.name; }

 private:
  const Options options_;
};

class RaGanGeneratorLoss : public Loss {
 public:
  struct Options {
    ScoreFields fields = {};
    Weighing weighing = {};
    std::string name = "ragan_g";
  };

  explicit RaGanGeneratorLoss(Options options) : options_(std::move(options)) {}

  at::Tensor Compute(const Batch& batch) const override;
  const std::string& name() const override { return options_.name; }

 private:
  const Options options_;
};

}  // namespace epochd::engine
