// SPDX-License-Identifier: Apache-2.0
//
// Losses of yes-or-no targets y in [0, 1] (several labels of a sample, binary
// masks), element by element. p is the probability, sigmoid(x) of a logit x:
//
//   BCEWithLogits  -(pos_weight y log p + (1 - y) log(1 - p))
//   BCE            the same of probabilities; logs are at least -100
//   Focal          BCE x (1 - p_t)^gamma x alpha_t, where p_t is p for positive
//                  and 1 - p for negative targets, as torchvision's
//                  sigmoid_focal_loss; without alpha, as torch_ecg's FocalLoss
//   Asymmetric     with q = min(1 - p + margin, 1):
//                  -(y (1 - p)^gamma_pos log p
//                    + (1 - y) (1 - q)^gamma_neg log q)
//                  Ridnik et al. (2021), as torch_ecg's AsymmetricLoss
//
// Classes are the second dimension, as everywhere: [B, C, ...].
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "worker/engine/loss/element_loss.h"

namespace epochd::engine {

// One number for each class, or one for all, kept where the last batch was. One
// thread.
class ClassVector {
 public:
  // Empty: none.
  ClassVector(std::string parameter, const std::vector<double>& values);
  bool defined() const { return values_.defined(); }
  // On the device and of the type of `like`, and such that it broadcasts along
  // the classes of `like` [B, C, ...]; undefined: none. Throws
  // Error(kBadSpec) naming the parameter when the sizes differ.
  at::Tensor For(const at::Tensor& like) const;

 private:
  const std::string parameter_;
  mutable at::Tensor values_;
};

// Binary cross entropy, of logits or of probabilities.
class BinaryCrossEntropy : public ElementLoss {
 public:
  struct BceOptions : Common {
    // Weight of positive targets; empty: 1.
    std::vector<double> pos_weight;
    // Weight of each class; empty: 1. They do not change what the mean divides
    // by, as torch's `weight` does not.
    std::vector<double> class_weights;
  };

 protected:
  explicit BinaryCrossEntropy(const BceOptions& options)
      : ElementLoss(options),
        pos_weight_("pos_weight", options.pos_weight),
        class_weights_("class_weights", options.class_weights) {}

  const ClassVector pos_weight_;
  const ClassVector class_weights_;
};

class BceWithLogitsLoss : public BinaryCrossEntropy {
 public:
  struct Options : BceOptions {
    Options() { name = "bce_with_logits"; }
  };
  explicit BceWithLogitsLoss(const Options& options)
      : BinaryCrossEntropy(options) {}

 private:
  at::Tensor Elements(const at::Tensor& output,
                      const at::Tensor& target) const override;
};

class BceLoss : public BinaryCrossEntropy {
 public:
  struct Options : BceOptions {
    Options() { name = "bce"; }
  };
  explicit BceLoss(const Options& options) : BinaryCrossEntropy(options) {}

 private:
  at::Tensor Elements(const at::Tensor& output,
                      const at::Tensor& target) const override;
};

class FocalLoss : public ElementLoss {
 public:
  struct Options : Common {
    Options() { name = "focal"; }
    double gamma = 2.0;  // 0 or more
    // In [0, 1]: weight of positive targets, 1 - alpha of negative ones.
    std::optional<double> alpha;
    std::vector<double> class_weights;
  };
  explicit FocalLoss(const Options& options)
      : ElementLoss(options),
        gamma_(options.gamma),
        alpha_(options.alpha),
        class_weights_("class_weights", options.class_weights) {}

 private:
  at::Tensor Elements(const at::Tensor& output,
                      const at::Tensor& target) const override;
  const double gamma_;
  const std::optional<double> alpha_;
  const ClassVector class_weights_;
};

class AsymmetricLoss : public ElementLoss {
 public:
  struct Options : Common {
    Options() { name = "asymmetric"; }
    double gamma_neg = 4.0;
    double gamma_pos = 1.0;
    double margin = 0.05;  // in [0, 1]
    // No gradient flows through the factors (1 - p)^gamma.
    bool detach_focus = false;
  };
  explicit AsymmetricLoss(const Options& options)
      : ElementLoss(options),
        gamma_neg_(options.gamma_neg),
        gamma_pos_(options.gamma_pos),
        margin_(options.margin),
        detach_focus_(options.detach_focus) {}

 private:
  at::Tensor Elements(const at::Tensor& output,
                      const at::Tensor& target) const override;
  const double gamma_neg_;
  const double gamma_pos_;
  const double margin_;
  const bool detach_focus_;
};

}  // namespace epochd::engine
