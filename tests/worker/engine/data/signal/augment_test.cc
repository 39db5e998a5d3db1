// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/augment.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/worker/engine/data/signal/signal_files.h"
#include "tests/worker/engine/data/signal/wave.h"

namespace epochd::engine {
namespace {

using testing::HasSubstr;

const nlohmann::json& RecordedTransforms() {
  static const nlohmann::json recorded = RecordedJson("transforms.json");
  return recorded;
}

at::Tensor FloatWave(int64_t leads, int64_t size) {
  return Wave(leads, size).to(at::kFloat);
}

at::Tensor Applied(const Transform& transform, const at::Tensor& input,
                   uint64_t seed) {
  Batch sample{{"input", input}};
  Random random({seed});
  transform.Apply(sample, random);
  return sample.At("input");
}

BaselineWanderOptions WanderOptions(double probability) {
  return {.fs = 100,
          .amplitudes = {{0.1, 0.1, 0.1, 0.1}},
          .probability = probability};
}

// How many of 400 samples `changed` says yes to.
template <class F>
int Count(const Transform& transform, const at::Tensor& input, F changed) {
  int count = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    count += changed(Applied(transform, input, seed)) ? 1 : 0;
  }
  return count;
}

TEST(SignalTransforms, LeadAmplitudesAreTorchEcgs) {
  for (const auto& each : RecordedTransforms().at("amplitudes")) {
    const at::Tensor ours = LeadAmplitudes(Wave(3, 230), each.at("fs"));
    for (int64_t lead = 0; lead < 3; ++lead) {
      EXPECT_NEAR(ours[lead].item<double>(),
                  each.at("values")[lead].get<double>(), 1e-12);
    }
  }
  // Shorter than a window: one window.
  EXPECT_GT(LeadAmplitudes(Wave(1, 5), 100).item<double>(), 0);
}

TEST(SignalTransforms, WanderIsTorchEcgs) {
  const auto expected =
      RecordedTransforms().at("wander").get<std::vector<double>>();
  const std::vector<double> ours =
      Wander(50, 100, {0.33, 2.0}, {0.1, 0.05}, {10, 200});
  ASSERT_EQ(ours.size(), expected.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(ours[i], expected[i], 1e-12);
  }
}

TEST(SignalTransforms, NormalizationIsTorchEcgs) {
  for (const auto& each : RecordedTransforms().at("normalized")) {
    SCOPED_TRACE(each.at("method").dump() + each.at("per_lead").dump());
    const std::string method = each.at("method");
    const SignalNormalize transform(method == "z-score" ? Scaling::kZScore
                                    : method == "naive" ? Scaling::kNaive
                                                        : Scaling::kMinMax,
                                    0.5, 2, each.at("per_lead"), "input");
    ExpectRows(Applied(transform, FloatWave(3, 40), 1), each.at("values"),
               2e-6);
  }
}

TEST(SignalTransforms, StretchingIsTorchEcgs) {
  for (const auto& each : RecordedTransforms().at("stretched")) {
    SCOPED_TRACE(each.at("ratio").dump());
    ExpectRows(Stretch(FloatWave(2, 60), each.at("ratio")), each.at("values"),
               2e-6);
    ExpectRows(Stretch(FloatWave(1, 60), each.at("ratio")),
               nlohmann::json::array({each.at("label")}), 2e-6);
  }
}

TEST(SignalTransforms, LabelSmoothingIsTorchEcgs) {
  const LabelSmooth transform(0.1, 0, 1, "target");
  Batch sample{{"target", at::tensor({0.f, 1.f, 1.f, 0.f})}};
  Random random({1});
  transform.Apply(sample, random);
  ExpectRows(sample.At("target").unsqueeze(0),
             nlohmann::json::array({RecordedTransforms().at("smoothed")}),
             1e-7);
}

TEST(SignalTransforms, ClassNumbersBecomeSharesOfOneShape) {
  const LabelSmooth transform(0.3, 3, 0.5, "target");
  int smoothed = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Batch sample{{"target", at::scalar_tensor(2, at::kLong)}};
    Random random({seed});
    transform.Apply(sample, random);
    const at::Tensor& label = sample.At("target");
    ASSERT_EQ(label.sizes(), at::IntArrayRef({3}));
    EXPECT_NEAR(label.sum().item<float>(), 1, 1e-6);
    smoothed += label[2].item<float>() < 0.99 ? 1 : 0;
  }
  EXPECT_NEAR(smoothed, 100, 30);
  Random random({1});
  Batch beyond{{"target", at::scalar_tensor(3, at::kLong)}};
  EXPECT_THAT(ErrorOf([&] { transform.Apply(beyond, random); }),
              HasSubstr("is class 3; 0 to 2 are accepted"));
  Batch index{{"target", at::scalar_tensor(0, at::kLong)}};
  EXPECT_THAT(
      ErrorOf([&] { LabelSmooth(0.1, 0, 1, "target").Apply(index, random); }),
      HasSubstr("`classes` is needed"));
}

