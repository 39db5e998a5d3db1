// SPDX-License-Identifier: Apache-2.0
//
// What the loader does at its limits: samples that cannot be read, samples of
// different lengths, memory, batches that cost next to nothing.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/bounded_source.h"
#include "worker/engine/data/loader.h"
#include "worker/engine/data/samplers.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

// Some samples cannot be read.
class Broken : public Dataset {
 public:
  Broken(int64_t size, std::set<int64_t> broken)
      : size_(size), broken_(std::move(broken)) {}
  int64_t Size() const override { return size_; }
  Batch Get(int64_t index, const SampleSeed& seed) const override {
    if (broken_.contains(index)) {
      throw Error(ErrorKind::kInfrastructure,
                  "images/" + std::to_string(index) + ".png: byte 9: no PNG");
    }
    return Batch{{"input", at::scalar_tensor(static_cast<int64_t>(
                               index + 1000 * seed.epoch))}};
  }

 private:
  const int64_t size_;
  const std::set<int64_t> broken_;
};

// Of which some records could not be opened.
class Incomplete : public Broken {
 public:
  explicit Incomplete(int count) : Broken(4, {}), count_(count) {}
  std::vector<Error> Unreadable() const override {
    std::vector<Error> all;
    for (int i = 0; i < count_; ++i) {
      all.emplace_back(ErrorKind::kInfrastructure,
                       "r" + std::to_string(i) + ".hea: no header");
    }
    return all;
  }

 private:
  const int count_;
};

LoaderOptions Skipping(int threads, bool replace) {
  LoaderOptions options;
  options.batch_size = 4;
  options.threads = threads;
  options.policy = {.skip = true, .replace = replace};
  return options;
}

std::vector<std::vector<int64_t>> InputsOfEpoch(BatchSource& source,
                                                int64_t epoch,
                                                int64_t first = 0) {
  std::vector<std::vector<int64_t>> batches;
  source.StartEpoch(epoch, first);
  Batch batch;
  while (source.Next(batch)) {
    batches.emplace_back();
    for (int64_t i = 0; i < batch.Size(); ++i) {
      batches.back().push_back(batch.At("input")[i].item<int64_t>());
    }
  }
  return batches;
}

using Batches = std::vector<std::vector<int64_t>>;

TEST(UnreadableTest, InTrainingTheNextSampleStandsIn) {
  const auto data = std::make_shared<Broken>(10, std::set<int64_t>{1, 2, 9});
  for (int threads : {0, 1, 4}) {
    auto loader = MakeLoader(data, Skipping(threads, true));
    EXPECT_EQ(InputsOfEpoch(*loader, 0),
              (Batches{{0, 3, 3, 3}, {4, 5, 6, 7}, {8, 0}}));
    EXPECT_EQ(loader->skipped().samples, 3);
    ASSERT_EQ(loader->skipped().problems.size(), 3u);
    EXPECT_EQ(loader->skipped().problems[2],
              "data: sample 9: images/9.png: byte 9: no PNG");
    // It goes on alike, and counts anew.
    EXPECT_EQ(InputsOfEpoch(*loader, 0, 2), (Batches{{8, 0}}));
    EXPECT_EQ(loader->skipped().samples, 1);
  }
}

TEST(UnreadableTest, RecordsThatCouldNotBeOpenedAreAnErrorOrSkipped) {
  const auto data = std::make_shared<Incomplete>(7);
  try {
    MakeLoader(data, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInfrastructure);
    EXPECT_STREQ(error.what(), "r0.hea: no header");
  }
  LoaderOptions options = Skipping(0, true);
  options.max_skipped = 7;
  EXPECT_EQ(MakeLoader(data, options)->NumSamples(), 4);
  options.max_skipped = 6;
  EXPECT_EQ(ErrorOf([&] { MakeLoader(data, options); }),
            "7 records could not be opened and are left out: r0.hea: no "
            "header; r1.hea: no header; r2.hea: no header; r3.hea: no header; "
            "r4.hea: no header; and 2 more; more than max_skipped: 6 allows");
}

