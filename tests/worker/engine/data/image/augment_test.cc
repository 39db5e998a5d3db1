// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/augment.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tests/worker/engine/data/image/recorded.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/image/colour.h"
#include "worker/engine/data/image/geometry.h"
#include "worker/engine/data/transforms.h"
#include "worker/engine/loop/postprocess.h"

namespace epochd::engine {
namespace {

using Operation = std::function<at::Tensor(const at::Tensor&)>;

const std::vector<double> kFill = {0.25, 0.5, 0.75};

Operation By(const std::string& json) {
  return [json](const at::Tensor& image) {
    Batch sample{{"input", image}};
    Random random({1});
    BuildTransform(json)->Apply(sample, random);
    return sample.At("input");
  };
}

std::map<std::string, Operation> Operations() {
  constexpr auto kBilinear = Interpolation::kBilinear;
  constexpr auto kBicubic = Interpolation::kBicubic;
  constexpr auto kNearest = Interpolation::kNearest;
  const std::vector<double> zeros = {0};
  return {
      {"brightness_0.6", [](auto& x) { return AdjustBrightness(x, 0.6); }},
      {"brightness_1.7", [](auto& x) { return AdjustBrightness(x, 1.7); }},
      {"contrast_0.4", [](auto& x) { return AdjustContrast(x, 0.4); }},
      {"contrast_1.8", [](auto& x) { return AdjustContrast(x, 1.8); }},
      {"saturation_0.3", [](auto& x) { return AdjustSaturation(x, 0.3); }},
      {"saturation_1.9", [](auto& x) { return AdjustSaturation(x, 1.9); }},
      {"hue_0.21", [](auto& x) { return AdjustHue(x, 0.21); }},
      {"hue_-0.4", [](auto& x) { return AdjustHue(x, -0.4); }},
      {"grey_1", By(R"({"type": "Grayscale"})")},
      {"grey_3", By(R"({"type": "Grayscale", "num_output_channels": 3})")},
      {"rotate_33",
       [](auto& x) { return RotateImage(x, 33, kBilinear, kFill); }},
      {"rotate_33_zeros",
       [=](auto& x) { return RotateImage(x, 33, kBilinear, zeros); }},
      {"rotate_-70_nearest",
       [](auto& x) { return RotateImage(x, -70, kNearest, kFill); }},
      {"rotate_180",
       [=](auto& x) { return RotateImage(x, 180, kBilinear, zeros); }},
      {"affine",
       [](auto& x) {
         return AffineImage(x, {20, 2, -1, 1.3, 10, -5}, kBilinear, kFill);
       }},
      {"affine_nearest",
       [](auto& x) {
         return AffineImage(x, {-35, -3, 2, 0.7, 0, 0}, kNearest, kFill);
       }},
      {"resize_bilinear_9x21",
       [](auto& x) { return ResizeImage(x, 9, 21, kBilinear); }},
      {"resize_bicubic_9x21",
       [](auto& x) { return ResizeImage(x, 9, 21, kBicubic); }},
      {"resize_bicubic_28x8",
       [](auto& x) { return ResizeImage(x, 28, 8, kBicubic); }},
      {"resize_nearest_9x21",
       [](auto& x) { return ResizeImage(x, 9, 21, kNearest); }},
      {"center_crop_6x9", By(R"({"type": "CenterCrop", "size": [6, 9]})")},
      {"center_crop_20x9", By(R"({"type": "CenterCrop", "size": [20, 9]})")},
      {"center_crop_7x30", By(R"({"type": "CenterCrop", "size": [7, 30]})")},
      {"horizontal_flip", By(R"({"type": "RandomHorizontalFlip", "p": 1.0})")},
      {"vertical_flip", By(R"({"type": "RandomVerticalFlip", "p": 1.0})")},
      {"shorter_side_10", By(R"({"type": "Resize", "size": 10})")},
      {"shorter_side_10_tall", [](auto& x) {
         return By(R"({"type": "Resize", "size": 10})")(
             x.transpose(1, 2).contiguous());
       }}};
}

TEST(Augment, EachOperationIsTorchvisions) {
  const std::map<std::string, Operation> operations = Operations();
  const at::Tensor& source = Recorded("augment/source");
  const at::Tensor unit = source.to(at::kFloat).div(255);
  size_t cases = 0;
  for (const auto& [name, expected] : RecordedImages()) {
    const bool is_float = name.starts_with("augment/float/");
    if (!is_float && !name.starts_with("augment/uint8/")) continue;
    const std::string operation = name.substr(14);
    ASSERT_TRUE(operations.contains(operation)) << name;
    const at::Tensor before = (is_float ? unit : source).clone();
    const at::Tensor result = operations.at(operation)(before);
    EXPECT_TRUE(at::equal(before, is_float ? unit : source))
        << name << " changed its input";
    ASSERT_EQ(result.sizes(), expected.sizes()) << name;
    ASSERT_EQ(result.scalar_type(), expected.scalar_type()) << name;
    EXPECT_TRUE(result.is_contiguous()) << name;
    const at::Tensor apart =
        (result.to(at::kDouble) - expected.to(at::kDouble)).abs();
    // The recorded bits come out on the kind of CPU that they were recorded on.
    // Another may fuse the sums of a grid: 2^-23 of 17 pixels is 2e-6 of a
    // pixel, and a byte that lies between two values may then fall otherwise.
    const bool is_sampled =
        operation.starts_with("rotate") || operation.starts_with("affine");
    const double most =
        is_sampled ? (is_float ? 5e-6 : 1.0) : (is_float ? 1e-6 : 0.0);
    EXPECT_LE(apart.max().item<double>(), most) << name;
    if (!is_float) {
      EXPECT_LE(apart.count_nonzero().item<int64_t>(), is_sampled ? 2 : 0)
          << name;
    }
    ++cases;
  }
  EXPECT_EQ(cases, 27u + 16u);
}

// ---- what is drawn ----------------------------------------------------------

Batch Applied(const Transform& transform, Batch sample, uint64_t seed) {
  Random random({seed});
  transform.Apply(sample, random);
  return sample;
}

// A low-resolution image and a high-resolution one whose pixels tell which
// low-resolution pixel they belong to.
Batch PairOfScale(int64_t scale) {
  const at::Tensor low =
      at::arange(2 * 8 * 8, at::kFloat).view({2, 8, 8}) / 128;
  return {
      {"input", low},
      {"target", low.repeat_interleave(scale, 1).repeat_interleave(scale, 2)}};
}

TEST(Augment, FieldsAreChangedAlikeAtTheirScale) {
  const std::vector<std::string> exact = {
      R"("type": "RandomHorizontalFlip")",
      R"("type": "RandomVerticalFlip")",
      R"("type": "RandomRotate90")",
      R"("type": "RandomCrop", "size": 5)",
      R"("type": "RandomCrop", "size": [6, 9], "padding": 2, "fill": 0.5)",
      R"("type": "RandomShift", "pixels": 2)",
      R"("type": "CenterCrop", "size": [4, 10])",
      R"("type": "Cutout", "size": 3, "holes": 2, "value": 0.3)",
      R"("type": "RandomErasing", "p": 1.0, "value": [0.1, 0.2])"};
  for (const std::string& each : exact) {
    const auto transform =
        BuildTransform("{" + each + R"(, "fields": ["target", "input"]})");
    int changed = 0;
    for (uint64_t seed = 0; seed < 12; ++seed) {
      const Batch before = PairOfScale(3);
      const Batch after = Applied(*transform, before, seed);
      const at::Tensor low = after.At("input");
      EXPECT_TRUE(
          at::equal(after.At("target"),
                    low.repeat_interleave(3, 1).repeat_interleave(3, 2)))
          << each;
      changed += !at::equal(low, before.At("input"));
    }
    EXPECT_GT(changed, 2) << each;
  }
}

// A class for each pixel, with or without a channel: changed as the picture is,
// and never to a class that is not there.
TEST(Augment, LabelsAreMovedAlikeAndNeverMixed) {
  const std::string moves[] = {
      R"("type": "RandomRotation", "degrees": 40, "interpolation": "bilinear",
         "label_fill": 9)",
      R"("type": "RandomAffine", "degrees": 40, "translate": 0.3,
         "interpolation": "bilinear", "label_fill": 9, "fill": [1.0, 0.0, 1.0])",
      R"("type": "Resize", "size": [7, 9])",
      R"("type": "Resize", "size": [24, 18], "interpolation": "bicubic")",
      R"("type": "RandomResizedCrop", "size": [7, 9])",
      R"("type": "CenterCrop", "size": [24, 30], "label_fill": 9)",
      R"("type": "RandomCrop", "size": 12, "padding": 6, "label_fill": 9)",
      R"("type": "RandomShift", "pixels": 5, "fill": 0.5, "label_fill": 9)",
      R"("type": "Cutout", "size": 6, "value": 0.5, "label_fill": 9)",
      R"("type": "RandomErasing", "p": 1.0, "noise": true, "label_fill": 9)",
      R"("type": "RandomRotate90")"};
  const at::Tensor image = Recorded("augment/source").to(at::kFloat).div(255);
  at::Tensor classes = at::zeros({image.size(1), image.size(2)}, at::kLong);
  classes.slice(1, image.size(2) / 2).fill_(4);
  const at::Tensor real = at::ones(classes.sizes(), at::kBool);
  for (const std::string& each : moves) {
    SCOPED_TRACE(each);
    const bool fills = each.find("label_fill") != std::string::npos;
    const auto transform = BuildTransform(
        "{" + each + R"(, "fields": ["input", "target", "mask", "deep"]})");
    bool has_filled = false;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const Batch after = Applied(*transform,
                                  Batch{{"input", image},
                                        {"target", classes},
                                        {"mask", real},
                                        {"deep", classes.unsqueeze(0)}},
                                  seed);
      const at::Tensor target = after.At("target");
      EXPECT_EQ(target.scalar_type(), at::kLong);
      EXPECT_EQ(target.sizes(), after.At("input").sizes().slice(1));
      EXPECT_TRUE(at::equal(target.unsqueeze(0), after.At("deep")));
      const at::Tensor filled = target.eq(9);
      has_filled |= filled.any().item<bool>();
      EXPECT_TRUE((filled | target.eq(0) | target.eq(4)).all().item<bool>());
      EXPECT_TRUE(at::equal(filled.logical_not(), after.At("mask")));
    }
    EXPECT_EQ(has_filled, fills);
  }
}

