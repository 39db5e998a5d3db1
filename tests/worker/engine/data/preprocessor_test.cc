// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/preprocessor.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/batch_augments.h"
#include "worker/engine/data/transforms.h"

namespace epochd::engine {
namespace {

// Four samples, each filled with its number and labelled by it.
Batch Numbered(std::vector<int64_t> shape) {
  at::Tensor input = at::zeros(shape);
  for (int64_t i = 0; i < shape[0]; ++i) input[i].fill_(i);
  return Batch{{"input", input}, {"target", at::arange(shape[0])}};
}

const BatchKey kTraining{.seed = 1, .is_training = true};

// A tenth of each sample is replaced by what was drawn.
class Recording : public BatchAugment {
 public:
  explicit Recording(int64_t number) : number_(number) {}
  void Apply(Batch& batch, Random& random) const override {
    batch.Set("applied", at::scalar_tensor(number_));
    batch.Set("draw", at::scalar_tensor(static_cast<int64_t>(random.Next()),
                                        at::kLong));
  }

 private:
  const int64_t number_;
};

TEST(DevicePreprocessorTest, LeavesTheGivenBatchAsItIs) {
  const Batch given = Numbered({4, 3, 2, 2});
  DevicePreprocessor::Options options;
  options.mean = {1};
  options.std = {2};
  const Batch done =
      DevicePreprocessor(options).Receive(given, at::kCPU, kTraining);
  EXPECT_EQ(given.At("input")[3].max().item<float>(), 3.0f);
  EXPECT_EQ(done.At("input")[3].max().item<float>(), 1.0f);
  EXPECT_TRUE(at::equal(done.At("target"), given.At("target")));
  EXPECT_EQ(done.Find("mask"), nullptr);
}

TEST(DevicePreprocessorTest, WholeNumbersBecomeFloatOnTheDevice) {
  const Batch given{{"input", at::full({1, 3, 2, 2}, 200, at::kByte)}};
  DevicePreprocessor::Options options;
  options.mean = {100};
  options.std = {50};
  options.cast = at::kBFloat16;
  const Batch done = DevicePreprocessor(options).Receive(given, at::kCPU, {});
  EXPECT_EQ(done.At("input").scalar_type(), at::kBFloat16);
  EXPECT_EQ(done.At("input").max().item<float>(), 2.0f);
}

TEST(DevicePreprocessorTest, RefusesBytesWhereMeanAndStdAreOfTheUnitRange) {
  const Batch bytes{{"input", at::full({1, 3, 2, 2}, 200, at::kByte)}};
  DevicePreprocessor::Options options;
  options.mean = {0.485, 0.456, 0.406};
  options.std = {0.229, 0.224, 0.225};
  const DevicePreprocessor preprocessor(options);
  EXPECT_EQ(BadSpecOf([&] { preprocessor.Receive(bytes, at::kCPU, {}); }),
            "preprocessor: field \"input\" holds bytes, 0 to 255, and mean and "
            "std are of values from 0 to 1; ToFloat before it, or mean and std "
            "of 0 to 255, is accepted");
  preprocessor.Receive(Batch{{"input", at::rand({1, 3, 2, 2})}}, at::kCPU, {});
  options.mean = {123.675, 116.28, 103.53};
  options.std = {58.395, 57.12, 57.375};
  DevicePreprocessor(options).Receive(bytes, at::kCPU, {});
}

TEST(NormalizeTest, RefusesBytesWhereMeanAndStdAreOfTheUnitRange) {
  Batch bytes{{"input", at::full({3, 2, 2}, 200, at::kByte)}};
  Random random({0});
  const Normalize of_floats({0.5}, {0.25}, "input");
  EXPECT_NE(BadSpecOf([&] {
              of_floats.Apply(bytes, random);
            }).find("Normalize: field \"input\" holds bytes"),
            std::string::npos);
  const Normalize of_bytes({100}, {50}, "input");
  of_bytes.Apply(bytes, random);
  EXPECT_EQ(bytes.At("input").max().item<float>(), 2);
}

TEST(DevicePreprocessorTest, PadsSignalsAndTheMaskThatIsThere) {
  Batch given = Numbered({4, 2, 6});
  DevicePreprocessor::Options options;
  options.pad_multiple = 4;
  options.pad_value = -1;
  const DevicePreprocessor preprocessor(options);
  Batch done = preprocessor.Receive(given, at::kCPU, {});
  EXPECT_EQ(done.At("input").sizes(), at::IntArrayRef({4, 2, 8}));
  EXPECT_TRUE(done.At("input").slice(2, 6).eq(-1).all().item<bool>());
  EXPECT_EQ(done.At("mask").sizes(), at::IntArrayRef({4, 8}));
  EXPECT_EQ(done.At("mask").sum().item<int64_t>(), 24);
  at::Tensor mask = at::zeros({4, 6}, at::kBool);
  mask[0].fill_(true);
  given.Set("mask", mask);
  done = preprocessor.Receive(given, at::kCPU, {});
  EXPECT_EQ(done.At("mask").sizes(), at::IntArrayRef({4, 8}));
  EXPECT_EQ(done.At("mask").sum().item<int64_t>(), 6);
  // That of samples stays what it is.
  given.Set("mask", at::ones({4}, at::kBool));
  done = preprocessor.Receive(given, at::kCPU, {});
  EXPECT_EQ(done.At("mask").sizes(), at::IntArrayRef({4}));
}

TEST(DevicePreprocessorTest, DenseTargetsArePaddedAsTheInputIs) {
  Batch given = Numbered({2, 3, 5, 9});
  given.Set("target", at::ones({2, 5, 9}, at::kLong));
  given.Set("twice", at::ones({2, 1, 10, 18}));
  given.Set("keep", at::ones({2, 5, 9}, at::kBool));
  DevicePreprocessor::Options options;
  options.pad_multiple = 4;
  options.pad_value = -1;
  options.mean = {1};
  options.std = {2};
  options.pad_fields = {"target", "twice", "keep"};
  const Batch done = DevicePreprocessor(options).Receive(given, at::kCPU, {});
  ASSERT_EQ(done.At("input").sizes(), at::IntArrayRef({2, 3, 8, 12}));
  ASSERT_EQ(done.At("target").sizes(), at::IntArrayRef({2, 8, 12}));
  EXPECT_EQ(done.At("twice").sizes(), at::IntArrayRef({2, 1, 16, 24}));
  // Padded, and nothing else.
  const at::Tensor real = done.At("mask").squeeze(1);
  EXPECT_TRUE(at::equal(
      done.At("target"),
      at::where(real, at::ones({}, at::kLong), at::full({}, -100, at::kLong))));
  EXPECT_TRUE(at::equal(done.At("keep"), real));
  EXPECT_EQ(done.At("twice")[0][0][9][17].item<float>(), 1);
  EXPECT_EQ(done.At("twice")[0][0][10][0].item<float>(), -1);
  given.Set("target", at::ones({2}, at::kLong));
  EXPECT_NE(ErrorOf([&] {
              DevicePreprocessor(options).Receive(given, at::kCPU, {});
            }).find("\"target\" is of shape [2]; the layout of the first"),
            std::string::npos);
  Batch signal = Numbered({2, 3, 5});
  signal.Set("target", at::ones({2, 10}, at::kLong));
  options.pad_fields = {"target"};
  EXPECT_EQ(DevicePreprocessor(options)
                .Receive(signal, at::kCPU, {})
                .At("target")
                .sizes(),
            at::IntArrayRef({2, 16}));
}

TEST(DevicePreprocessorTest, AugmentsOnlyInTrainingAndByTheKeyAlone) {
  DevicePreprocessor::Options options;
  options.augments = {std::make_shared<Recording>(0),
                      std::make_shared<Recording>(1)};
  const DevicePreprocessor preprocessor(options);
  const Batch given = Numbered({4, 1, 2, 2});
  BatchKey key = kTraining;
  key.is_training = false;
  EXPECT_EQ(preprocessor.Receive(given, at::kCPU, key).Find("draw"), nullptr);
  const auto draw = [&](BatchKey of) {
    return preprocessor.Receive(given, at::kCPU, of).At("draw").item<int64_t>();
  };
  EXPECT_EQ(draw(kTraining), draw(kTraining));
  std::set<int64_t> draws = {draw(kTraining)};
  for (auto change :
       {+[](BatchKey& of) { ++of.seed; }, +[](BatchKey& of) { ++of.epoch; },
        +[](BatchKey& of) { ++of.batch; }, +[](BatchKey& of) { ++of.rank; }}) {
    BatchKey other = kTraining;
    change(other);
    EXPECT_TRUE(draws.insert(draw(other)).second);
  }
}

TEST(DevicePreprocessorTest, ChoosesAugmentsByTheirChances) {
  for (bool even : {true, false}) {
    DevicePreprocessor::Options options;
    options.augments = {std::make_shared<Recording>(0),
                        std::make_shared<Recording>(1)};
    if (!even) options.augment_chances = {0.1, 0.3};
    const DevicePreprocessor preprocessor(options);
    const Batch given = Numbered({2, 1, 2, 2});
    int counts[3] = {};
    for (int64_t batch = 0; batch < 2000; ++batch) {
      BatchKey key = kTraining;
      key.batch = batch;
      const Batch done = preprocessor.Receive(given, at::kCPU, key);
      const at::Tensor* applied = done.Find("applied");
      ++counts[applied == nullptr ? 2 : applied->item<int64_t>()];
    }
    EXPECT_NEAR(counts[0], even ? 1000 : 200, 100);
    EXPECT_NEAR(counts[1], even ? 1000 : 600, 100);
  }
}

TEST(DevicePreprocessorTest, NamesWhatDoesNotFit) {
  const auto with = [](DevicePreprocessor::Options options,
                       std::vector<int64_t> shape) {
    return ErrorOf([&] {
      DevicePreprocessor(options).Receive(Numbered(shape), at::kCPU, {});
    });
  };
  EXPECT_NE(with({.mean = {1, 2}, .std = {1, 2}}, {1, 3, 2, 2}).find("[1, 3"),
            std::string::npos);
  EXPECT_NE(with({.swap_channels = true}, {1, 2, 2, 2}), "");
  EXPECT_NE(with({.pad_multiple = 4}, {1, 2}), "");
  EXPECT_NE(with({.fields = {"picture"}}, {1, 3, 2, 2}).find("picture"),
            std::string::npos);
  EXPECT_NE(with({.mean = {1}}, {1, 3, 2, 2}), "");
  EXPECT_NE(with({.mean = {1}, .std = {0}}, {1, 3, 2, 2}), "");
  EXPECT_NE(with({.augment_chances = {0.5}}, {1, 3, 2, 2}), "");
}

TEST(BatchAugmentTest, BetaHasItsMeanAndSpread) {
  for (double alpha : {0.2, 1.0, 4.0}) {
    Random random({7});
    double sum = 0;
    double squares = 0;
    const int count = 20000;
    for (int i = 0; i < count; ++i) {
      const double draw = DrawBeta(alpha, random);
      EXPECT_TRUE(draw >= 0 && draw <= 1);
      sum += draw;
      squares += (draw - 0.5) * (draw - 0.5);
    }
    EXPECT_NEAR(sum / count, 0.5, 0.01);
    EXPECT_NEAR(squares / count, 1 / (4 * (2 * alpha + 1)), 0.006);
  }
}

// Shares of the samples in sample `i`, as the picture has them.
at::Tensor SharesOf(const at::Tensor& sample) {
  std::vector<double> shares;
  for (int64_t i = 0; i < 4; ++i) {
    shares.push_back(sample.eq(i).to(at::kDouble).mean().item<double>());
  }
  return at::tensor(shares, at::kFloat);
}

TEST(BatchAugmentTest, LabelsSayWhatThePictureIsMadeOf) {
  const MixedFields fields{.num_classes = 4};
  for (bool is_mosaic : {false, true}) {
    for (bool is_signal : {false, true}) {
      for (uint64_t seed = 0; seed < 30; ++seed) {
        Batch batch =
            is_signal ? Numbered({4, 2, 40}) : Numbered({4, 2, 9, 12});
        Random random({seed});
        if (is_mosaic) {
          Mosaic(fields, 0.1).Apply(batch, random);
        } else {
          CutMix(fields, 1.0).Apply(batch, random);
        }
        const at::Tensor target = batch.At("target");
        for (int64_t i = 0; i < 4; ++i) {
          EXPECT_TRUE(at::allclose(SharesOf(batch.At("input")[i]), target[i],
                                   1e-5, 1e-6));
        }
        EXPECT_TRUE(at::allclose(target.sum(1), at::ones({4})));
      }
    }
  }
}

TEST(BatchAugmentTest, MosaicHasFourNeighboursInTheirQuarters) {
  Batch batch = Numbered({4, 1, 4, 6});
  Mosaic({.num_classes = 4}, 0.25).Join(batch, 1, 2);
  const at::Tensor own = batch.At("input")[3][0];
  EXPECT_EQ(own[0][1].item<float>(), 3);
  EXPECT_EQ(own[0][2].item<float>(), 2);
  EXPECT_EQ(own[1][1].item<float>(), 1);
  EXPECT_EQ(own[3][5].item<float>(), 0);
  EXPECT_TRUE(at::allclose(
      batch.At("target")[3],
      at::tensor({12.0 / 24, 6.0 / 24, 4.0 / 24, 2.0 / 24}, at::kFloat)));
}

TEST(BatchAugmentTest, SoftLabelsAndPicturesAsTargetsMixAlike) {
  Batch soft = Numbered({4, 1, 4, 4});
  soft.Set("target", at::eye(4));
  MixUp(MixedFields{}, 1.0).Mix(soft, 0.25);
  EXPECT_EQ(soft.At("target")[1][1].item<float>(), 0.25f);
  EXPECT_EQ(soft.At("target")[1][0].item<float>(), 0.75f);
  Batch larger = Numbered({2, 1, 2, 2});
  larger.Set("target", at::arange(32, at::kFloat).reshape({2, 1, 4, 4}));
  MixUp(MixedFields{}, 1.0).Mix(larger, 0.25);
  EXPECT_EQ(larger.At("target")[0][0][0][0].item<float>(), 12);
  EXPECT_EQ(larger.At("target")[1][0][3][3].item<float>(), 19);
  Batch pictures = Numbered({4, 1, 4, 4});
  pictures.Set("target", pictures.At("input").clone());
  CutMix(MixedFields{}, 1.0).Paste(pictures, {1, 3, 0, 2});
  EXPECT_TRUE(at::equal(pictures.At("target"), pictures.At("input")));
}

TEST(BatchAugmentTest, LabelsOfIntegersMixAsNumbers) {
  for (const at::ScalarType type : {at::kLong, at::kByte, at::kBool}) {
    Batch batch = Numbered({2, 1, 4, 4});
    batch.Set("target",
              at::tensor({1, 1, 0, 0, 1, 1}).reshape({2, 3}).to(type));
    MixUp(MixedFields{}, 1.0).Mix(batch, 0.25);
    EXPECT_TRUE(batch.At("target").equal(
        at::tensor({0.25f, 1.0f, 0.75f, 0.75f, 1.0f, 0.25f}).reshape({2, 3})))
        << batch.At("target");
  }
}

// Each sample has a mask that is true in one column, its number's, and weighs
// as much as its number.
TEST(BatchAugmentTest, MasksAndWeightsGoWithTheirSamples) {
  const auto make = [] {
    Batch batch = Numbered({4, 1, 2, 4});
    at::Tensor mask = at::zeros({4, 1, 2, 4}, at::kBool);
    for (int64_t i = 0; i < 4; ++i) mask[i].select(2, i).fill_(true);
    batch.Set("mask", mask);
    batch.Set("share", mask.to(at::kFloat).squeeze(1));
    batch.Set("w", at::arange(4, at::kFloat));
    batch.Set("known", at::tensor({1, 1, 1, 0}).to(at::kBool));
    return batch;
  };
  const MixedFields all{
      .num_classes = 4,
      .also = std::vector<std::string>{"mask", "share", "w", "known"}};
  const Batch before = make();
  const at::Tensor mask = before.At("mask");
  Batch batch = make();
  // The last two columns are the neighbour's.
  CutMix(all, 1).Paste(batch, {.bottom = 2, .left = 2, .right = 4});
  at::Tensor expected = mask.clone();
  expected.slice(3, 2).copy_(mask.roll(1, 0).slice(3, 2));
  EXPECT_TRUE(at::equal(batch.At("mask"), expected));
  EXPECT_TRUE(at::equal(batch.At("share"), expected.to(at::kFloat).squeeze(1)));
  EXPECT_EQ(batch.At("w")[2].item<float>(), 1.5f);
  EXPECT_TRUE(
      at::equal(batch.At("known"), at::tensor({0, 1, 1, 0}).to(at::kBool)));
  // A box of nothing takes nothing from the neighbour.
  batch = make();
  CutMix(all, 1).Paste(batch, {});
  EXPECT_TRUE(at::equal(batch.At("known"), before.At("known")));

  batch = make();
  MixUp(all, 1).Mix(batch, 0.75);
  EXPECT_FALSE(batch.At("mask").any().item<bool>());
  EXPECT_EQ(batch.At("share")[2][0][2].item<float>(), 0.75f);
  EXPECT_EQ(batch.At("share")[2][0][1].item<float>(), 0.25f);
  EXPECT_EQ(batch.At("w")[2].item<float>(), 1.75f);

  batch = make();
  Mosaic(all, 0.25).Join(batch, 1, 2);
  expected = mask.clone();
  expected.slice(2, 0, 1).slice(3, 2).copy_(
      mask.roll(1, 0).slice(2, 0, 1).slice(3, 2));
  expected.slice(2, 1).slice(3, 0, 2).copy_(
      mask.roll(2, 0).slice(2, 1).slice(3, 0, 2));
  expected.slice(2, 1).slice(3, 2).copy_(
      mask.roll(3, 0).slice(2, 1).slice(3, 2));
  EXPECT_TRUE(at::equal(batch.At("mask"), expected));

  // By default the mask alone, of signals too.
  batch = Numbered({4, 2, 6});
  batch.Set("mask", at::arange(4).view({4, 1}).expand({4, 6}).gt(1));
  batch.Set("w", at::arange(4, at::kFloat));
  MixUp({.num_classes = 4}, 1).Mix(batch, 0.5);
  EXPECT_EQ(batch.At("mask").sum().item<int64_t>(), 6);
  EXPECT_TRUE(at::equal(batch.At("w"), at::arange(4, at::kFloat)));
  batch.Erase("mask");
  batch.Set("target", at::arange(4));
  EXPECT_EQ(ErrorOf([&] { MixUp({.num_classes = 4}, 1).Mix(batch, 0.5); }), "");
  batch.Set("target", at::arange(4));
  batch.Set("ids", at::arange(4));
  EXPECT_NE(ErrorOf([&] {
              MixUp({.num_classes = 4, .also = std::vector<std::string>{"ids"}},
                    1)
                  .Mix(batch, 0.5);
            }).find("\"ids\" is of type Long"),
            std::string::npos);
}

TEST(BatchAugmentTest, NamesWhatCannotBeMixed) {
  const auto mix = [](Batch batch, int64_t classes) {
    return ErrorOf(
        [&] { MixUp({.num_classes = classes}, 1.0).Mix(batch, 0.5); });
  };
  EXPECT_NE(mix(Numbered({4, 1, 4, 4}), 0).find("num_classes"),
            std::string::npos);
  Batch odd = Numbered({4, 1, 4, 4});
  odd.Set("target", at::zeros({4, 2, 2}));
  EXPECT_NE(mix(odd, 4).find("[4, 2, 2]"), std::string::npos);
  // Classes at each of three places are no labels.
  odd.Set("target", at::tensor({0, 1, 2}, at::kLong).expand({4, 3}));
  EXPECT_NE(mix(odd, 4).find("[4, 3]"), std::string::npos);
  // One that a loss ignores has no share.
  odd.Set("target", at::tensor({0, 1, -100, 3}, at::kLong));
  EXPECT_NE(mix(odd, 4).find("class -100; 0 to 3"), std::string::npos);
  odd.Set("target", at::tensor({0, 1, 4, 3}, at::kLong));
  EXPECT_NE(mix(odd, 4).find("class 4; 0 to 3"), std::string::npos);
  odd.Set("target", at::tensor({1.0, 2.0, 3.0, 4.0}));
  EXPECT_EQ(mix(odd, 0), "");
  Batch flat = Numbered({4, 5});
  Random random({1});
  EXPECT_NE(ErrorOf([&] { CutMix({.num_classes = 4}, 1).Apply(flat, random); }),
            "");
}

}  // namespace
}  // namespace epochd::engine
