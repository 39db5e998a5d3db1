// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/views.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/random.h"
#include "worker/engine/data/splits.h"
#include "worker/engine/data/subset.h"

namespace epochd::engine {
namespace {

std::shared_ptr<Dataset> Numbers(int64_t from, int64_t to) {
  return std::make_shared<TensorDataset>(
      Batch{{"input", at::arange(from, to, at::kFloat)},
            {"target", at::arange(from, to).remainder(3)}});
}

// Adds what it draws, so that two streams are told apart.
class AddDraw : public Transform {
 public:
  void Apply(Batch& sample, Random& random) const override {
    sample.Set("draw", at::scalar_tensor(static_cast<int64_t>(random.Next()),
                                         at::kLong));
    sample.Set("draw" + std::to_string(sample.Find("draw0") ? 1 : 0),
               sample.At("draw"));
  }
};

std::shared_ptr<Dataset> Drawing(std::shared_ptr<const Dataset> base) {
  return std::make_shared<TransformedDataset>(
      std::move(base),
      std::vector<std::shared_ptr<Transform>>{std::make_shared<AddDraw>()});
}

std::vector<int64_t> Range(int64_t size) {
  std::vector<int64_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<float> Inputs(const Batch& batch) {
  const at::Tensor input = batch.At("input").contiguous();
  return {input.const_data_ptr<float>(),
          input.const_data_ptr<float>() + input.numel()};
}

void ExpectSame(const Batch& one, const Batch& other) {
  for (const auto& [name, value] : one) {
    EXPECT_TRUE(at::equal(value, other.At(name))) << name;
  }
}

TEST(SubsetTest, GivesTheChosenSamplesInTheirOrder) {
  const SubsetDataset subset(Numbers(0, 9), {7, 2, 2, 0});
  EXPECT_EQ(subset.Size(), 4);
  const std::vector<int64_t> places = {3, 0, 1};
  EXPECT_EQ(Inputs(subset.GetBatch(places, {})), (std::vector<float>{0, 7, 2}));
  EXPECT_EQ(subset.Get(1, {}).At("input").item<float>(), 2);
  EXPECT_TRUE(
      at::equal(subset.Column("target"), at::tensor({1, 2, 2, 0}, at::kLong)));
  EXPECT_FALSE(subset.Column("length").defined());
}

TEST(SubsetTest, NamesAnIndexThatIsNotThere) {
  EXPECT_NE(ErrorOf([] {
              SubsetDataset(Numbers(0, 9), {3, 9});
            }).find("no sample 9"),
            std::string::npos);
  EXPECT_NE(ErrorOf([] { SubsetDataset(Numbers(0, 9), {-1}); }), "");
}

TEST(SubsetTest, ASampleIsAugmentedAlikeInEverySubset) {
  const auto whole = Drawing(Numbers(0, 9));
  const SubsetDataset subset(whole, {5, 3});
  const SampleSeed seed{4, 2};
  const std::vector<int64_t> places = {0, 1};
  const std::vector<int64_t> originals = {5, 3};
  ExpectSame(subset.GetBatch(places, seed), whole->GetBatch(originals, seed));
  ExpectSame(subset.Get(1, seed), whole->Get(3, seed));
}

TEST(TransformedTest, TransformsAroundAViewDrawAnew) {
  const auto inner = Drawing(Numbers(0, 4));
  const auto outer = Drawing(std::make_shared<SubsetDataset>(inner, Range(4)));
  const Batch sample = outer->Get(2, {4, 2});
  EXPECT_NE(sample.At("draw0").item<int64_t>(),
            sample.At("draw1").item<int64_t>());
}

TEST(TransformedTest, RepeatsOfASampleHaveStreamsOfTheirOwn) {
  const auto data = Drawing(Numbers(0, 4));
  const std::vector<int64_t> indices = {2, 2, 2, 1};
  const std::vector<int64_t> repeats = {0, 1, 2, 0};
  SampleSeed seed{4, 2};
  seed.repeats = repeats;
  const Batch batch = data->GetBatch(indices, seed);
  std::set<int64_t> draws;
  for (int64_t i = 0; i < 4; ++i) {
    draws.insert(batch.At("draw")[i].item<int64_t>());
    const auto place = static_cast<size_t>(i);
    EXPECT_EQ(
        data->Get(indices[place], seed.Of(place)).At("draw").item<int64_t>(),
        batch.At("draw")[i].item<int64_t>());
  }
  EXPECT_EQ(draws.size(), 4u);
  // The first time is what it is without repeats.
  EXPECT_EQ(data->Get(2, {4, 2}).At("draw").item<int64_t>(),
            batch.At("draw")[0].item<int64_t>());
}

// Sample i has i + 2 values, the first of which is drawn.
class Growing : public Dataset {
 public:
  int64_t Size() const override { return 5; }
  Batch Get(int64_t index, const SampleSeed& seed) const override {
    at::Tensor input = at::arange(index + 2, at::kDouble);
    Random random({seed.seed, static_cast<uint64_t>(index)});
    input[0].fill_(random.Uniform());
    return Batch{{"input", input}};
  }
};

// Keeps the first values; refuses what has too few.
class Keep : public Transform {
 public:
  explicit Keep(int64_t count) : count_(count) {}
  void Apply(Batch& sample, Random& /*random*/) const override {
    sample.Set("input", sample.At("input").narrow(0, 0, count_));
  }

 private:
  const int64_t count_;
};

std::shared_ptr<Dataset> Keeping(std::shared_ptr<const Dataset> base,
                                 int64_t count) {
  return std::make_shared<TransformedDataset>(
      std::move(base),
      std::vector<std::shared_ptr<Transform>>{std::make_shared<AddDraw>(),
                                              std::make_shared<Keep>(count)});
}

TEST(TransformedTest, SamplesAreMadeAlikeBeforeTheyAreStacked) {
  const auto growing = std::make_shared<Growing>();
  const auto floats = std::make_shared<Float32Dataset>(growing);
  const auto some =
      std::make_shared<SubsetDataset>(floats, std::vector<int64_t>{4, 1, 0});
  const auto both = std::make_shared<ConcatDataset>(
      std::vector<std::shared_ptr<const Dataset>>{growing, floats});
  for (const auto& base :
       std::vector<std::shared_ptr<Dataset>>{growing, floats, some, both}) {
    const auto data = Keeping(base, 2);
    EXPECT_FALSE(data->GathersBatches());
    const std::vector<int64_t> places = {2, 0, 1};
    const Batch batch = data->GetBatch(places, {3, 1});
    ASSERT_EQ(batch.At("input").sizes(), at::IntArrayRef({3, 2}));
    for (int64_t i = 0; i < 3; ++i) {
      ExpectSame(SampleOf(batch, i),
                 data->Get(places[static_cast<size_t>(i)], {3, 1}));
    }
  }
  EXPECT_TRUE(Keeping(Numbers(0, 4), 2)->GathersBatches());
}

TEST(TransformedTest, ErrorsNameTheSamplesAndTheTransform) {
  const auto data = Keeping(std::make_shared<Growing>(), 4);
  const std::vector<int64_t> good = {3, 4};
  EXPECT_EQ(ErrorOf([&] { data->GetBatch(good, {}); }), "");
  EXPECT_NE(ErrorOf([&] { data->Get(1, {}); }).find("transforms[1]: "),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] {
              Growing().GetBatch(good, {});
            }).find("\"input\": sample 4 has shape [6], sample 3 [5]"),
            std::string::npos);
}

TEST(ConcatTest, SamplesAreThoseOfABatchAlsoWhereTheyRepeat) {
  const auto part = Drawing(Numbers(0, 4));
  const ConcatDataset all({part, part});
  const std::vector<int64_t> indices = {6, 1, 6, 1, 6};
  const std::vector<int64_t> repeats = {0, 0, 1, 1, 2};
  SampleSeed seed{4, 2};
  seed.repeats = repeats;
  const Batch batch = all.GetBatch(indices, seed);
  const std::vector<Batch> samples = all.GetSamples(indices, seed);
  for (size_t i = 0; i < indices.size(); ++i) {
    ExpectSame(SampleOf(batch, static_cast<int64_t>(i)), samples[i]);
  }
}

TEST(ConcatTest, BatchesAcrossPartsKeepTheirOrder) {
  const ConcatDataset all({Numbers(0, 3), Numbers(10, 14), Numbers(20, 22)});
  EXPECT_EQ(all.Size(), 9);
  const std::vector<int64_t> indices = {8, 0, 4, 2, 3, 7};
  EXPECT_EQ(Inputs(all.GetBatch(indices, {})),
            (std::vector<float>{21, 0, 11, 2, 10, 20}));
  for (size_t i = 0; i < 9; ++i) {
    const std::vector<int64_t> one = {static_cast<int64_t>(i)};
    EXPECT_EQ(all.GetBatch(one, {}).At("input")[0].item<float>(),
              all.Get(static_cast<int64_t>(i), {}).At("input").item<float>());
  }
  EXPECT_EQ(all.Column("target").numel(), 9);
  EXPECT_FALSE(all.Column("group").defined());
  EXPECT_THROW(ConcatDataset({}), Error);
}

TEST(ConcatTest, SamplesOfTwoPartsShareNoStream) {
  const auto part = Drawing(Numbers(0, 4));
  const ConcatDataset all({part, part});
  const SampleSeed seed{1, 1};
  const Batch batch = all.GetBatch(Range(8), seed);
  std::set<int64_t> draws;
  for (int64_t i = 0; i < 8; ++i) {
    draws.insert(batch.At("draw")[i].item<int64_t>());
    EXPECT_EQ(all.Get(i, seed).At("draw").item<int64_t>(),
              batch.At("draw")[i].item<int64_t>());
  }
  EXPECT_EQ(draws.size(), 8u);
}

TEST(ConcatTest, NamesTheFieldThatDiffers) {
  const auto wide =
      std::make_shared<TensorDataset>(Batch{{"input", at::zeros({2, 5})}});
  const ConcatDataset all({Numbers(0, 2), wide});
  EXPECT_NE(ErrorOf([&] { all.GetBatch(Range(4), {}); }).find("\"input\""),
            std::string::npos);
}

// --- splits ---------------------------------------------------------------

std::vector<int64_t> DrawnLabels(int64_t size, uint64_t classes) {
  Random random({17});
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < size; ++i) {
    labels.push_back(static_cast<int64_t>(
        std::min(random.Below(classes), random.Below(classes))));
  }
  return labels;
}