TEST(Augment, TheSameStreamGivesTheSameAndAnotherAnother) {
  const at::Tensor image = Recorded("augment/source").to(at::kFloat).div(255);
  const std::vector<std::string> all = {
      R"("type": "RandomAffine", "degrees": 30, "translate": [0.2, 0.1],
         "scale": [0.7, 1.4], "shear": 10, "interpolation": "bilinear")",
      R"("type": "RandomRotation", "degrees": [10, 80])",
      R"("type": "RandomResizedCrop", "size": 9)",
      R"("type": "ColorJitter", "brightness": 0.4, "contrast": 0.4,
         "saturation": [0.5, 1.5], "hue": 0.2)",
      R"("type": "RandomErasing", "p": 1.0, "noise": true)",
      R"("type": "Cutout", "size": 5)"};
  for (const std::string& each : all) {
    const auto transform = BuildTransform("{" + each + "}");
    const Batch sample{{"input", image}};
    const at::Tensor first = Applied(*transform, sample, 3).At("input");
    EXPECT_TRUE(at::equal(first, Applied(*transform, sample, 3).At("input")))
        << each;
    EXPECT_FALSE(at::equal(first, Applied(*transform, sample, 4).At("input")))
        << each;
    EXPECT_TRUE(at::equal(image, sample.At("input"))) << each;
  }
}

