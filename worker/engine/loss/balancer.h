// SPDX-License-Identifier: Apache-2.0
//
// LossBalancer: weights of a criterion's losses that follow from what the
// losses do to the model, beside the weight that each has of its own. Updated
// before a step, every few steps, by a moving average:
//
//   w = momentum * w + (1 - momentum) * raw
//
// where `raw` makes what is measured of all losses the same. What is measured
// is that of the whole batch of a step, over all ranks, so all have the same
// weights; of accumulated batches it is the first. One thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/loss.h"
#include "worker/engine/dist/communicator.h"

namespace epochd::engine {

class LossBalancer {
 public:
  struct Options {
    // Steps between updates, and the first of them (nothing: after so many).
    int64_t every = 1;
    std::optional<int64_t> start{};
    double momentum = 0.9;
    // Added to what is divided by; see the subclass.
    double eps = 1e-5;
    // By name of the loss; 1 for the others.
    std::map<std::string, double> initial_weights{};
  };
  // One of the losses of a batch.
  struct Term {
    const std::string* name = nullptr;
    const Loss* loss = nullptr;
    // With its graph.
    at::Tensor value;
  };

  virtual ~LossBalancer() = default;

  // What the losses differentiate to, and the other ranks (outlives this);
  // before the first update.
  void Bind(std::vector<at::Tensor> parameters, Communicator* communicator);
  double WeightOf(const std::string& name) const;
  // Updates the weights when it is their turn at `step` (steps done before).
  // Collective: every rank calls it at the same step.
  void MaybeUpdate(int64_t step, const std::vector<Term>& terms,
                   const Batch& batch);

  // Weights by name.
  nlohmann::ordered_json State() const;
  void LoadState(const nlohmann::ordered_json& state);

 protected:
  explicit LossBalancer(Options options) : options_(std::move(options)) {}

  // One number for each term, the same on all ranks; empty: weights stay.
  // Collective.
  virtual std::vector<double> Measure(const std::vector<Term>& terms,
                                      const Batch& batch) const = 0;
  // New raw weights from `measured` (not negative), given the present ones.
  virtual std::vector<double> RawWeights(
      const std::vector<double>& measured,
      const std::vector<double>& weights) const = 0;

  // `values`: a 1-D tensor of this rank's.
  at::Tensor MeanOverRanks(const at::Tensor& values) const;
  int num_ranks() const {
    return communicator_ == nullptr ? 1 : communicator_->world_size();
  }

  const Options& options() const { return options_; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

 private:
  const Options options_;
  std::vector<at::Tensor> parameters_;
  Communicator* communicator_ = nullptr;
  std::map<std::string, double> weights_;
};

// Weights as given, and they stay.
class StaticBalancer : public LossBalancer {
 public:
  explicit StaticBalancer(std::map<std::string, double> weights)
      : LossBalancer({.initial_weights = std::move(weights)}) {}

 protected:
  std::vector<double> Measure(const std::vector<Term>&,
                              const Batch&) const override {
    return {};
  }
  std::vector<double> RawWeights(
      const std::vector<double>&,
      const std::vector<double>& weights) const override {
    return weights;
  }
};

// By the norm n of each loss's gradient over all parameters, averaged over
// ranks before its norm is taken: raw = mean(n) / (n + eps * mean(n)). All
// zero: weights stay.
class GradientNormBalancer : public LossBalancer {
 public:
  explicit GradientNormBalancer(Options options)
      : LossBalancer(std::move(options)) {}

 protected:
  std::vector<double> Measure(const std::vector<Term>& terms,
                              const Batch& batch) const override;
  std::vector<double> RawWeights(
      const std::vector<double>& measured,
      const std::vector<double>& weights) const override;
};

// By the trace m of each loss's neural tangent kernel: the mean over samples
// of the squared gradients' norm of the sample's differences
// (Loss::Residual), after Wang, Yu and Perdikaris (2022):
// raw = mean(m) / m; losses whose m is at most eps keep their weight. Costs a
// backward pass for each number of up to `num_samples` samples of the batch,
// which ranks share.
class NtkBalancer : public LossBalancer {
 public:
  NtkBalancer(Options options, int64_t num_samples)
      : LossBalancer(std::move(options)), num_samples_(num_samples) {}

 protected:
  std::vector<double> Measure(const std::vector<Term>& terms,
                              const Batch& batch) const override;
  std::vector<double> RawWeights(
      const std::vector<double>& measured,
      const std::vector<double>& weights) const override;

 private:
  const int64_t num_samples_;
};

}  // namespace epochd::engine
