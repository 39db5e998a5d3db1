// SPDX-License-Identifier: Apache-2.0
//
// Samplers, and the property that all of them and all views share: what comes
// out does not depend on threads, bounds, ranks or where it goes on from.
#include "worker/engine/data/samplers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "worker/engine/core/error.h"
#include "worker/engine/data/loader.h"
#include "worker/engine/data/random.h"
#include "worker/engine/data/splits.h"
#include "worker/engine/data/subset.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

// Class of each sample: 0 four times as often as 1, 2 seldom.
int64_t LabelOf(int64_t index) {
  return index % 10 == 9 ? 2 : index % 5 == 4 ? 1 : 0;
}

class Noise : public Transform {
 public:
  void Apply(Batch& sample, Random& random) const override {
    sample.Set("draw", at::scalar_tensor(static_cast<int64_t>(random.Next()),
                                         at::kLong));
  }
};

std::shared_ptr<const Dataset> Noisy(std::shared_ptr<const Dataset> base) {
  return std::make_shared<TransformedDataset>(
      std::move(base),
      std::vector<std::shared_ptr<Transform>>{std::make_shared<Noise>()});
}

// `size` samples of two classes and more, with lengths.
std::shared_ptr<const Dataset> Samples(int64_t size) {
  at::Tensor target = at::empty({size}, at::kLong);
  at::Tensor length = at::empty({size}, at::kLong);
  Random random({5});
  for (int64_t i = 0; i < size; ++i) {
    target[i].fill_(LabelOf(i));
    length[i].fill_(static_cast<int64_t>(random.Below(1000)));
  }
  return std::make_shared<TensorDataset>(
      Batch{{"input", at::arange(size, at::kFloat)},
            {"target", target},
            {"length", length},
            {"weight", at::arange(size, at::kDouble)}});
}

std::vector<int64_t> OrderOf(const Sampler& sampler, const Dataset& data,
                             int64_t epoch, int64_t step_size = 1) {
  return sampler.Bind(data, step_size)->Order({.seed = 3, .epoch = epoch});
}

TEST(WeightedSamplerTest, DrawsInProportion) {
  const auto data = Samples(10);
  const WeightedSampler sampler(
      {.weight_field = "weight", .num_samples = 45000});
  std::vector<int64_t> counts(10);
  for (int64_t index : OrderOf(sampler, *data, 0)) {
    ++counts[static_cast<size_t>(index)];
  }
  EXPECT_EQ(counts[0], 0);
  for (size_t i = 1; i < 10; ++i) {
    EXPECT_NEAR(counts[i], 1000 * i, 5 * std::sqrt(1000 * i)) << i;
  }
  EXPECT_NE(OrderOf(sampler, *data, 0), OrderOf(sampler, *data, 1));
}

TEST(WeightedSamplerTest, InverseFrequencyMakesClassesAlike) {
  const auto data = Samples(1000);
  const WeightedSampler sampler(
      {.inverse_frequency = true, .num_samples = 30000});
  std::map<int64_t, int64_t> counts;
  for (int64_t index : OrderOf(sampler, *data, 0)) ++counts[LabelOf(index)];
  for (int64_t label = 0; label < 3; ++label) {
    EXPECT_NEAR(counts[label], 10000, 500) << label;
  }
  const WeightedSampler by_class({.class_weights = {0.0, 1.0, 0.0}});
  for (int64_t index : OrderOf(by_class, *data, 0)) {
    EXPECT_EQ(LabelOf(index), 1);
  }
}

TEST(WeightedSamplerTest, WithoutReplacementEachComesOnceHeavyOnesFirst) {
  const auto data = Samples(10);
  const WeightedSampler sampler(
      {.weight_field = "weight", .num_samples = 9, .replacement = false});
  double first = 0;
  for (int64_t epoch = 0; epoch < 400; ++epoch) {
    const auto order = OrderOf(sampler, *data, epoch);
    EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 9u);
    EXPECT_EQ(std::count(order.begin(), order.end(), 0), 0);
    first += static_cast<double>(order.front());
  }
  // Of the first alone: the sum of w^2 / sum of w.
  EXPECT_NEAR(first / 400, 285.0 / 45.0, 0.5);
}

TEST(WeightedSamplerTest, RefusesWeightsThatCannotBeDrawnFrom) {
  const auto data = Samples(4);
  const auto bind = [&](WeightedSampler::Options options) {
    WeightedSampler(std::move(options)).Bind(*data, 1);
  };
  EXPECT_THROW(bind({.weights = {1, 2, 3}}), Error);
  EXPECT_THROW(bind({.weights = {1, 2, 3, -1}}), Error);
  EXPECT_THROW(bind({.weights = {0, 0, 0, 0}}), Error);
  EXPECT_THROW(bind({.weights = {1, 1, 1, NAN}}), Error);
  EXPECT_THROW(
      bind({.weights = {1, 1, 0, 0}, .num_samples = 3, .replacement = false}),
      Error);
  EXPECT_THROW(
      bind(
          {.class_weights = {}, .inverse_frequency = true, .field = "patient"}),
      Error);
  EXPECT_THROW(WeightedSampler({.class_weights = {1}}).Bind(*Samples(10), 1),
               Error);
}

