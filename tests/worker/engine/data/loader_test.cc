// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/loader.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <stdexcept>

#include "tests/worker/engine/epoch_order.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/random.h"
#include "worker/engine/data/transforms.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

std::shared_ptr<Dataset> Images(int64_t n) {
  at::Tensor input = at::arange(n * 2 * 4 * 4, at::kFloat).view({n, 2, 4, 4});
  return std::make_shared<TensorDataset>(
      Batch{{"input", input}, {"target", at::arange(n)}});
}

std::shared_ptr<Dataset> Augmented(int64_t n) {
  return std::make_shared<TransformedDataset>(
      Images(n),
      std::vector<std::shared_ptr<Transform>>{
          std::make_shared<Normalize>(std::vector<double>{1, 2},
                                      std::vector<double>{2, 3}, "input"),
          std::make_shared<RandomFlip>(false, 0.5, "input"),
          std::make_shared<RandomShift>(1, 0.0, "input")});
}

std::vector<Batch> Epoch(BatchSource& source, int64_t epoch,
                         int64_t first_batch = 0) {
  std::vector<Batch> batches;
  source.StartEpoch(epoch, first_batch);
  for (Batch batch; source.Next(batch);) batches.push_back(batch);
  return batches;
}

void ExpectEqual(const std::vector<Batch>& a, const std::vector<Batch>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    for (const auto& [name, value] : a[i]) {
      EXPECT_TRUE(at::equal(value, b[i].At(name))) << name << " of " << i;
    }
  }
}

std::vector<int64_t> Targets(const std::vector<Batch>& batches) {
  std::vector<int64_t> targets;
  for (const Batch& batch : batches) {
    const at::Tensor column = batch.At("target");
    for (int64_t i = 0; i < column.size(0); ++i) {
      targets.push_back(column[i].item<int64_t>());
    }
  }
  return targets;
}

LoaderOptions Options(int threads) {
  LoaderOptions options;
  options.batch_size = 4;
  options.shuffle = true;
  options.threads = threads;
  options.seed = 7;
  return options;
}

TEST(LoaderTest, GivesTheSameBitsForAnyNumberOfThreads) {
  auto reference = MakeLoader(Augmented(23), Options(0));
  for (int threads : {1, 2, 5}) {
    auto loader = MakeLoader(Augmented(23), Options(threads));
    for (int64_t epoch : {0, 1, 5}) {
      SCOPED_TRACE(testing::Message() << threads << " threads, " << epoch);
      ExpectEqual(Epoch(*reference, epoch), Epoch(*loader, epoch));
    }
  }
}

TEST(LoaderTest, ResumesInMidEpochWithTheSameBatches) {
  auto loader = MakeLoader(Augmented(23), Options(2));
  std::vector<Batch> whole = Epoch(*loader, 3);
  std::vector<Batch> rest = Epoch(*loader, 3, 2);
  whole.erase(whole.begin(), whole.begin() + 2);
  ExpectEqual(whole, rest);
}

TEST(LoaderTest, DropsAnEpochThatWasNotFinished) {
  auto loader = MakeLoader(Augmented(23), Options(3));
  for (int i = 0; i < 50; ++i) {
    loader->StartEpoch(i, 0);
    Batch batch;
    ASSERT_TRUE(loader->Next(batch));
  }
  auto fresh = MakeLoader(Augmented(23), Options(0));
  ExpectEqual(Epoch(*fresh, 9), Epoch(*loader, 9));
}

TEST(LoaderTest, EveryEpochHasEachSampleOnceInAnotherOrder) {
  auto loader = MakeLoader(Images(23), Options(2));
  const std::vector<int64_t> first = Targets(Epoch(*loader, 0));
  const std::vector<int64_t> second = Targets(Epoch(*loader, 1));
  EXPECT_NE(first, second);
  for (const auto& order : {first, second}) {
    EXPECT_EQ(order.size(), 23u);
    EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 23u);
  }
}

TEST(LoaderTest, RanksShareTheSamplesOfOneStep) {
  LoaderOptions whole = Options(0);
  const std::vector<int64_t> all = EpochOrder(24, 2, whole);
  std::vector<int64_t> joined(24);
  for (int rank = 0; rank < 3; ++rank) {
    LoaderOptions options = Options(0);
    options.rank = rank;
    options.world_size = 3;
    const std::vector<int64_t> mine = EpochOrder(24, 2, options);
    ASSERT_EQ(mine.size(), 8u);
    for (size_t i = 0; i < mine.size(); ++i) joined[3 * i + rank] = mine[i];
  }
  EXPECT_EQ(joined, all);
}