TEST(SignalTransforms, FlipChangesTheSignOfWholeLeads) {
  const at::Tensor wave = FloatWave(4, 30);
  const SignalFlip transform(0.5, 0.5, true, "input");
  int flipped = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const at::Tensor out = Applied(transform, wave, seed);
    for (int64_t lead = 0; lead < 4; ++lead) {
      const bool same = at::equal(out[lead], wave[lead]);
      EXPECT_TRUE(same || at::equal(out[lead], -wave[lead]));
      flipped += same ? 0 : 1;
    }
  }
  EXPECT_NEAR(flipped, 200, 60);
  const SignalFlip all(1, 0, false, "input");
  EXPECT_TRUE(at::equal(Applied(all, wave, 1), -wave));
}

TEST(SignalTransforms, MaskReplacesStretchesOfAllLeads) {
  const at::Tensor wave = at::ones({2, 1000});
  const SignalMask transform({.fs = 100, .value = -7, .probability = 1});
  const at::Tensor out = Applied(transform, wave, 3);
  const at::Tensor masked = out == -7;
  EXPECT_TRUE(at::equal(masked[0], masked[1]));
  EXPECT_TRUE(at::equal(out == 1, masked.logical_not()));
  const double share = masked[0].to(at::kDouble).mean().item<double>();
  EXPECT_GT(share, 0.02);
  EXPECT_LT(share, 0.4);
  const SignalMask sometimes({.fs = 100, .probability = 0.3});
  EXPECT_NEAR(Count(sometimes, wave,
                    [&](const at::Tensor& x) { return !at::equal(x, wave); }),
              120, 40);
  EXPECT_THAT(ErrorOf([] {
                SignalMask({.fs = 100, .min_width = 0.2, .max_width = 0.1});
              }),
              HasSubstr("0 < least <= most"));
}

TEST(SignalTransforms, LeadDropoutNeverDropsAll) {
  const at::Tensor wave = at::ones({3, 5});
  const LeadDropout transform(1, "input");
  const LeadDropout rare(0.2, "input");
  int dropped = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    EXPECT_EQ(Applied(transform, wave, seed).sum().item<float>(), 5);
    dropped +=
        3 - static_cast<int>(Applied(rare, wave, seed).sum().item<float>() / 5);
  }
  // 0.2 of each lead but the one that is kept.
  EXPECT_NEAR(dropped, 300 * 0.2 * 2, 40);
}

TEST(SignalTransforms, NoiseHasTheDeviationAskedFor) {
  const at::Tensor wave = FloatWave(2, 5000);
  const SignalNoise relative(0.1, true, 1, "input");
  const at::Tensor noise = Applied(relative, wave, 1) - wave;
  const at::Tensor ratio = at::std(noise, 1) / at::std(wave, 1);
  EXPECT_NEAR(ratio[0].item<float>(), 0.1, 0.005);
  EXPECT_NEAR(ratio[1].item<float>(), 0.1, 0.005);
  const SignalNoise absolute(0.5, false, 1, "input");
  EXPECT_NEAR(at::std(Applied(absolute, wave, 2) - wave, 1)[0].item<float>(),
              0.5, 0.025);
}

TEST(SignalTransforms, WanderIsSlowAndOfItsSize) {
  const at::Tensor wave = FloatWave(2, 2000);
  BaselineWanderOptions options = WanderOptions(1);
  options.noise = {0};
  const at::Tensor added = Applied(BaselineWander(options), wave, 4) - wave;
  const at::Tensor amplitude = LeadAmplitudes(wave, 100).to(at::kFloat);
  EXPECT_LE(added[0].abs().max().item<float>(),
            0.41 * amplitude[0].item<float>());
  EXPECT_GT(added[0].abs().max().item<float>(), 0);
  // 0.33 Hz at most: little from one sample to the next.
  EXPECT_LT(added.diff(1, 1).abs().max().item<float>(),
            0.01 * amplitude[1].item<float>());
  EXPECT_TRUE(
      at::equal(Applied(BaselineWander(WanderOptions(0)), wave, 4), wave));
}

TEST(SignalTransforms, RenormalizeDrawsMeanAndDeviation) {
  const at::Tensor wave = FloatWave(2, 400);
  const Renormalize transform({.probability = 1});
  double mean_sum = 0;
  double std_sum = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const at::Tensor out = Applied(transform, wave, seed);
    mean_sum += out.mean().item<double>();
    std_sum += out.std(/*unbiased=*/false).item<double>();
  }
  EXPECT_NEAR(mean_sum / 200, 0.025, 0.01);
  EXPECT_NEAR(std_sum / 200, 0.2, 0.02);
}

TEST(SignalTransforms, StretchMovesOtherFieldsAlong) {
  const at::Tensor wave = FloatWave(1, 100);
  Batch sample{{"input", wave}, {"mask", wave.clone()}};
  Random random({5});
  StretchCompress(0.2, 1, "input", {"mask"}).Apply(sample, random);
  EXPECT_FALSE(at::equal(sample.At("input"), wave));
  EXPECT_TRUE(at::equal(sample.At("input"), sample.At("mask")));
  sample.Set("mask", at::ones({7}));
  EXPECT_THAT(
      ErrorOf([&] {
        StretchCompress(0.2, 1, "input", {"mask"}).Apply(sample, random);
      }),
      HasSubstr("its last dimension must be the signal's, 100"));
}