TEST(BalancedSamplerTest, EveryRunOfPlacesHasEachClassOnce) {
  const auto data = Samples(100);
  for (bool undersample : {false, true}) {
    const BalancedSampler sampler({.undersample = undersample});
    const auto order = OrderOf(sampler, *data, 2);
    EXPECT_EQ(order.size(), undersample ? 30u : 240u);
    std::map<int64_t, int64_t> times;
    for (size_t i = 0; i < order.size(); i += 3) {
      std::set<int64_t> labels;
      for (size_t c = 0; c < 3; ++c) {
        labels.insert(LabelOf(order[i + c]));
        ++times[order[i + c]];
      }
      EXPECT_EQ(labels.size(), 3u);
    }
    if (undersample) continue;
    // Each sample of a class as often as any other, or once more.
    EXPECT_EQ(times.size(), 100u);
    for (const auto& [index, count] : times) {
      EXPECT_NEAR(count, 80.0 / (LabelOf(index) == 0 ? 80 : 10), 1);
    }
  }
}

TEST(BucketSamplerTest, StepsHaveLikeLengthsAndMissNoSample) {
  const auto data = Samples(503);
  const at::Tensor length = data->Column("length");
  const BucketSampler sampler({.pool = 20});
  const auto order = OrderOf(sampler, *data, 0, 8);
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 503u);
  const auto spread = [&](const std::vector<int64_t>& of) {
    int64_t sum = 0;
    for (size_t step = 0; step + 8 <= of.size(); step += 8) {
      int64_t least = 1000;
      int64_t most = 0;
      for (size_t i = step; i < step + 8; ++i) {
        const int64_t own = length[of[i]].item<int64_t>();
        least = std::min(least, own);
        most = std::max(most, own);
      }
      sum += most - least;
    }
    return sum;
  };
  EXPECT_LT(spread(order) * 5, spread(PlainOrder(503, true, {.seed = 3})));
  EXPECT_NE(order, OrderOf(sampler, *data, 1, 8));
  // Steps are shuffled: not from short to long.
  const BucketSampler sorted({.shuffle = false});
  const auto rising = OrderOf(sorted, *data, 0, 8);
  for (size_t i = 1; i < rising.size(); ++i) {
    EXPECT_LE(length[rising[i - 1]].item<int64_t>(),
              length[rising[i]].item<int64_t>());
  }
  EXPECT_NE(order, rising);
}

TEST(BucketSamplerTest, TheLongestAreNotThoseThatAreAlwaysLeftOut) {
  const auto data = Samples(21);
  const int64_t longest = data->Column("length").argmax().item<int64_t>();
  for (const bool drop_last : {true, false}) {
    SCOPED_TRACE(drop_last);
    // Two ranks leave out 5 samples, or the one that is not for both.
    LoaderOptions options;
    options.batch_size = 4;
    options.world_size = 2;
    options.seed = 9;
    options.drop_last = drop_last;
    options.trim = !drop_last;
    options.sampler = std::make_shared<BucketSampler>(BucketSampler::Options{});
    int came = 0;
    const int epochs = 60;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (int rank = 0; rank < 2; ++rank) {
        options.rank = rank;
        auto loader = MakeLoader(data, options);
        loader->StartEpoch(epoch, 0);
        Batch batch;
        while (loader->Next(batch)) {
          came += batch.At("input").eq(longest).sum().item<int>();
        }
      }
    }
    // 16 or 20 of 21.
    EXPECT_GT(came, epochs / 2);
    EXPECT_LT(came, epochs);
  }
}

// --- the property ---------------------------------------------------------

struct Case {
  std::string name;
  std::shared_ptr<const Dataset> data;
  std::shared_ptr<const Sampler> sampler;
};

std::vector<Case> Cases() {
  const auto plain = Samples(61);
  const auto half = [](std::vector<int> parts) {
    std::vector<int64_t> rows;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == 0) rows.push_back(static_cast<int64_t>(i));
    }
    return rows;
  };
  const std::vector<std::pair<std::string, std::shared_ptr<const Dataset>>>
      views = {
          {"whole", Noisy(plain)},
          {"subset", std::make_shared<SubsetDataset>(
                         Noisy(plain),
                         half(SplitByFractions({.size = 61}, {0.6, 0.4}, 1)))},
          {"concat", std::make_shared<ConcatDataset>(
                         std::vector<std::shared_ptr<const Dataset>>{
                             Noisy(plain), Noisy(Samples(20))})},
          {"noisy concat of subsets",
           Noisy(std::make_shared<ConcatDataset>(
               std::vector<std::shared_ptr<const Dataset>>{
                   std::make_shared<SubsetDataset>(
                       Noisy(plain), half(SplitIntoFolds({.size = 61}, 3, 2))),
                   Noisy(plain)}))}};
  const std::vector<std::pair<std::string, std::shared_ptr<const Sampler>>>
      samplers = {
          {"default", std::make_shared<PlainSampler>(true, false)},
          {"weighted",
           std::make_shared<WeightedSampler>(WeightedSampler::Options{
               .inverse_frequency = true, .num_samples = 50})},
          {"picked", std::make_shared<WeightedSampler>(
                         WeightedSampler::Options{.inverse_frequency = true,
                                                  .num_samples = 15,
                                                  .replacement = false})},
          {"balanced",
           std::make_shared<BalancedSampler>(BalancedSampler::Options{})},
          {"bucket",
           std::make_shared<BucketSampler>(BucketSampler::Options{.pool = 2})}};
  std::vector<Case> cases;
  for (const auto& [view, data] : views) {
    for (const auto& [name, sampler] : samplers) {
      cases.push_back({view + ", " + name, data, sampler});
    }
  }
  return cases;
}