TEST(Augment, ProbabilitiesHold) {
  const Batch sample{{"input", Recorded("augment/source")}};
  for (const char* const type :
       {"RandomHorizontalFlip", "RandomErasing", "RandomGrayscale"}) {
    const auto transform = BuildTransform(std::string(R"({"type": ")") + type +
                                          R"(", "p": 0.25})");
    int changed = 0;
    for (uint64_t seed = 0; seed < 400; ++seed) {
      changed += !at::equal(Applied(*transform, sample, seed).At("input"),
                            sample.At("input"));
    }
    EXPECT_NEAR(changed, 100, 35) << type;
  }
}

TEST(Augment, ResizedCropsKeepAreaAndRatioWithinBounds) {
  // Pixels tell where they come from, so a crop tells its corners.
  const at::Tensor y =
      at::arange(64, at::kFloat).view({64, 1}).expand({64, 96});
  const at::Tensor x =
      at::arange(96, at::kFloat).view({1, 96}).expand({64, 96});
  const Batch sample{{"input", at::stack({y, x})}};
  const auto transform = BuildTransform(
      R"({"type": "RandomResizedCrop", "size": 32, "scale": [0.2, 0.5],
          "interpolation": "nearest"})");
  std::set<int64_t> tops;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const at::Tensor crop = Applied(*transform, sample, seed).At("input");
    ASSERT_EQ(crop.sizes(), at::IntArrayRef({2, 32, 32}));
    const double height = (crop[0].max() - crop[0].min()).item<double>() + 1;
    const double width = (crop[1].max() - crop[1].min()).item<double>() + 1;
    const double part = height * width / (64 * 96);
    // Nearest leaves out up to two rows of those cut.
    EXPECT_GT(part, 0.16);
    EXPECT_LT(part, 0.53);
    EXPECT_GT(width / height, 0.68);
    EXPECT_LT(width / height, 1.48);
    tops.insert(crop[0].min().item<int64_t>());
  }
  EXPECT_GT(tops.size(), 15u);
  // No part of a line has an accepted ratio: the middle is taken.
  const Batch line{{"input", at::arange(100, at::kFloat).view({1, 1, 100})}};
  const at::Tensor middle = Applied(*transform, line, 0).At("input");
  EXPECT_EQ(middle.min().item<float>(), 49.0f);
}

