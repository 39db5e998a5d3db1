// SPDX-License-Identifier: Apache-2.0
//
// The loop does with given batches what record_loops.py recorded of SR-Forge's
// and MMEngine's.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "hooks/gradient_clip.h"
#include "tests/golden/golden.h"
#include "tests/worker/engine/loop/tiny_run.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/loop/gan_training_runner.h"

namespace epochd::engine {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

constexpr size_t kGanBatches = 10;
constexpr size_t kEpochs = 2;

// What each batch of ten an epoch trained, with these hooks.
Words Sequence(const Json& hooks, const std::string& images) {
  Json experiment = GanExperiment(kEpochs);
  experiment["data"]["train"] = {
      {"type", "TensorFile"}, {"file", images}, {"batch_size", 4}};
  experiment["hooks"] = hooks;
  TestRun run(experiment);
  Words sequence;
  dynamic_cast<GanTrainingRunner&>(run.trainer().training_runner())
      .on_post_step.Bind([&](GanContext& context) {
        sequence.push_back(std::string(context.run_d ? "D" : "") +
                           (context.run_g ? "G" : ""));
      });
  run.trainer().Start();
  run.trainer().Run();
  return sequence;
}

Words SplitWords(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Theirs, but for what docs/fidelity.md decides: a warm-up's steps do not count
// for the ratio, so what comes after one within an epoch is what the ratio
// alone begins with; and the last batch of an epoch trains both sides unless a
// warm-up rests one.
TEST(LoopsTest, StepRatioAndWarmupTrainTheSidesThatSrForgeTrains) {
  const json cases = golden::Read("loops")["gan_steps"];
  ASSERT_EQ(cases.size(), 25u);
  const TempFolder folder;
  WriteSafetensors(folder / "images",
                   {{"input", golden::Fill({40, 1, 8, 8}, 30)}});
  Words alone;
  bool warmup_first = false;  // in turns
  size_t as_theirs = 0;
  for (const json& recorded : cases) {
    SCOPED_TRACE(recorded.dump());
    const Words theirs = SplitWords(recorded["steps"]);
    const auto warmup = recorded["warmup"].get<size_t>();
    if (warmup == 0) alone = theirs;  // the first of its ratio
    ASSERT_EQ(theirs.size(), kEpochs * kGanBatches);
    Words expected;
    for (size_t epoch = 0; epoch < kEpochs; ++epoch) {
      const size_t first = epoch * kGanBatches;
      const size_t warm =
          std::min(std::max(warmup, first) - first, kGanBatches);
      Words ours(warm, "D");
      ours.insert(ours.end(), alone.begin(),
                  alone.begin() + static_cast<int64_t>(kGanBatches - warm));
      if (warm < kGanBatches) ours.back() = "DG";
      if (warm == 0 || warm == kGanBatches) {
        const auto begin = theirs.begin() + static_cast<int64_t>(first);
        EXPECT_TRUE(std::equal(ours.begin(), ours.end() - 1, begin));
        ++as_theirs;
      }
      expected.insert(expected.end(), ours.begin(), ours.end());
    }
    const Json ratio = {{"type", "StepRatio"}, {"ratio", recorded["ratio"]}};
    const Json warm = {{"type", "DiscriminatorWarmup"}, {"batches", warmup}};
    EXPECT_EQ(Sequence(warmup_first ? Json{warm, ratio} : Json{ratio, warm},
                       folder / "images"),
              expected);
    warmup_first = !warmup_first;
  }
  EXPECT_EQ(as_theirs, 35u);
}

// Minus the squared error, so that MinusMean is its mean.
class LinearModel : public Model {
 public:
  LinearModel() : weight_(golden::Fill({1, 3}, 0).requires_grad_(true)) {}
  Batch Forward(const Batch& batch) override {
    const at::Tensor error =
        at::linear(batch.At("input"), weight_) - batch.At("target");
    return {{"output", -error.square()}};
  }
  std::vector<NamedTensor> Parameters() const override {
    return {{"weight", weight_}};
  }
  std::vector<NamedTensor> Buffers() const override { return {}; }
  void SetTraining(bool) override {}
  void To(c10::Device) override {}

 private:
  at::Tensor weight_;
};

// The generator's batches; one of them overflows when that is asked for.
std::vector<Batch> RecordedBatches(bool overflow) {
  const std::vector<int64_t> sizes = {4, 4, 3, 4, 2, 4, 1};
  std::vector<Batch> batches;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto stream = static_cast<int64_t>(i);
    const double scale = overflow && i == 2 ? 1e30 : 4;
    batches.push_back(
        {{"input", golden::Fill({sizes[i], 3}, 10 + stream) * scale},
         {"target", golden::Fill({sizes[i], 1}, 20 + stream)}});
  }
  return batches;
}

// A run as the system does it: SR-Forge's groups end with the epoch and are
// divided by the full count, MMEngine's go on and are divided by their own.
struct RecordedRun {
  RecordedRun(bool is_mmengine, int64_t accumulation,
              std::shared_ptr<Hook> clip = nullptr) {
    TinyRun::Options options;
    options.lr = 0.05;
    options.momentum = 0.9;
    options.model = std::make_shared<LinearModel>();
    options.plan.max_epochs = kEpochs;
    options.plan.groups_cross_epochs = is_mmengine;
    options.runner.update.accumulation = accumulation;
    options.runner.update.remainder =
        is_mmengine ? Update::Remainder::kActual : Update::Remainder::kFull;
    if (clip) {
      options.runner.update.scaler =
          GradScaler::Options{.init_scale = 1024, .growth_interval = 3};
    }
    const std::shared_ptr<Model> model = options.model;
    TinyRun run(List(RecordedBatches(clip != nullptr)), std::move(options));
    if (clip) run.trainer->AddHook(clip);
    run.runner().on_post_step.Bind([&](RunnerContext& context) {
      weights.push_back(golden::Values(model->Parameters()[0].tensor));
      scales.push_back(context.update->scale());
    });
    run.Run();
  }
  std::vector<std::vector<double>> weights;
  std::vector<double> scales;  // after each batch
};

void ExpectWeights(const std::vector<std::vector<double>>& weights,
                   const json& recorded) {
  ASSERT_EQ(weights.size(), recorded.size());
  for (size_t batch = 0; batch < weights.size(); ++batch) {
    const std::vector<double> theirs = golden::Doubles(recorded[batch]);
    ASSERT_EQ(weights[batch].size(), theirs.size());
    for (size_t i = 0; i < theirs.size(); ++i) {
      EXPECT_NEAR(weights[batch][i], theirs[i], 2e-6)
          << "weight " << i << " after batch " << batch;
    }
  }
}

TEST(LoopsTest, BothRulesOfAccumulationGiveTheWeightsOfTheirSystems) {
  const json cases = golden::Read("loops")["accumulation"];
  ASSERT_EQ(cases.size(), 5u);
  for (const json& recorded : cases) {
    const auto count = recorded["accumulation"].get<int64_t>();
    for (const char* system : {"srforge", "mmengine"}) {
      SCOPED_TRACE(std::string(system) + " " + std::to_string(count));
      ExpectWeights(
          RecordedRun(system == std::string("mmengine"), count).weights,
          recorded[system]);
    }
  }
}

TEST(LoopsTest, Case16And18ClippedScaledGradientsGiveTheirWeights) {
  const json cases = golden::Read("loops")["clipping"];
  ASSERT_EQ(cases.size(), 21u);
  for (const json& recorded : cases) {
    SCOPED_TRACE(recorded["system"].dump() + recorded["clip"].dump() +
                 recorded["accumulation"].dump());
    const json& clip = recorded["clip"];
    hooks::GradientClip::Options options;
    if (clip.contains("max_norm")) options.max_norm = clip["max_norm"];
    if (clip.contains("max_value")) options.max_value = clip["max_value"];
    if (clip.contains("norm_type")) {
      options.norm_type = clip["norm_type"] == "inf"
                              ? std::numeric_limits<double>::infinity()
                              : clip["norm_type"].get<double>();
    }
    const RecordedRun run(recorded["system"] == "mmengine",
                          recorded["accumulation"],
                          std::make_shared<hooks::GradientClip>(options));
    ExpectWeights(run.weights, recorded["weights"]);
    EXPECT_EQ(run.scales, golden::Doubles(recorded["scales"]));
  }
}

}  // namespace
}  // namespace epochd::engine
