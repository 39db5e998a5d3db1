// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/samplers.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "worker/engine/core/error.h"
#include "worker/engine/data/column.h"
#include "worker/engine/data/random.h"

namespace epochd::engine {
namespace {

Random OrderDraws(const EpochKey& key, uint64_t what) {
  return Random({static_cast<uint64_t>(Stream::kOrder), key.seed,
                 static_cast<uint64_t>(key.epoch), what});
}

at::Generator TorchGenerator(const EpochKey& key) {
  return at::detail::createCPUGenerator(*key.torch_seed +
                                        static_cast<uint64_t>(key.epoch));
}

std::vector<int64_t> ToVector(const at::Tensor& indices) {
  const auto* values = indices.const_data_ptr<int64_t>();
  return {values, values + indices.numel()};
}

void RefuseTorch(const EpochKey& key, const char* name) {
  if (!key.torch_seed) return;
  throw Error(ErrorKind::kBadSpec, std::string("order: torch has no ") + name +
                                       "; order: hashed is accepted with it");
}

class PlainOrdering : public Ordering {
 public:
  PlainOrdering(int64_t size, bool shuffle) : size_(size), shuffle_(shuffle) {}
  int64_t NumSamples() const override { return size_; }
  std::vector<int64_t> Order(const EpochKey& key) const override {
    return PlainOrder(size_, shuffle_, key);
  }

 private:
  const int64_t size_;
  const bool shuffle_;
};

class WeightedOrdering : public Ordering {
 public:
  WeightedOrdering(std::vector<double> weights, int64_t count, bool replacement)
      : weights_(std::move(weights)),
        sums_(weights_.size()),
        count_(count),
        replacement_(replacement) {
    std::partial_sum(weights_.begin(), weights_.end(), sums_.begin());
  }
  int64_t NumSamples() const override { return count_; }
  bool repeats() const override { return replacement_; }

  std::vector<int64_t> Order(const EpochKey& key) const override {
    if (count_ == 0) return {};
    if (key.torch_seed) {
      return ToVector(at::multinomial(at::tensor(weights_, at::kDouble), count_,
                                      replacement_, TorchGenerator(key)));
    }
    Random random = OrderDraws(key, 1);
    return replacement_ ? Draw(random) : Pick(random);
  }

 private:
  std::vector<int64_t> Draw(Random& random) const {
    // Rounding must not lead behind the last that can be drawn.
    const auto end = std::lower_bound(sums_.begin(), sums_.end(), sums_.back());
    std::vector<int64_t> order(static_cast<size_t>(count_));
    for (int64_t& index : order) {
      const double place = random.Uniform() * sums_.back();
      index = std::upper_bound(sums_.begin(), end, place) - sums_.begin();
    }
    return order;
  }

  std::vector<int64_t> Pick(Random& random) const {
    std::vector<std::pair<double, int64_t>> keys;
    keys.reserve(weights_.size());
    for (size_t i = 0; i < weights_.size(); ++i) {
      const double wait = -std::log(1.0 - random.Uniform());
      if (weights_[i] > 0) {
        keys.emplace_back(wait / weights_[i], static_cast<int64_t>(i));
      }
    }
    std::partial_sort(keys.begin(), keys.begin() + count_, keys.end());
    std::vector<int64_t> order;
    for (int64_t i = 0; i < count_; ++i) {
      order.push_back(keys[static_cast<size_t>(i)].second);
    }
    return order;
  }

  const std::vector<double> weights_;
  std::vector<double> sums_;
  const int64_t count_;
  const bool replacement_;
};

class BalancedOrdering : public Ordering {
 public:
  BalancedOrdering(std::vector<std::vector<int64_t>> classes, int64_t per_class)
      : classes_(std::move(classes)), per_class_(per_class) {}
  int64_t NumSamples() const override {
    return per_class_ * static_cast<int64_t>(classes_.size());
  }
  bool repeats() const override { return true; }