std::vector<int64_t> Counts(const std::vector<int>& part_of, int parts) {
  std::vector<int64_t> counts(static_cast<size_t>(parts));
  for (int part : part_of) {
    if (part != kNoPart) ++counts[static_cast<size_t>(part)];
  }
  return counts;
}

TEST(SplitTest, PartsHaveTheirSharesAndMissNoSample) {
  for (int64_t size : {1, 10, 101, 997}) {
    const auto parts = SplitByFractions({.size = size}, {0.7, 0.2, 0.1}, 3);
    const auto counts = Counts(parts, 3);
    EXPECT_EQ(counts[0] + counts[1] + counts[2], size);
    EXPECT_NEAR(counts[0], 0.7 * static_cast<double>(size), 1);
    EXPECT_NEAR(counts[1], 0.2 * static_cast<double>(size), 1);
  }
  const auto some = SplitByFractions({.size = 100}, {0.5, 0.1}, 3);
  EXPECT_EQ(Counts(some, 2), (std::vector<int64_t>{50, 10}));
}

TEST(SplitTest, TheSeedAloneSaysWhichSamples) {
  const auto split = [](uint64_t seed) {
    return SplitByFractions({.size = 50}, {0.5, 0.5}, seed);
  };
  EXPECT_EQ(split(1), split(1));
  EXPECT_NE(split(1), split(2));
}