TEST(LimitsTest, MemoryThatIsNotThereIsNamedByBytes) {
  LoaderOptions options;
  options.batch_size = 2;
  options.collate = {.pad = true, .multiple = int64_t{1} << 45};
  const auto loader = MakeLoader(
      std::make_shared<TensorDataset>(Batch{{"input", at::ones({4, 3})}}),
      options);
  loader->StartEpoch(0, 0);
  Batch batch;
  EXPECT_EQ(ErrorOf([&] { loader->Next(batch); }),
            "data: a batch of 2 samples: needs " +
                std::to_string(int64_t{1} << 48) +
                " bytes of memory, more than there are");
  options.batch_size = int64_t{1} << 40;
  EXPECT_NE(ErrorOf([&] {
              MakeLoader(std::make_shared<Incomplete>(0), options);
            }).find("batch_size must be 1 to 2147483648"),
            std::string::npos);
}

TEST(UnreadableTest, InTrainingStandInsAreTheSameOnAnyNumberOfRanks) {
  const auto data = std::make_shared<Broken>(24, std::set<int64_t>{3, 4, 20});
  LoaderOptions options = Skipping(0, true);
  options.shuffle = true;
  const Batches whole = InputsOfEpoch(*MakeLoader(data, options), 1);
  for (int rank = 0; rank < 2; ++rank) {
    LoaderOptions own = options;
    own.batch_size = 2;
    own.world_size = 2;
    own.rank = rank;
    own.threads = 2;
    const Batches mine = InputsOfEpoch(*MakeLoader(data, own), 1);
    ASSERT_EQ(mine.size(), whole.size());
    for (size_t step = 0; step < whole.size(); ++step) {
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(mine[step][i],
                  whole[step][2 * i + static_cast<size_t>(rank)]);
      }
    }
  }
}

TEST(UnreadableTest, ElsewhereItIsLeftOutAndIndicesSaySo) {
  const auto data =
      std::make_shared<Broken>(10, std::set<int64_t>{1, 4, 5, 6, 7});
  for (int threads : {0, 1, 4}) {
    auto loader = LimitBatches(MakeLoader(data, Skipping(threads, false)), 9);
    loader->StartEpoch(0, 0);
    Batch batch;
    ASSERT_TRUE(loader->Next(batch));
    EXPECT_EQ(loader->Indices(), (std::vector<int64_t>{0, 2, 3}));
    EXPECT_EQ(batch.Size(), 3);
    // A batch of which nothing is left does not come.
    ASSERT_TRUE(loader->Next(batch));
    EXPECT_EQ(loader->Indices(), (std::vector<int64_t>{8, 9}));
    EXPECT_FALSE(loader->Next(batch));
    EXPECT_EQ(loader->skipped().samples, 5);
  }
}

TEST(UnreadableTest, MoreThanAreAllowedAreAnErrorAtTheSamePlace) {
  const auto data = std::make_shared<Broken>(12, std::set<int64_t>{1, 6, 10});
  for (int threads : {0, 1, 4}) {
    LoaderOptions options = Skipping(threads, false);
    options.max_skipped = 1;
    auto loader = MakeLoader(data, options);
    loader->StartEpoch(0, 0);
    Batch batch;
    EXPECT_TRUE(loader->Next(batch));
    try {
      loader->Next(batch);
      FAIL();
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("max_skipped: 1"), std::string::npos) << text;
      EXPECT_NE(text.find("sample 1: images/1.png"), std::string::npos);
      EXPECT_NE(text.find("sample 6: images/6.png"), std::string::npos);
    }
  }
}

TEST(UnreadableTest, RoundsOfAnEndlessEpochAddUp) {
  auto source = RepeatForever(
      MakeLoader(std::make_shared<Broken>(10, std::set<int64_t>{1, 9}),
                 Skipping(0, true)));
  source->StartEpoch(0, 0);
  Batch batch;
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(source->Next(batch));
  EXPECT_EQ(source->skipped().samples, 5);
  EXPECT_TRUE(source->skipped().is_allowed);
  source->StartEpoch(0, 4);
  EXPECT_EQ(source->skipped().samples, 0);
}