  std::vector<int64_t> Order(const EpochKey& key) const override {
    RefuseTorch(key, "BalancedSampler");
    std::vector<std::vector<int64_t>> turns;
    for (size_t c = 0; c < classes_.size(); ++c) {
      Random random = OrderDraws(key, 2 + c);
      std::vector<int64_t> own;
      while (static_cast<int64_t>(own.size()) < per_class_) {
        std::vector<int64_t> again = classes_[c];
        random.Shuffle(again);
        const auto missing = per_class_ - static_cast<int64_t>(own.size());
        const auto take = std::min(missing, static_cast<int64_t>(again.size()));
        own.insert(own.end(), again.begin(), again.begin() + take);
      }
      turns.push_back(std::move(own));
    }
    Random random = OrderDraws(key, 1);
    std::vector<size_t> by_turn(classes_.size());
    std::iota(by_turn.begin(), by_turn.end(), size_t{0});
    std::vector<int64_t> order;
    order.reserve(static_cast<size_t>(NumSamples()));
    for (size_t i = 0; i < static_cast<size_t>(per_class_); ++i) {
      random.Shuffle(by_turn);
      for (size_t c : by_turn) order.push_back(turns[c][i]);
    }
    return order;
  }

 private:
  const std::vector<std::vector<int64_t>> classes_;
  const int64_t per_class_;
};

class BucketOrdering : public Ordering {
 public:
  BucketOrdering(std::vector<double> lengths, int64_t step_size, int64_t pool,
                 bool shuffle)
      : lengths_(std::move(lengths)),
        step_size_(static_cast<size_t>(step_size)),
        pool_(static_cast<size_t>(pool)),
        shuffle_(shuffle) {}
  int64_t NumSamples() const override {
    return static_cast<int64_t>(lengths_.size());
  }

  std::vector<int64_t> Order(const EpochKey& key) const override {
    RefuseTorch(key, "BucketSampler");
    std::vector<int64_t> order = PlainOrder(NumSamples(), shuffle_, key);
    // A last step that is not full is cut off by chance, before samples are
    // sorted: else it would be of the longest, which `drop_last` would then
    // leave out in each epoch.
    const size_t size =
        shuffle_ ? order.size() / step_size_ * step_size_ : order.size();
    const size_t pool = std::max<size_t>(
        1, shuffle_ ? std::min(pool_ * step_size_, size) : size);
    for (size_t begin = 0; begin < size; begin += pool) {
      const auto first = order.begin() + static_cast<int64_t>(begin);
      const auto last =
          order.begin() + static_cast<int64_t>(std::min(begin + pool, size));
      std::stable_sort(first, last, [this](int64_t a, int64_t b) {
        return lengths_[static_cast<size_t>(a)] <
               lengths_[static_cast<size_t>(b)];
      });
    }
    if (!shuffle_) return order;
    std::vector<size_t> steps(size / step_size_);
    std::iota(steps.begin(), steps.end(), size_t{0});
    Random random = OrderDraws(key, 1);
    random.Shuffle(steps);
    std::vector<int64_t> shuffled;
    shuffled.reserve(order.size());
    const auto append = [&](size_t begin, size_t end) {
      shuffled.insert(shuffled.end(),
                      order.begin() + static_cast<int64_t>(begin),
                      order.begin() + static_cast<int64_t>(end));
    };
    for (size_t step : steps)
      append(step * step_size_, (step + 1) * step_size_);
    append(size, order.size());
    return shuffled;
  }

