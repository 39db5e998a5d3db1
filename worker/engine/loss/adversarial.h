// SPDX-License-Identifier: Apache-2.0
//
// Pairs of losses of GANs. With r and f the discriminator's scores of real and
// fake samples, m() the mean over all elements (by the weights of mask and
// sample_weight, which real and fake scores have in common), bce(x, y) the
// binary cross entropy of logits, and real, fake the labels (1 and 0 by
// default):
//
//             discriminator                            generator
//   vanilla   (m bce(r, real) + m bce(f, fake)) / 2    m bce(f, real)
//   lsgan     (m (r - real)^2 + m (f - fake)^2) / 2    m (f - real)^2
//   hinge     m max(0, 1 - r) + m max(0, 1 + f)        -m f
//   wgan      m f - m r                                -m f
//
// Goodfellow et al. (2014), its generator not saturating; Mao et al. (2017);
// Lim and Ye (2017); Arjovsky et al. (2017), which wants a penalty on gradients
// or clipped weights beside it. RaGAN's pair is in loss/ragan.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>

#include "worker/engine/core/loss.h"
#include "worker/engine/loss/scores.h"
#include "worker/engine/loss/weighing.h"

namespace epochd::engine {

enum class GanRule { kVanilla, kLsgan, kHinge, kWgan };

struct GanLossOptions {
  GanRule rule = GanRule::kVanilla;
  ScoreFields fields = {};
  Weighing weighing = {};
  std::string name = {};
  // Of vanilla and lsgan; 0.9 for `real` smooths labels on one side.
  double real_label = 1.0;
  double fake_label = 0.0;
};

class GanDiscriminatorLoss : public Loss {
 public:
  explicit GanDiscriminatorLoss(GanLossOptions options)
      : options_(std::move(options)) {}

  at::Tensor Compute(const Batch& batch) const override;
  const std::string& name() const override { return options_.name; }

 private:
  const GanLossOptions options_;
};

// Reads the fake scores alone.
class GanGeneratorLoss : public Loss {
 public:
  explicit GanGeneratorLoss(GanLossOptions options)
      : options_(std::move(options)) {}

  at::Tensor Compute(const Batch& batch) const override;
  const std::string& name() const override { return options_.name; }

 private:
  const GanLossOptions options_;
};

}  // namespace epochd::engine