// As a run does that goes on in mid-epoch.
TEST(UnreadableTest, CountsOnFromWhatAnEarlierAttemptLeftOut) {
  const auto data = std::make_shared<Broken>(12, std::set<int64_t>{1, 6, 10});
  for (int threads : {0, 2}) {
    LoaderOptions options = Skipping(threads, true);
    for (int64_t allowed : {2, 3}) {
      options.max_skipped = allowed;
      auto loader = MakeLoader(data, options);
      Batch batch;
      loader->StartEpoch(0, 0);
      ASSERT_TRUE(loader->Next(batch));
      ASSERT_TRUE(loader->Next(batch));
      const Skipped before = loader->skipped();
      EXPECT_EQ(before.samples, 2);
      auto resumed = MakeLoader(data, options);
      resumed->StartEpoch(0, 2);
      resumed->ContinueSkipped(before);
      EXPECT_EQ(resumed->skipped().samples, 2);
      EXPECT_TRUE(resumed->skipped().is_allowed);
      if (allowed == 2) {
        EXPECT_THROW(loader->Next(batch), Error);
        EXPECT_THROW(resumed->Next(batch), Error);
        continue;
      }
      EXPECT_TRUE(resumed->Next(batch));
      EXPECT_EQ(resumed->skipped().samples, 3);
      EXPECT_EQ(resumed->skipped().problems.size(), 3u);
      // Another epoch begins at none.
      resumed->StartEpoch(1, 0);
      EXPECT_EQ(resumed->skipped().samples, 0);
    }
  }
}

TEST(UnreadableTest, EachRoundOfAnEndlessEpochHasItsOwnAllowance) {
  const auto data = std::make_shared<Broken>(10, std::set<int64_t>{1, 9});
  LoaderOptions options = Skipping(0, true);
  options.max_skipped = 2;
  auto source = RepeatForever(MakeLoader(data, options));
  Batch batch;
  source->StartEpoch(0, 0);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(source->Next(batch));
  const Skipped before = source->skipped();
  EXPECT_EQ(before.samples, 3);
  EXPECT_EQ(before.of_round, 1);
  options.max_skipped = 1;
  auto strict = RepeatForever(MakeLoader(data, options));
  for (auto* each : {&source, &strict}) {
    (*each)->StartEpoch(0, 5);
    (*each)->ContinueSkipped(before);
    EXPECT_EQ((*each)->skipped().samples, 3);
  }
  EXPECT_TRUE(source->Next(batch));
  EXPECT_EQ(source->skipped().samples, 4);
  EXPECT_EQ(source->skipped().of_round, 2);
  EXPECT_THROW(strict->Next(batch), Error);
}

TEST(UnreadableTest, WhereNothingCanStandInItIsAnError) {
  std::set<int64_t> all;
  for (int64_t i = 0; i < 8; ++i) all.insert(i);
  auto loader = MakeLoader(std::make_shared<Broken>(8, all), Skipping(0, true));
  loader->StartEpoch(0, 0);
  Batch batch;
  EXPECT_THROW(loader->Next(batch), Error);
}

TEST(UnreadableTest, WithoutThePolicyTheErrorNamesTheSample) {
  const auto data = std::make_shared<Broken>(10, std::set<int64_t>{6});
  for (int threads : {0, 4}) {
    LoaderOptions options = Skipping(threads, false);
    options.policy.skip = false;
    auto loader = MakeLoader(data, options);
    loader->StartEpoch(0, 0);
    Batch batch;
    EXPECT_TRUE(loader->Next(batch));
    try {
      loader->Next(batch);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInfrastructure);
      EXPECT_STREQ(error.what(),
                   "data: sample 6: images/6.png: byte 9: no PNG");
    }
  }
}