TEST(SplitTest, EachClassGivesItsShare) {
  const auto labels = DrawnLabels(500, 6);
  const auto parts =
      SplitByFractions({.size = 500, .labels = labels}, {0.8, 0.1, 0.1}, 5);
  const auto counts = Counts(parts, 3);
  EXPECT_NEAR(counts[0], 400, 1);
  EXPECT_NEAR(counts[1], 50, 1);
  for (int64_t label = 0; label < 6; ++label) {
    double total = 0;
    double train = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] != label) continue;
      ++total;
      train += parts[i] == 0;
    }
    EXPECT_NEAR(train, 0.8 * total, 2) << label;
  }
}

TEST(SplitTest, NoGroupIsOnTwoSides) {
  Random random({3});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int64_t> groups;
    for (int64_t patient = 0; patient < 60; ++patient) {
      const auto records = 1 + random.Below(9);
      for (uint64_t i = 0; i < records; ++i) groups.push_back(patient * 1000);
    }
    random.Shuffle(groups);
    const auto size = static_cast<int64_t>(groups.size());
    SplitInput input{.size = size, .groups = groups};
    if (seed % 2 == 1) input.labels = DrawnLabels(size, 3);
    const auto parts = SplitByFractions(input, {0.7, 0.15, 0.15}, seed);
    std::map<int64_t, std::set<int>> sides;
    for (size_t i = 0; i < groups.size(); ++i) {
      sides[groups[i]].insert(parts[i]);
      EXPECT_NE(parts[i], kNoPart);
    }
    for (const auto& [group, own] : sides) EXPECT_EQ(own.size(), 1u) << group;
    // Within a group of the shares.
    const auto counts = Counts(parts, 3);
    EXPECT_NEAR(counts[0], 0.7 * static_cast<double>(size), 9);
    EXPECT_NEAR(counts[1], 0.15 * static_cast<double>(size), 9);
  }
}