TEST(Augment, ColorJitterDrawsTheOrderToo) {
  const at::Tensor image = Recorded("augment/source");
  const Batch sample{{"input", image}};
  const auto fixed = BuildTransform(
      R"({"type": "ColorJitter", "brightness": [1.5, 1.5],
          "contrast": [0.5, 0.5]})");
  const at::Tensor one = AdjustContrast(AdjustBrightness(image, 1.5), 0.5);
  const at::Tensor other = AdjustBrightness(AdjustContrast(image, 0.5), 1.5);
  int first = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const at::Tensor result = Applied(*fixed, sample, seed).At("input");
    const bool is_first = at::equal(result, one);
    EXPECT_TRUE(is_first || at::equal(result, other));
    first += is_first;
  }
  EXPECT_NEAR(first, 30, 14);
  const auto nothing = BuildTransform(R"({"type": "ColorJitter"})");
  EXPECT_TRUE(at::equal(Applied(*nothing, sample, 0).At("input"), image));
}

TEST(Augment, ToFloatScalesBytesAndKeepsFloats) {
  const auto transform =
      BuildTransform(R"({"type": "ToFloat", "fields": ["input", "target"]})");
  const at::Tensor bytes = Recorded("augment/source");
  Batch sample{{"input", bytes}, {"target", bytes.to(at::kFloat)}};
  EXPECT_TRUE(transform->ApplyToBatch(sample));
  EXPECT_TRUE(at::equal(sample.At("input"), bytes.to(at::kFloat).div(255)));
  EXPECT_TRUE(at::equal(sample.At("target"), bytes.to(at::kFloat)));
  Batch wrong{{"input", bytes.to(at::kLong)}, {"target", bytes}};
  EXPECT_NE(ErrorOf([&] { transform->ApplyToBatch(wrong); }), "");
}