// Signals [2, 3 + index], with a label for every second value.
class Signals : public Dataset {
 public:
  int64_t Size() const override { return 7; }
  Batch Get(int64_t index, const SampleSeed& /*seed*/) const override {
    const int64_t length = 3 + index;
    return Batch{{"input", at::full({2, length}, 1.0f + index)},
                 {"labels", at::full({length / 2}, index, at::kLong)},
                 {"target", at::scalar_tensor(index, at::kLong)}};
  }
  at::Tensor Column(std::string_view field) const override {
    return field == "length" ? at::arange(3, 10) : at::Tensor();
  }
};

TEST(PadBatchesTest, PadsToTheLongestAndMarksWhatIsReal) {
  LoaderOptions options;
  options.batch_size = 3;
  options.sampler =
      std::make_shared<BucketSampler>(BucketSampler::Options{.shuffle = false});
  options.collate = {.pad = true, .pad_value = -1, .multiple = 4};
  auto loader = MakeLoader(std::make_shared<Signals>(), options);
  loader->StartEpoch(0, 0);
  Batch batch;
  ASSERT_TRUE(loader->Next(batch));
  const at::Tensor input = batch.At("input");
  EXPECT_EQ(input.sizes(), at::IntArrayRef({3, 2, 8}));
  EXPECT_EQ(batch.At("mask").sizes(), at::IntArrayRef({3, 8}));
  EXPECT_EQ(batch.At("mask").scalar_type(), at::kBool);
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t length = 3 + i;
    EXPECT_TRUE(batch.At("mask")[i].slice(0, 0, length).all().item<bool>());
    EXPECT_FALSE(batch.At("mask")[i].slice(0, length).any().item<bool>());
    EXPECT_TRUE(input[i].slice(1, 0, length).eq(1.0f + i).all().item<bool>());
    EXPECT_TRUE(input[i].slice(1, length).eq(-1).all().item<bool>());
  }
  EXPECT_TRUE(at::equal(batch.At("target"), at::arange(3)));
  EXPECT_EQ(batch.At("labels").size(1), 4);
  EXPECT_EQ(batch.At("labels")[0][1].item<int64_t>(), -100);
  // Without padding they cannot be stacked, which is said.
  options.collate.pad = false;
  auto stacking = MakeLoader(std::make_shared<Signals>(), options);
  stacking->StartEpoch(0, 0);
  EXPECT_THROW(stacking->Next(batch), Error);
}

// Images [1, 4 + index, 9 - index] with a class for each pixel, and a label.
class Pictures : public Dataset {
 public:
  int64_t Size() const override { return 3; }
  Batch Get(int64_t index, const SampleSeed& /*seed*/) const override {
    const int64_t height = 4 + index;
    const int64_t width = 9 - index;
    return Batch{{"input", at::ones({1, height, width})},
                 {"target", at::ones({height, width}, at::kLong)},
                 {"label", at::scalar_tensor(index, at::kLong)}};
  }
};

TEST(PadBatchesTest, PadsHeightAndWidth) {
  LoaderOptions options;
  options.batch_size = 3;
  options.collate = {.pad = true, .dims = 2, .pad_value = -1, .multiple = 4};
  auto loader = MakeLoader(std::make_shared<Pictures>(), options);
  loader->StartEpoch(0, 0);
  Batch batch;
  ASSERT_TRUE(loader->Next(batch));
  ASSERT_EQ(batch.At("input").sizes(), at::IntArrayRef({3, 1, 8, 12}));
  ASSERT_EQ(batch.At("mask").sizes(), at::IntArrayRef({3, 1, 8, 12}));
  ASSERT_EQ(batch.At("target").sizes(), at::IntArrayRef({3, 8, 12}));
  for (int64_t i = 0; i < 3; ++i) {
    at::Tensor real = at::zeros({8, 12}, at::kBool);
    real.slice(0, 0, 4 + i).slice(1, 0, 9 - i).fill_(true);
    EXPECT_TRUE(at::equal(batch.At("mask")[i][0], real));
    EXPECT_TRUE(at::equal(batch.At("input")[i][0].gt(0), real));
    EXPECT_TRUE(at::equal(batch.At("target")[i].eq(1), real));
    EXPECT_TRUE(at::equal(batch.At("target")[i].eq(-100), real.logical_not()));
  }
  EXPECT_TRUE(at::equal(batch.At("label"), at::arange(3)));
  // In their length alone they do not agree.
  options.collate.dims = 1;
  auto by_length = MakeLoader(std::make_shared<Pictures>(), options);
  by_length->StartEpoch(0, 0);
  EXPECT_NE(ErrorOf([&] { by_length->Next(batch); })
                .find("sample 1 has shape [1, 5, 8], sample 0 [1, 4, 9]; with "
                      "pad_batches they may differ in the last dimension "
                      "alone"),
            std::string::npos);
}