TEST(SplitTest, FoldsCoverAllOnceAndSeedsShuffle) {
  const auto labels = DrawnLabels(90, 3);
  std::vector<int64_t> groups;
  for (int64_t i = 0; i < 90; ++i) groups.push_back(i / 4);
  for (const SplitInput& input :
       {SplitInput{.size = 90}, SplitInput{.size = 90, .labels = labels},
        SplitInput{.size = 90, .groups = groups},
        SplitInput{.size = 90, .labels = labels, .groups = groups}}) {
    const auto folds = SplitIntoFolds(input, 5, 1);
    for (int64_t count : Counts(folds, 5)) EXPECT_NEAR(count, 18, 6);
    EXPECT_NE(folds, SplitIntoFolds(input, 5, 2));
    EXPECT_EQ(folds, SplitIntoFolds(input, 5, 1));
    if (input.groups.empty()) continue;
    for (size_t i = 1; i < 90; ++i) {
      if (groups[i] == groups[i - 1]) {
        EXPECT_EQ(folds[i], folds[i - 1]);
      }
    }
  }
}

TEST(SplitTest, RefusesWhatCannotBeSplit) {
  EXPECT_THROW(SplitByFractions({.size = 9}, {0.8, 0.3}, 0), Error);
  EXPECT_THROW(SplitByFractions({.size = 9}, {-0.1}, 0), Error);
  EXPECT_THROW(SplitByFractions({.size = 9}, {}, 0), Error);
  EXPECT_THROW(SplitIntoFolds({.size = 3}, 4, 0), Error);
  EXPECT_THROW(SplitIntoFolds({.size = 9}, 1, 0), Error);
  EXPECT_THROW(SplitIntoFolds({.size = 4, .labels = {0, 0, 1, 1}}, 3, 0),
               Error);
  EXPECT_THROW(SplitIntoFolds({.size = 4, .groups = {0, 0, 1, 1}}, 3, 0),
               Error);
}

}  // namespace
}  // namespace epochd::engine