// (input, draw) of each sample, batch by batch.
using Seen = std::vector<std::vector<std::pair<float, int64_t>>>;

Seen SeenInEpoch(BatchSource& source, int64_t epoch, int64_t first = 0) {
  Seen seen;
  source.StartEpoch(epoch, first);
  Batch batch;
  while (source.Next(batch)) {
    seen.emplace_back();
    for (int64_t i = 0; i < batch.Size(); ++i) {
      seen.back().emplace_back(batch.At("input")[i].item<float>(),
                               batch.At("draw")[i].item<int64_t>());
    }
  }
  return seen;
}

LoaderOptions Options(const Case& each) {
  LoaderOptions options;
  options.batch_size = 12;
  options.seed = 9;
  options.pad = true;
  options.sampler = each.sampler;
  return options;
}

TEST(LoaderPropertyTest, ThreadsAndBoundsChangeNoBit) {
  for (const Case& each : Cases()) {
    SCOPED_TRACE(each.name);
    LoaderOptions options = Options(each);
    auto reference = MakeLoader(each.data, options);
    for (int threads : {1, 4}) {
      options.threads = threads;
      options.prefetch_bytes = threads == 4 ? 1 : int64_t{1} << 30;
      auto loader = MakeLoader(each.data, options);
      for (int64_t epoch : {0, 3}) {
        EXPECT_EQ(SeenInEpoch(*reference, epoch), SeenInEpoch(*loader, epoch));
      }
    }
    EXPECT_NE(SeenInEpoch(*reference, 0), SeenInEpoch(*reference, 1));
  }
}

TEST(LoaderPropertyTest, GoesOnAtAnyBatch) {
  for (const Case& each : Cases()) {
    SCOPED_TRACE(each.name);
    LoaderOptions options = Options(each);
    auto loader = MakeLoader(each.data, options);
    const Seen whole = SeenInEpoch(*loader, 2);
    ASSERT_EQ(static_cast<int64_t>(whole.size()), loader->NumBatches());
    options.threads = 2;
    auto other = MakeLoader(each.data, options);
    for (size_t first = 0; first <= whole.size(); ++first) {
      EXPECT_EQ(SeenInEpoch(*other, 2, static_cast<int64_t>(first)),
                Seen(whole.begin() + static_cast<int64_t>(first), whole.end()));
    }
  }
}

TEST(LoaderPropertyTest, AStepHasTheSameSamplesOnAnyNumberOfRanks) {
  for (const Case& each : Cases()) {
    SCOPED_TRACE(each.name);
    const Seen whole = SeenInEpoch(*MakeLoader(each.data, Options(each)), 1);
    for (int world : {2, 3, 4}) {
      std::vector<Seen> of_rank;
      for (int rank = 0; rank < world; ++rank) {
        LoaderOptions options = Options(each);
        options.batch_size = 12 / world;
        options.world_size = world;
        options.rank = rank;
        of_rank.push_back(SeenInEpoch(*MakeLoader(each.data, options), 1));
        ASSERT_EQ(of_rank.back().size(), whole.size());
      }
      for (size_t step = 0; step < whole.size(); ++step) {
        // The last step may have been filled up.
        for (size_t i = 0; i < whole[step].size(); ++i) {
          EXPECT_EQ(of_rank[i % static_cast<size_t>(world)][step]
                           [i / static_cast<size_t>(world)],
                    whole[step][i]);
        }
      }
    }
  }
}

TEST(LoaderPropertyTest, RepeatedSamplesAreAugmentedAnew) {
  const auto data = Noisy(Samples(40));
  LoaderOptions options;
  options.batch_size = 16;
  options.sampler =
      std::make_shared<BalancedSampler>(BalancedSampler::Options{});
  std::set<std::pair<float, int64_t>> different;
  size_t samples = 0;
  for (const auto& batch : SeenInEpoch(*MakeLoader(data, options), 0)) {
    different.insert(batch.begin(), batch.end());
    samples += batch.size();
  }
  EXPECT_EQ(samples, 96u);
  EXPECT_EQ(different.size(), samples);
}

}  // namespace
}  // namespace epochd::engine