TEST(SignalTransforms, StretchKeepsClassesOfSamplesClasses) {
  const at::Tensor wave = FloatWave(1, 100);
  at::Tensor classes = at::zeros({100}, at::kLong);
  classes.slice(0, 40, 70).fill_(4);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Batch sample{{"input", wave},
                 {"target", classes},
                 {"mask", classes.to(at::kBool)},
                 {"soft", classes.to(at::kFloat)}};
    Random random({seed});
    StretchCompress(0.2, 1, "input", {"target", "mask", "soft"})
        .Apply(sample, random);
    const at::Tensor& moved = sample.At("target");
    EXPECT_EQ(moved.scalar_type(), at::kLong);
    EXPECT_TRUE((moved.eq(0) | moved.eq(4)).all().item<bool>());
    EXPECT_TRUE(at::equal(sample.At("mask"), moved.to(at::kBool)));
    // Within a sample of where the linear one passes the middle.
    const at::Tensor apart = (sample.At("soft") - moved).abs();
    EXPECT_LE(apart.max().item<double>(), 2.001);
    EXPECT_LE(apart.gt(0).sum().item<int64_t>(), 4);
  }
}

TEST(SignalTransforms, ResampleBringsFieldsOfSamplesAlong) {
  // Times of samples, and a class that changes in the middle.
  const at::Tensor times = at::arange(90, at::kFloat) / 90;
  Batch sample{{"input", times.expand({2, 90}).contiguous()},
               {"time", times},
               {"target", times.ge(0.5).to(at::kLong) * 4},
               {"mask", times.lt(0.25).expand({2, 90})}};
  const SignalResample resample(90, 60, ResampleEdge::kRepeat, "input",
                                {"time", "target", "mask"});
  Random random({1});
  Batch batch;
  for (const auto& [name, value] : sample) {
    batch.Set(name, at::stack({value, value}));
  }
  resample.Apply(sample, random);
  const at::Tensor wanted = at::arange(60, at::kFloat) / 60;
  EXPECT_TRUE(
      at::allclose(sample.At("time").slice(0, 0, 59), wanted.slice(0, 0, 59)));
  EXPECT_EQ(sample.At("target").scalar_type(), at::kLong);
  EXPECT_TRUE(at::equal(sample.At("target"), wanted.ge(0.5).to(at::kLong) * 4));
  EXPECT_TRUE(at::equal(sample.At("mask"), wanted.lt(0.25).expand({2, 60})));
  ASSERT_TRUE(resample.ApplyToBatch(batch));
  for (const auto& [name, value] : sample) {
    EXPECT_TRUE(at::equal(batch.At(name)[1], value)) << name;
  }

  sample.Set("target", at::zeros({7}));
  EXPECT_THAT(ErrorOf([&] { resample.Apply(sample, random); }),
              HasSubstr("SignalResample on field \"target\": has shape [7]; "
                        "its last dimension must be the signal's, 60"));
}

TEST(SignalTransforms, TheSameStreamGivesTheSameBitsAndLeavesTheSourceAlone) {
  const at::Tensor wave = FloatWave(3, 300);
  const at::Tensor kept = wave.clone();
  const BaselineWander wander(WanderOptions(1));
  const SignalNoise noise(0.1, true, 1, "input");
  const SignalFlip flip(1, 0.5, true, "input");
  const SignalMask mask({.fs = 100, .probability = 1});
  const StretchCompress stretch(0.1, 1, "input", {});
  const LeadDropout dropout(0.5, "input");
  const Renormalize renormalize({.per_lead = true, .probability = 1});
  for (const Transform* each : std::initializer_list<const Transform*>{
           &wander, &noise, &flip, &mask, &stretch, &dropout, &renormalize}) {
    const at::Tensor first = Applied(*each, wave, 7);
    EXPECT_TRUE(at::equal(first, Applied(*each, wave, 7)));
    EXPECT_EQ(first.sizes(), wave.sizes());
    EXPECT_TRUE(at::equal(wave, kept));
    EXPECT_THAT(ErrorOf([&] { Applied(*each, at::ones({3}), 1); }),
                HasSubstr("a signal [leads, samples] is needed"));
  }
}

TEST(SignalTransforms, FiltersDoToABatchWhatTheyDoToEachSample) {
  const SignalResample resample(100, 50, ResampleEdge::kZero, "input");
  const BandPass band(2, 1, 20, 100, "input");
  for (const Transform* each :
       std::initializer_list<const Transform*>{&resample, &band}) {
    Batch batch{{"input", at::stack({FloatWave(2, 90), -FloatWave(2, 90)})}};
    ASSERT_TRUE(each->ApplyToBatch(batch));
    EXPECT_TRUE(
        at::equal(batch.At("input")[0], Applied(*each, FloatWave(2, 90), 1)));
    EXPECT_TRUE(
        at::equal(batch.At("input")[1], Applied(*each, -FloatWave(2, 90), 1)));
  }
}

}  // namespace
}  // namespace epochd::engine