TEST(Augment, SaysWhatDoesNotFit) {
  const at::Tensor image = at::zeros({3, 8, 8});
  const auto error_of = [&](const std::string& json, Batch sample) {
    return ErrorOf([&] { Applied(*BuildTransform(json), sample, 0); });
  };
  const std::string flip =
      R"({"type": "RandomHorizontalFlip", "fields": ["input", "target"]})";
  EXPECT_NE(error_of(flip, {{"input", image}}).find("target"),
            std::string::npos);
  std::string error =
      error_of(flip, {{"input", image}, {"target", at::zeros({3, 17, 16})}});
  EXPECT_NE(error.find("multiple of 8x8"), std::string::npos) << error;
  EXPECT_NE(error_of(flip, {{"input", image}, {"target", image[0]}})
                .find("[channels, height, width]"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"type": "RandomCrop", "size": 9})", {{"input", image}})
                .find("smaller than the crop"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"type": "ColorJitter", "hue": 0.1})",
                     {{"input", at::zeros({4, 8, 8})}})
                .find("1 or 3 channels"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"type": "ColorJitter", "brightness": -2.0})",
                     {{"input", image}})
                .find("brightness: expected at least 0, got -2"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"type": "RandomRotation", "degrees": 5,
                        "fill": [1.0, 2.0]})",
                     {{"input", image}})
                .find("fill"),
            std::string::npos);
  for (const char* bad :
       {R"({"type": "ColorJitter", "hue": 0.6})",
        R"({"type": "RandomAffine", "degrees": [3, 2]})",
        R"({"type": "RandomAffine", "degrees": 1, "translate": [1.5]})",
        R"({"type": "RandomAffine", "degrees": 1, "scale": [0.0, 1.0]})",
        R"({"type": "RandomResizedCrop", "size": 4, "scale": [0.5, 1.5]})",
        R"({"type": "CenterCrop", "size": [1, 2, 3]})"}) {
    EXPECT_NE(ErrorOf([&] { BuildTransform(bad); }), "") << bad;
  }
}

// As postprocessors: behind the model, on batches.
TEST(PostprocessTest, WhatKnowsNoBatchesIsDoneToEachSample) {
  const at::Tensor images = at::rand({3, 1, 8, 8}) * 3 - 1;
  Batch batch{{"output", images}, {"target", at::tensor({1, 2, 3}, at::kLong)}};
  Postprocess({BuildTransform(
                  R"({"type": "CenterCrop", "size": 4, "field": "output"})")},
              batch);
  const at::Tensor middle = images.slice(2, 2, 6).slice(3, 2, 6);
  EXPECT_TRUE(batch.At("output").equal(middle));
  EXPECT_TRUE(batch.At("target").equal(at::tensor({1, 2, 3}, at::kLong)));
  Batch coloured{{"output", at::rand({2, 3, 4, 4})}};
  Postprocess({BuildTransform(R"({"type": "Grayscale", "field": "output"})")},
              coloured);
  EXPECT_EQ(coloured.At("output").size(1), 1);
  Postprocess({BuildTransform(R"({"type": "Clamp", "field": "output"})")},
              batch);
  EXPECT_TRUE(batch.At("output").equal(middle.clamp(0, 1)));
  try {
    Postprocess({BuildTransform(
                    R"({"type": "RandomHorizontalFlip", "field": "output"})")},
                batch);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("by chance"), std::string::npos);
  }
}

}  // namespace
}  // namespace epochd::engine