 private:
  const std::vector<double> lengths_;
  const size_t step_size_;
  const size_t pool_;
  const bool shuffle_;
};

}  // namespace

std::vector<int64_t> PlainOrder(int64_t size, bool shuffle,
                                const EpochKey& key) {
  if (shuffle && key.torch_seed) {
    return ToVector(at::randperm(size, TorchGenerator(key), at::kLong));
  }
  std::vector<int64_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  if (shuffle) {
    Random random({static_cast<uint64_t>(Stream::kOrder), key.seed,
                   static_cast<uint64_t>(key.epoch)});
    random.Shuffle(all);
  }
  return all;
}

std::unique_ptr<const Ordering> PlainSampler::Bind(
    const Dataset& dataset, int64_t /*step_size*/) const {
  return std::make_unique<PlainOrdering>(dataset.Size(), shuffle_);
}

std::vector<double> WeightedSampler::Weights(const Dataset& dataset) const {
  if (!options_.weights.empty()) return options_.weights;
  if (!options_.weight_field.empty()) {
    return NumberColumn(dataset, options_.weight_field);
  }
  const std::vector<int64_t> labels = WholeColumn(dataset, options_.field);
  std::map<int64_t, double> counts;
  for (int64_t label : labels) counts[label] += 1;
  std::vector<double> weights;
  weights.reserve(labels.size());
  for (int64_t label : labels) {
    if (options_.inverse_frequency) {
      weights.push_back(1.0 / counts[label]);
      continue;
    }
    const auto& given = options_.class_weights;
    if (label < 0 || label >= static_cast<int64_t>(given.size())) {
      throw Error(ErrorKind::kBadSpec,
                  "class_weights: there are " + std::to_string(given.size()) +
                      ", and a sample of class " + std::to_string(label) +
                      "; one for each class, from 0, is accepted");
    }
    weights.push_back(given[static_cast<size_t>(label)]);
  }
  return weights;
}

std::unique_ptr<const Ordering> WeightedSampler::Bind(
    const Dataset& dataset, int64_t /*step_size*/) const {
  std::vector<double> weights = Weights(dataset);
  const int64_t size = dataset.Size();
  if (static_cast<int64_t>(weights.size()) != size) {
    throw Error(ErrorKind::kBadSpec, "weights: there are " +
                                         std::to_string(weights.size()) +
                                         " for " + std::to_string(size) +
                                         " samples; one for each is accepted");
  }
  int64_t possible = 0;
  for (double weight : weights) {
    if (!(weight >= 0) || std::isinf(weight)) {
      throw Error(ErrorKind::kBadSpec, "weights: one is " +
                                           std::to_string(weight) +
                                           "; numbers from 0 are accepted");
    }
    possible += weight > 0;
  }
  const int64_t count = options_.num_samples.value_or(size);
  const int64_t most = options_.replacement ? INT64_MAX : possible;
  if ((possible == 0 && count > 0) || count > most) {
    throw Error(ErrorKind::kBadSpec,
                "weights: " + std::to_string(count) + " samples of " +
                    std::to_string(possible) +
                    " with a weight above 0; more than there are need "
                    "replacement: true");
  }
  return std::make_unique<WeightedOrdering>(std::move(weights), count,
                                            options_.replacement);
}

std::unique_ptr<const Ordering> BalancedSampler::Bind(
    const Dataset& dataset, int64_t /*step_size*/) const {
  std::map<int64_t, std::vector<int64_t>> by_class;
  const std::vector<int64_t> labels = WholeColumn(dataset, options_.field);
  for (size_t i = 0; i < labels.size(); ++i) {
    by_class[labels[i]].push_back(static_cast<int64_t>(i));
  }
  std::vector<std::vector<int64_t>> classes;
  size_t most = 0;
  size_t least = labels.size();
  for (auto& [label, own] : by_class) {
    most = std::max(most, own.size());
    least = std::min(least, own.size());
    classes.push_back(std::move(own));
  }
  const auto by_default =
      static_cast<int64_t>(options_.undersample ? least : most);
  return std::make_unique<BalancedOrdering>(
      std::move(classes), options_.per_class.value_or(by_default));
}

std::unique_ptr<const Ordering> BucketSampler::Bind(const Dataset& dataset,
                                                    int64_t step_size) const {
  return std::make_unique<BucketOrdering>(NumberColumn(dataset, options_.field),
                                          step_size, options_.pool,
                                          options_.shuffle);
}

}  // namespace epochd::engine
