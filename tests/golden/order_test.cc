// SPDX-License-Identifier: Apache-2.0
//
// With `order: torch` loaders give samples in the order that record_order.py
// recorded of torch's DistributedSampler and MMEngine's samplers, to each rank.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/golden/golden.h"
#include "worker/engine/core/seed.h"
#include "worker/engine/data/bounded_source.h"
#include "worker/engine/data/loader.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

using nlohmann::json;
using Order = std::vector<int64_t>;

LoaderOptions OptionsOf(const json& recorded, int rank) {
  LoaderOptions options;
  options.shuffle = recorded.value("shuffle", true);
  options.torch_order = recorded["seed"].get<uint64_t>();
  options.rank = rank;
  options.world_size = recorded["world"].get<int>();
  options.batch_size = recorded.value("batch_size", int64_t{1});
  options.drop_last = recorded.value("drop_last", false);
  return options;
}

std::unique_ptr<BatchSource> Numbers(const json& recorded,
                                     const LoaderOptions& options) {
  return MakeLoader(
      std::make_shared<TensorDataset>(
          Batch{{"input", at::arange(recorded["size"].get<int64_t>())}}),
      options);
}

// At most `count` batches.
std::vector<Order> Batches(BatchSource& source, int64_t epoch,
                           size_t count = SIZE_MAX) {
  std::vector<Order> batches;
  source.StartEpoch(epoch, 0);
  for (Batch batch; batches.size() < count && source.Next(batch);) {
    const at::Tensor input = batch.At("input");
    const auto* values = input.const_data_ptr<int64_t>();
    batches.emplace_back(values, values + input.numel());
  }
  return batches;
}

Order Samples(BatchSource& source, int64_t epoch, size_t count = SIZE_MAX) {
  Order samples;
  for (const Order& batch : Batches(source, epoch, count)) {
    samples.insert(samples.end(), batch.begin(), batch.end());
  }
  return samples;
}

TEST(OrderTest, Case103EachRankHasTheSamplesOfTorchAndMmEngine) {
  const json cases = golden::Read("order")["orders"];
  ASSERT_EQ(cases.size(), 140u);
  for (const json& recorded : cases) {
    SCOPED_TRACE(recorded.dump());
    const std::string share = recorded["share"];
    for (int rank = 0; rank < recorded["world"].get<int>(); ++rank) {
      LoaderOptions options = OptionsOf(recorded, rank);
      options.pad = share == "pad";
      options.trim = share == "drop";
      const auto source = Numbers(recorded, options);
      const json& epochs = recorded["ranks"][static_cast<size_t>(rank)];
      for (size_t epoch = 0; epoch < epochs.size(); ++epoch) {
        EXPECT_EQ(Samples(*source, static_cast<int64_t>(epoch)),
                  epochs[epoch].get<Order>())
            << "rank " << rank << ", epoch " << epoch;
      }
    }
  }
}

TEST(OrderTest, BatchesAreThoseOfTorchsDataLoader) {
  const json cases = golden::Read("order")["batches"];
  ASSERT_EQ(cases.size(), 4u);
  for (const json& recorded : cases) {
    SCOPED_TRACE(recorded.dump());
    for (int threads : {0, 3}) {
      for (int rank = 0; rank < recorded["world"].get<int>(); ++rank) {
        LoaderOptions options = OptionsOf(recorded, rank);
        options.pad = true;
        options.threads = threads;
        const auto source = Numbers(recorded, options);
        EXPECT_EQ(Batches(*source, recorded["epoch"].get<int64_t>()),
                  recorded["ranks"][static_cast<size_t>(rank)]
                      .get<std::vector<Order>>());
      }
    }
  }
}

// Ours are passes, each shared out for itself, whose order follows from (seed,
// epoch); InfiniteSampler's are one stream. The first pass is the same, and
// those that are not shuffled are where they can be shared out evenly.
TEST(OrderTest, EndlessDataBeginWithMmEnginesFirstPass) {
  const json cases = golden::Read("order")["endless"];
  ASSERT_EQ(cases.size(), 8u);
  for (const json& recorded : cases) {
    SCOPED_TRACE(recorded.dump());
    const int world = recorded["world"].get<int>();
    const auto size = recorded["size"].get<size_t>();
    const bool is_even = size % static_cast<size_t>(world) == 0;
    for (int rank = 0; rank < world; ++rank) {
      LoaderOptions options = OptionsOf(recorded, rank);
      options.pad = true;
      const auto source = RepeatForever(Numbers(recorded, options));
      EXPECT_EQ(source->NumBatches(), kEndless);
      auto theirs = recorded["ranks"][static_cast<size_t>(rank)].get<Order>();
      if (recorded["shuffle"] || !is_even) {
        theirs.resize(size / static_cast<size_t>(world));
      }
      EXPECT_EQ(Samples(*source, 0, theirs.size()), theirs);
    }
  }
}

// Seeds that are added up meet: what one worker or rank draws, a worker of the
// next rank, or a run with the next seed, draws too. Ours are hashed.
TEST(OrderTest, NeighbouringSeedsAndRanksShareNoStream) {
  const json recorded = golden::Read("order");
  EXPECT_EQ(recorded["workers"], (json{3, 4, 5, 6}));
  EXPECT_EQ(recorded["ranks"]["different"], (json{3, 4, 5, 6}));
  EXPECT_NE(HashSeed32({3, 1}), HashSeed32({4, 0}));
}

}  // namespace
}  // namespace epochd::engine