TEST(LoaderTest, PaddingKeepsRanksInStepAndEvaluationCountsEachSampleOnce) {
  for (int64_t size : {0, 1, 2, 5, 8, 9}) {
    std::multiset<int64_t> seen;
    std::set<int64_t> padded_batches;
    for (int rank = 0; rank < 4; ++rank) {
      LoaderOptions options = Options(0);
      options.batch_size = 2;
      options.rank = rank;
      options.world_size = 4;
      auto once = MakeLoader(Images(size), options);
      for (int64_t target : Targets(Epoch(*once, 0))) seen.insert(target);
      options.pad = true;
      auto padded = MakeLoader(Images(size), options);
      padded_batches.insert(static_cast<int64_t>(Epoch(*padded, 0).size()));
      EXPECT_EQ(static_cast<int64_t>(Epoch(*padded, 0).size()),
                padded->NumBatches());
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), size);
    EXPECT_EQ(static_cast<int64_t>(
                  std::set<int64_t>(seen.begin(), seen.end()).size()),
              size);
    EXPECT_EQ(padded_batches.size(), 1u) << size;
  }
}

TEST(LoaderTest, DropLastLeavesOutTheShortBatch) {
  LoaderOptions options = Options(2);
  options.drop_last = true;
  auto loader = MakeLoader(Images(23), options);
  EXPECT_EQ(loader->NumBatches(), 5);
  EXPECT_EQ(Targets(Epoch(*loader, 0)).size(), 20u);
}

class BrokenAt : public Dataset {
 public:
  explicit BrokenAt(int64_t index) : index_(index) {}
  int64_t Size() const override { return 12; }
  Batch Get(int64_t index, const SampleSeed& /*seed*/) const override {
    if (index == index_) {
      throw Error(ErrorKind::kBadSpec, "unreadable");
    }
    return Batch{{"target", at::scalar_tensor(index)}};
  }

 private:
  int64_t index_;
};

TEST(LoaderTest, ThrowsAThreadsErrorWhereItsBatchWouldHaveCome) {
  for (int threads : {0, 3}) {
    LoaderOptions options = Options(threads);
    options.shuffle = false;
    auto loader = MakeLoader(std::make_shared<BrokenAt>(9), options);
    loader->StartEpoch(0, 0);
    Batch batch;
    EXPECT_TRUE(loader->Next(batch));
    EXPECT_TRUE(loader->Next(batch));
    try {
      loader->Next(batch);
      FAIL() << "no error with " << threads << " threads";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "data: sample 9: unreadable");
    }
  }
}

TEST(LoaderTest, RefusesOptionsThatMakeNoSense) {
  LoaderOptions options = Options(0);
  options.batch_size = 0;
  EXPECT_THROW(MakeLoader(Images(3), options), Error);
  options = Options(-1);
  EXPECT_THROW(MakeLoader(Images(3), options), Error);
}

// Gives each sample 64 random bits of its stream.
class Draws : public Dataset {
 public:
  explicit Draws(int64_t size) : size_(size) {}
  int64_t Size() const override { return size_; }
  Batch Get(int64_t index, const SampleSeed& seed) const override {
    Random random({seed.seed, static_cast<uint64_t>(seed.epoch),
                   static_cast<uint64_t>(index)});
    return Batch{
        {"target",
         at::scalar_tensor(static_cast<int64_t>(random.Next()), at::kLong)}};
  }

 private:
  int64_t size_;
};

TEST(LoaderTest, Case95NoTwoSamplesOrEpochsShareAStream) {
  std::vector<std::vector<int64_t>> runs;
  for (int run = 0; run < 2; ++run) {
    LoaderOptions options = Options(4);
    options.batch_size = 2;
    auto loader = MakeLoader(std::make_shared<Draws>(8), options);
    std::vector<int64_t> drawn = Targets(Epoch(*loader, 0));
    for (int64_t value : Targets(Epoch(*loader, 1))) drawn.push_back(value);
    EXPECT_EQ(std::set<int64_t>(drawn.begin(), drawn.end()).size(), 16u);
    runs.push_back(std::move(drawn));
  }
  EXPECT_EQ(runs[0], runs[1]);
}

TEST(LoaderTest, Case97ThreadsDoNotChangeWhatIsDrawn) {
  std::vector<std::vector<int64_t>> runs;
  for (int threads : {0, 1, 2, 4}) {
    auto loader = MakeLoader(std::make_shared<Draws>(23), Options(threads));
    runs.push_back(Targets(Epoch(*loader, 1)));
  }
  for (const auto& run : runs) EXPECT_EQ(run, runs[0]);
}

TEST(LoaderTest, Case99RanksShareOneOrderWhateverTheSeed) {
  // The seed is the experiment's, 0 unless it is given: never one per process.
  std::set<int64_t> seen;
  for (int rank = 0; rank < 2; ++rank) {
    LoaderOptions options;
    options.shuffle = true;
    options.batch_size = 4;
    options.rank = rank;
    options.world_size = 2;
    for (int64_t index : EpochOrder(32, 0, options)) {
      EXPECT_TRUE(seen.insert(index).second) << index;
    }
  }
  EXPECT_EQ(seen.size(), 32u);
}

