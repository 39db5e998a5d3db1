// SPDX-License-Identifier: Apache-2.0
//
// Losses of class scores (logits) [B, C, ...] against classes [B, ...] or class
// probabilities [B, C, ...]. With p the softmax over classes and y the class:
//
//   CrossEntropy  -log p_y, as torch.nn.CrossEntropyLoss
//   ClassFocal    -(1 - p_y)^gamma log p_y, as torch_ecg's FocalLoss of a
//                 single label; of probabilities the sum over classes by share
//
// Masks and sample weights go with [B, ...]. A batch that has nothing to count
// (all ignored) has a loss of 0.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/loss.h"
#include "worker/engine/loss/fields.h"
#include "worker/engine/loss/weighing.h"

namespace epochd::engine {

class ClassLoss : public Loss {
 public:
  struct Common {
    ComparedFields fields = {};
    std::string name = {};
    // One weight per class; empty: all 1.
    std::vector<double> class_weights = {};
    // Samples of this class do not count.
    int64_t ignore_index = -100;
    Weighing weighing = {};
    Reduction reduction = Reduction::kMean;
  };

  at::Tensor Compute(const Batch& batch) const final;
  // Targets that count, by their weights.
  double NumItems(const Batch& batch) const final;
  const std::string& name() const final { return common_.name; }

 protected:
  explicit ClassLoss(const Common& common);

  struct Scored {
    at::Tensor scores;   // [B, C, ...]
    at::Tensor target;   // classes or probabilities
    at::Tensor weights;  // of classes; undefined: all 1
    int64_t ignore_index;
    bool has_classes() const { return target.dim() != scores.dim(); }
  };
  // [B, ...]: 0 for ignored ones.
  virtual at::Tensor Elements(const Scored& scored) const = 0;
  // Their mean, where there is a kernel for it; undefined: there is none.
  virtual at::Tensor Mean(const Scored& scored) const = 0;
  // What each counts for in the mean, from class weights: [B, ...]; undefined:
  // 1. Asked for targets that are classes, none of them ignored.
  virtual at::Tensor CountOf(const Scored& scored,
                             const at::Tensor& classes) const = 0;

 private:
  // Scores against targets with what does not count blanked out, and the
  // weights of elements; undefined: 1.
  std::pair<Scored, at::Tensor> Prepare(const Batch& batch) const;
  // Throws when the first target that is no class is no probability either.
  void CheckProbabilities(const Scored& scored) const;
  // What the mean divides by.
  at::Tensor TotalWeight(const Scored& scored, const at::Tensor& weights) const;

  const Common common_;
  // On the device of the last batch; undefined: no class weights.
  mutable at::Tensor class_weights_;
  mutable bool has_looked_ = false;
};

class CrossEntropyLoss : public ClassLoss {
 public:
  struct Options : Common {
    Options() { name = "cross_entropy"; }
    // In [0, 1]: share of the target spread evenly over all classes. The mean
    // divides by the class weights of the targets, as torch's does.
    double label_smoothing = 0.0;
  };
  explicit CrossEntropyLoss(const Options& options)
      : ClassLoss(options), label_smoothing_(options.label_smoothing) {}

 private:
  at::Tensor Elements(const Scored& scored) const override;
  at::Tensor Mean(const Scored& scored) const override;
  at::Tensor CountOf(const Scored& scored,
                     const at::Tensor& classes) const override;
  const double label_smoothing_;
};

class ClassFocalLoss : public ClassLoss {
 public:
  struct Options : Common {
    Options() { name = "class_focal"; }
    // 0 or more. The mean does not divide by class weights.
    double gamma = 2.0;
  };
  explicit ClassFocalLoss(const Options& options)
      : ClassLoss(options), gamma_(options.gamma) {}

 private:
  at::Tensor Elements(const Scored& scored) const override;
  at::Tensor Mean(const Scored&) const override { return {}; }
  at::Tensor CountOf(const Scored&, const at::Tensor&) const override {
    return {};
  }
  const double gamma_;
};

}  // namespace epochd::engine