// Images [1, 3 + 2 * index, 5] beside ones twice as large, classes for each
// pixel, and a vector.
class Pairs : public Dataset {
 public:
  int64_t Size() const override { return 3; }
  Batch Get(int64_t index, const SampleSeed& /*seed*/) const override {
    const int64_t height = 3 + 2 * index;
    return Batch{{"input", at::ones({1, height, 5})},
                 {"large", at::ones({1, 2 * height, 10})},
                 {"classes", at::ones({height, 5}, at::kLong)},
                 {"vector", at::ones({10})}};
  }
};

TEST(PadBatchesTest, FieldsLaidOutAsTheInputArePaddedAsItIsInEveryBatch) {
  // Of one sample, of several, of the last alone.
  for (const int64_t batch_size : {1, 2, 3}) {
    LoaderOptions options;
    options.batch_size = batch_size;
    options.collate = {.pad = true, .dims = 2, .multiple = 8};
    auto loader = MakeLoader(std::make_shared<Pairs>(), options);
    loader->StartEpoch(0, 0);
    Batch batch;
    while (loader->Next(batch)) {
      SCOPED_TRACE(batch_size);
      const int64_t size = batch.Size();
      EXPECT_EQ(batch.At("input").sizes(), at::IntArrayRef({size, 1, 8, 8}));
      EXPECT_EQ(batch.At("large").sizes(), at::IntArrayRef({size, 1, 16, 16}));
      EXPECT_EQ(batch.At("classes").sizes(), at::IntArrayRef({size, 8, 8}));
      EXPECT_EQ(batch.At("vector").sizes(), at::IntArrayRef({size, 10}));
      EXPECT_EQ(batch.At("classes")[0][7][7].item<int64_t>(), -100);
      EXPECT_TRUE(
          at::equal(batch.At("large").gt(0).sum(), batch.At("mask").sum() * 4));
    }
  }
}

TEST(PadBatchesTest, SignalsOfOneLengthHaveTheirLabelsPaddedWithThem) {
  const auto data = std::make_shared<TensorDataset>(
      Batch{{"input", at::ones({2, 3, 5})},
            {"labels", at::ones({2, 5}, at::kLong)},
            {"vector", at::ones({2, 10})}});
  LoaderOptions options;
  options.batch_size = 2;
  options.collate = {.pad = true, .multiple = 4};
  auto loader = MakeLoader(data, options);
  loader->StartEpoch(0, 0);
  Batch batch;
  ASSERT_TRUE(loader->Next(batch));
  EXPECT_EQ(batch.At("input").sizes(), at::IntArrayRef({2, 3, 8}));
  EXPECT_EQ(batch.At("labels").sizes(), at::IntArrayRef({2, 8}));
  EXPECT_EQ(batch.At("labels")[1][5].item<int64_t>(), -100);
  // Twice as long by accident.
  EXPECT_EQ(batch.At("vector").sizes(), at::IntArrayRef({2, 10}));
}

