// SPDX-License-Identifier: Apache-2.0
//
// Seeds, orders and threads of the loader: rows of
// shared/cases/trainer_cases.md, section G.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/epoch_order.h"
#include "tests/worker/engine/loop/tiny_run.h"
#include "worker/engine/core/seed.h"
#include "worker/engine/data/bounded_source.h"
#include "worker/engine/data/loader.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

// One 64-bit draw beside each sample.
class Draw : public Transform {
 public:
  void Apply(Batch& sample, Random& random) const override {
    sample.Set("draw", at::scalar_tensor(static_cast<int64_t>(random.Next()),
                                         at::kLong));
  }
};

std::shared_ptr<const Dataset> Drawn(int64_t size) {
  return std::make_shared<TransformedDataset>(
      std::make_shared<TensorDataset>(Batch{{"input", at::arange(size)}}),
      std::vector<std::shared_ptr<Transform>>{std::make_shared<Draw>()});
}

// Ids and draws of `epochs` epochs.
std::pair<std::vector<int64_t>, std::vector<int64_t>> Pull(
    const LoaderOptions& options, int epochs, int64_t size = 8) {
  const auto loader = MakeLoader(Drawn(size), options);
  std::pair<std::vector<int64_t>, std::vector<int64_t>> pulled;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    loader->StartEpoch(epoch, 0);
    for (Batch batch; loader->Next(batch);) {
      for (int64_t i = 0; i < batch.Size(); ++i) {
        pulled.first.push_back(batch.At("input")[i].item<int64_t>());
        pulled.second.push_back(batch.At("draw")[i].item<int64_t>());
      }
    }
  }
  return pulled;
}

TEST(SeedTest, Case95DrawsAnewForEachSampleAndEpochAndTheSameForASeed) {
  const LoaderOptions options = {.batch_size = 2, .threads = 4, .seed = 1};
  const auto [ids, draws] = Pull(options, 2);
  EXPECT_EQ(std::set<int64_t>(draws.begin(), draws.end()).size(), 16u);
  EXPECT_EQ(Pull(options, 2).second, draws);
}

TEST(SeedTest, Case97GivesTheSameWithAnyNumberOfThreads) {
  const auto expected = Pull({.batch_size = 2, .shuffle = true, .seed = 3}, 3);
  for (const int threads : {1, 2, 4}) {
    EXPECT_EQ(
        Pull({.batch_size = 2, .shuffle = true, .threads = threads, .seed = 3},
             3),
        expected)
        << threads;
  }
}

TEST(SeedTest, Case99GivesRanksDisjointSamplesWhateverTheSeed) {
  std::set<int64_t> all;
  for (const int rank : {0, 1}) {
    const auto [ids, draws] =
        Pull({.batch_size = 4, .shuffle = true, .rank = rank, .world_size = 2},
             1, 32);
    EXPECT_EQ(ids.size(), 16u);
    all.insert(ids.begin(), ids.end());
  }
  EXPECT_EQ(all.size(), 32u);
}

TEST(SeedTest, Case100KeepsLargeSeedsApartInTheLow32Bits) {
  EXPECT_NE(HashSeed32({5}), HashSeed32({5 + (uint64_t{1} << 32)}));
  EXPECT_NE(HashSeed32({0}), HashSeed32({uint64_t{1} << 63}));
  std::set<std::vector<int64_t>> orders;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{5}, 5 + (uint64_t{1} << 32),
                              uint64_t{1} << 63, UINT64_MAX}) {
    orders.insert(EpochOrder(32, 0, {.shuffle = true, .seed = seed}));
  }
  EXPECT_EQ(orders.size(), 5u);
}

TEST(SeedTest, Case102TakesSeed0AsASeed) {
  Json json = DigitsExperiment(1);
  json["seed"] = 0;
  TestRun zero(json);
  EXPECT_EQ(zero.experiment.seed, 0u);
  TestRun again(json);
  EXPECT_TRUE(zero.Weights().equal(again.Weights()));
  json["seed"] = 1;
  TestRun one(json);
  EXPECT_FALSE(zero.Weights().equal(one.Weights()));
}

TEST(SeedTest, Case103OrdersEachEpochAnewThroughEveryView) {
  const LoaderOptions options = {.batch_size = 2, .shuffle = true, .seed = 0};
  EXPECT_NE(EpochOrder(6, 0, options), EpochOrder(6, 1, options));
  const auto pulled = [](BatchSource& source, int64_t epoch) {
    std::vector<int64_t> ids;
    source.StartEpoch(epoch, 0);
    for (Batch batch; source.Next(batch);) {
      for (int64_t i = 0; i < batch.Size(); ++i) {
        ids.push_back(batch.At("input")[i].item<int64_t>());
      }
    }
    return ids;
  };
  const auto limited = LimitBatches(MakeLoader(Drawn(60), options), 3);
  EXPECT_NE(pulled(*limited, 0), pulled(*limited, 1));
  // Two limited epochs of an endless stream are its first six batches.
  const auto endless = RepeatForever(MakeLoader(Drawn(8), options), 3);
  std::vector<int64_t> two = pulled(*endless, 0);
  for (const int64_t id : pulled(*endless, 1)) two.push_back(id);
  const auto whole = Pull(options, 2).first;
  EXPECT_EQ(two, std::vector<int64_t>(whole.begin(), whole.begin() + 12));
}

TEST(SeedTest, SkipsToABatchWithoutMakingThoseBefore) {
  const auto endless = RepeatForever(
      MakeLoader(Drawn(6), {.batch_size = 2, .shuffle = true, .seed = 4}));
  Batch straight;
  endless->StartEpoch(0, 0);
  for (int i = 0; i < 8; ++i) endless->Next(straight);
  Batch resumed;
  endless->StartEpoch(0, 7);
  endless->Next(resumed);
  EXPECT_TRUE(straight.At("input").equal(resumed.At("input")));
}

}  // namespace
}  // namespace epochd::engine
