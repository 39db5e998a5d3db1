// SPDX-License-Identifier: Apache-2.0
//
// The built-in samplers (data/sampler.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/data/sampler.h"

namespace epochd::engine {

// Each sample once; endless where asked for, as MMEngine's InfiniteSampler.
class PlainSampler : public Sampler {
 public:
  PlainSampler(bool shuffle, bool endless)
      : shuffle_(shuffle), endless_(endless) {}
  std::unique_ptr<const Ordering> Bind(const Dataset& dataset,
                                       int64_t step_size) const override;
  bool is_endless() const override { return endless_; }

 private:
  const bool shuffle_;
  const bool endless_;
};

// Draws samples with chances in proportion to their weights, as torch's
// WeightedRandomSampler. Without replacement each comes at most once: chances
// are those of drawing one after the other (Efraimidis and Spirakis 2006).
class WeightedSampler : public Sampler {
 public:
  struct Options {
    // Where weights come from; exactly one is given.
    std::vector<double> weights{};         // by sample
    std::string weight_field{};            // a column
    std::vector<double> class_weights{};   // by class, of `field`
    bool inverse_frequency = false;        // 1 / samples of the class
    std::string field = "target";          // class labels
    std::optional<int64_t> num_samples{};  // as many as there are by default
    bool replacement = true;
  };
  explicit WeightedSampler(Options options) : options_(std::move(options)) {}
  std::unique_ptr<const Ordering> Bind(const Dataset& dataset,
                                       int64_t step_size) const override;

 private:
  std::vector<double> Weights(const Dataset& dataset) const;

  const Options options_;
};

// As many samples of each class: in each run of as many places as there are
// classes, every class comes once. A class with fewer samples than are taken
// gives all of them, again and again, and then a random part of them.
class BalancedSampler : public Sampler {
 public:
  struct Options {
    std::string field = "target";
    // Samples of each class in an epoch; by default those of the greatest
    // class, or, with `undersample`, of the smallest.
    std::optional<int64_t> per_class{};
    bool undersample = false;
  };
  explicit BalancedSampler(Options options) : options_(std::move(options)) {}
  std::unique_ptr<const Ordering> Bind(const Dataset& dataset,
                                       int64_t step_size) const override;

 private:
  const Options options_;
};

// Steps of samples of like lengths: shuffled samples are sorted by length
// within pools of `pool` steps, cut into steps, and the steps shuffled; a last
// step that is not full stays last and is of any lengths, so that leaving it
// out leaves none out for good. Not shuffled: one pool of all, from short to
// long.
class BucketSampler : public Sampler {
 public:
  struct Options {
    std::string field = "length";
    int64_t pool = 100;
    bool shuffle = true;
  };
  explicit BucketSampler(Options options) : options_(std::move(options)) {}
  std::unique_ptr<const Ordering> Bind(const Dataset& dataset,
                                       int64_t step_size) const override;

 private:
  const Options options_;
};

}  // namespace epochd::engine