// Batches of 1 MiB; counts those that live.
class Heavy : public Dataset {
 public:
  int64_t Size() const override { return 64; }
  Batch Get(int64_t /*index*/, const SampleSeed& /*seed*/) const override {
    return {};
  }
  Batch GetBatch(std::span<const int64_t> /*indices*/,
                 const SampleSeed& /*seed*/) const override {
    const int living = ++living_;
    int most = most_;
    while (living > most && !most_.compare_exchange_weak(most, living)) {
    }
    ++made_;
    auto* memory = new float[1 << 18];
    return Batch{{"input", at::from_blob(
                               memory, {1, 1 << 18},
                               [this](void* data) {
                                 delete[] static_cast<float*>(data);
                                 --living_;
                               },
                               at::kFloat)}};
  }
  int made() const { return made_; }
  int most() const { return most_; }

 private:
  mutable std::atomic<int> living_ = 0;
  mutable std::atomic<int> most_ = 0;
  mutable std::atomic<int> made_ = 0;
};

void WaitFor(const std::function<bool()>& condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
}

TEST(MemoryTest, BatchesAheadStayWithinTheirBytes) {
  const auto data = std::make_shared<Heavy>();
  LoaderOptions options;
  options.threads = 4;
  options.prefetch = 16;
  options.prefetch_bytes = 3 << 20;
  {
    auto loader = MakeLoader(data, options);
    loader->StartEpoch(0, 0);
    WaitFor([&] { return data->made() >= 3; });
    for (int i = 0; i < 2000; ++i) std::this_thread::yield();
    EXPECT_EQ(data->made(), 3);
    Batch batch;
    int64_t batches = 0;
    while (loader->Next(batch)) ++batches;
    EXPECT_EQ(batches, 64);
  }
  // Those ahead and the one that was taken, while the next takes its place.
  EXPECT_LE(data->most(), 5);
}

TEST(MemoryTest, ABatchGreaterThanTheBoundIsMadeAllTheSame) {
  LoaderOptions options;
  options.threads = 3;
  options.prefetch_bytes = 10;
  auto loader = MakeLoader(std::make_shared<Heavy>(), options);
  loader->StartEpoch(0, 0);
  Batch batch;
  int64_t batches = 0;
  while (loader->Next(batch)) ++batches;
  EXPECT_EQ(batches, 64);
}

// Remembers by which thread each sample was asked for; from `dear_from` on it
// takes half a millisecond.
class Watched : public Dataset {
 public:
  explicit Watched(int64_t dear_from) : dear_from_(dear_from) {}
  int64_t Size() const override { return 4000; }
  Batch Get(int64_t /*index*/, const SampleSeed& /*seed*/) const override {
    return {};
  }
  Batch GetBatch(std::span<const int64_t> indices,
                 const SampleSeed& /*seed*/) const override {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::microseconds(500);
    if (indices[0] >= dear_from_) {
      while (std::chrono::steady_clock::now() < end) {
      }
    }
    by_caller_[static_cast<size_t>(indices[0])] =
        std::this_thread::get_id() == caller_;
    return value_;
  }
  bool by_caller(int64_t index) const {
    return by_caller_[static_cast<size_t>(index)];
  }

 private:
  const int64_t dear_from_;
  const std::thread::id caller_ = std::this_thread::get_id();
  const Batch value_{{"input", at::zeros({1})}};
  mutable std::array<std::atomic<bool>, 4000> by_caller_{};
};

TEST(CheapBatchTest, CallerMakesThemUntilThreadsAreWorthIt) {
  const auto data = std::make_shared<Watched>(3500);
  LoaderOptions options;
  options.threads = 2;
  auto loader = MakeLoader(data, options);
  loader->StartEpoch(0, 0);
  Batch batch;
  int64_t batches = 0;
  while (loader->Next(batch)) ++batches;
  EXPECT_EQ(batches, 4000);
  int64_t cheap = 0;
  int64_t dear = 0;
  for (int64_t i = 0; i < 3500; ++i) cheap += data->by_caller(i);
  for (int64_t i = 3600; i < 4000; ++i) dear += data->by_caller(i);
  EXPECT_GT(cheap, 0);
  EXPECT_EQ(dear, 0);
}

}  // namespace
}  // namespace epochd::engine