TEST(LoaderTest, Case100And102EverySeedHasAnOrderOfItsOwn) {
  std::set<std::vector<int64_t>> orders;
  const std::vector<uint64_t> seeds = {
      0, 1, 5, 5 + (uint64_t{1} << 32), uint64_t{1} << 63, ~uint64_t{0}};
  for (uint64_t seed : seeds) {
    LoaderOptions options;
    options.shuffle = true;
    options.seed = seed;
    orders.insert(EpochOrder(40, 0, options));
  }
  EXPECT_EQ(orders.size(), seeds.size());
}

TEST(LoaderTest, Case103TorchsOrderOfEachEpochWhereThatIsAsked) {
  LoaderOptions options;
  options.shuffle = true;
  options.torch_order = 0;
  using Order = std::vector<int64_t>;
  EXPECT_EQ(EpochOrder(6, 0, options), (Order{2, 5, 3, 0, 1, 4}));
  EXPECT_EQ(EpochOrder(6, 1, options), (Order{1, 5, 2, 0, 3, 4}));
  // Through the loader, and for ranks.
  auto loader = MakeLoader(Images(6), options);
  EXPECT_EQ(Targets(Epoch(*loader, 1)), (Order{1, 5, 2, 0, 3, 4}));
  options.world_size = 2;
  options.rank = 1;
  EXPECT_EQ(EpochOrder(6, 0, options), (Order{5, 0, 4}));
  options.torch_order.reset();
  EXPECT_NE(EpochOrder(60, 0, options), EpochOrder(60, 1, options));
}

TEST(LoaderTest, Case83TheNextEpochIsWholeAgain) {
  auto loader = MakeLoader(Images(20), Options(2));
  EXPECT_EQ(Epoch(*loader, 0, 2).size(), 3u);
  EXPECT_EQ(Epoch(*loader, 1).size(), 5u);
}

TEST(TransformsTest, NormalizeIsTheSameOnSampleAndBatch) {
  auto data = Augmented(5);
  std::vector<int64_t> indices(5);
  std::iota(indices.begin(), indices.end(), 0);
  const Batch batch = data->GetBatch(indices, {3, 1});
  for (int64_t i : indices) {
    EXPECT_TRUE(
        at::equal(batch.At("input")[i], data->Get(i, {3, 1}).At("input")));
  }
}

TEST(TransformsTest, NormalizeSubtractsMeanAndDividesByStdPerChannel) {
  Normalize normalize({1, 2}, {2, 4}, "input");
  Batch sample{{"input", at::full({2, 1, 1}, 5.0)}};
  Random random({1});
  normalize.Apply(sample, random);
  EXPECT_EQ(sample.At("input").flatten()[0].item<float>(), 2.0f);
  EXPECT_EQ(sample.At("input").flatten()[1].item<float>(), 0.75f);
}

TEST(TransformsTest, NormalizeRefusesAZeroStd) {
  EXPECT_THROW(Normalize({0}, {0}, "input"), Error);
  EXPECT_THROW(Normalize({0, 1}, {1}, "input"), Error);
}

TEST(TransformsTest, FlipMirrorsTheNamedAxisAsOftenAsAsked) {
  const at::Tensor image = at::arange(8, at::kFloat).view({1, 2, 4});
  int flipped = 0;
  for (uint64_t i = 0; i < 400; ++i) {
    Batch sample{{"input", image}};
    Random random({i});
    RandomFlip(false, 0.25, "input").Apply(sample, random);
    if (at::equal(sample.At("input"), image)) continue;
    EXPECT_TRUE(at::equal(sample.At("input"), image.flip({2})));
    ++flipped;
  }
  EXPECT_GT(flipped, 60);
  EXPECT_LT(flipped, 140);
  Batch sample{{"input", image}};
  Random random({1});
  RandomFlip(true, 1.0, "input").Apply(sample, random);
  EXPECT_TRUE(at::equal(sample.At("input"), image.flip({1})));
}

TEST(TransformsTest, CropReachesEveryPlaceAndFillsThePadding) {
  std::set<float> corners;
  for (uint64_t i = 0; i < 200; ++i) {
    Batch sample{{"input", at::arange(1, 5, at::kFloat).view({1, 2, 2})}};
    Random random({i});
    RandomCrop(2, 2, 1, -1.0, "input").Apply(sample, random);
    ASSERT_EQ(sample.At("input").sizes(), at::IntArrayRef({1, 2, 2}));
    corners.insert(sample.At("input")[0][0][0].item<float>());
  }
  EXPECT_EQ(corners, (std::set<float>{-1, 1, 2, 3, 4}));
}

TEST(TransformsTest, ImageTransformsNameTheShapeTheyCannotUse) {
  Batch sample{{"input", at::zeros({64})}};
  Random random({1});
  try {
    RandomShift(1, 0, "input").Apply(sample, random);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("[64]"), std::string::npos);
  }
  EXPECT_THROW(RandomCrop(9, 9, 0, 0, "input").Apply(sample, random), Error);
}

}  // namespace
}  // namespace epochd::engine
