// SPDX-License-Identifier: Apache-2.0
//
// Trainings stop where the original systems stop, and keep the checkpoints that
// they keep: record_rules.py recorded those.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "hooks/checkpoint_saver.h"
#include "hooks/stop_rule.h"
#include "tests/golden/golden.h"
#include "tests/worker/engine/loop/tiny_run.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/core/number.h"

namespace epochd::engine {
namespace {

using nlohmann::json;
using Epochs = std::set<int64_t>;

std::vector<double> Scores(const json& recorded) {
  std::vector<double> scores;
  for (const json& score : recorded["scores"]) {
    scores.push_back(score == "nan" ? std::nan("") : score.get<double>());
  }
  return scores;
}

TEST(RulesTest, Case44TrainingsStopWhereTheOriginalsDo) {
  const json cases = golden::Read("rules")["stopping"];
  ASSERT_EQ(cases.size(), 60 * hooks::StopRule::Names().size());
  for (const json& recorded : cases) {
    SCOPED_TRACE(recorded.dump());
    const auto kind = hooks::StopRule::KindOf(recorded["system"]);
    hooks::StopRule::Options options{
        .kind = kind,
        .patience = recorded["patience"].get<int64_t>(),
        .min_delta = recorded["min_delta"].get<double>(),
        .higher_is_better = recorded["mode"] == "max",
        .check_finite = hooks::StopRule::ChecksFinite(kind)};
    if (recorded.contains("stopping_threshold")) {
      options.threshold = recorded["stopping_threshold"].get<double>();
    }
    if (recorded.contains("baseline")) {
      options.baseline = recorded["baseline"].get<double>();
    }
    hooks::StopRule rule(options);
    const std::vector<double> scores = Scores(recorded);
    int64_t stops = -1;
    for (size_t i = 0; i < scores.size() && stops < 0; ++i) {
      if (rule.Observe(scores[i])) stops = static_cast<int64_t>(i);
    }
    EXPECT_EQ(stops, recorded["stops"].get<int64_t>());
  }
}

// The epochs whose checkpoints are left after epochs of these scores.
Epochs Kept(hooks::CheckpointSaver::Options options,
            const std::vector<double>& scores) {
  const TempFolder output;
  TinyRun::Options tiny;
  tiny.plan.max_epochs = static_cast<int64_t>(scores.size());
  tiny.output_dir = output.path();
  TinyRun run(List(Ones(1)), std::move(tiny));
  run.trainer->on_epoch_finished.Bind([&](TrainerContext& context) {
    context.AddScore("score", scores[static_cast<size_t>(context.epoch)]);
  });
  options.monitor = "score";
  run.trainer->AddHook(std::make_shared<hooks::CheckpointSaver>(options));
  run.Run();
  Epochs epochs;
  for (const CheckpointInfo& each : ListCheckpoints(output / "checkpoints")) {
    epochs.insert(each.epoch);
  }
  return epochs;
}

std::vector<json> Keeping(const std::string& system) {
  std::vector<json> cases;
  const json all = golden::Read("rules")["keeping"];
  for (const json& recorded : all) {
    if (recorded["system"] == system) cases.push_back(recorded);
  }
  return cases;
}

Epochs Left(const json& recorded) {
  auto epochs = recorded["left"].get<Epochs>();
  if (!recorded["best"].is_null()) {
    epochs.insert(recorded["best"].get<int64_t>());
  }
  return epochs;
}

TEST(RulesTest, SrForgesLastAndBestStay) {
  const std::vector<json> cases = Keeping("srforge");
  ASSERT_EQ(cases.size(), 4u);
  for (const json& recorded : cases) {
    EXPECT_EQ(Kept({.keep_last = 1, .keep_best = 1}, Scores(recorded)),
              Left(recorded))
        << recorded;
  }
}

TEST(RulesTest, Case71TheLastFewOfTorchEcgStayBesideItsBest) {
  const std::vector<json> cases = Keeping("torch_ecg");
  ASSERT_EQ(cases.size(), 4u);
  for (const json& recorded : cases) {
    EXPECT_EQ(Kept({.keep_last = recorded["keep"].get<int64_t>(),
                    .keep_best = 1,
                    .higher_is_better = true},
                   Scores(recorded)),
              Left(recorded))
        << recorded;
  }
}

// MMEngine's best before its first regular checkpoint is weights alone, which
// go with the next best; ours is a checkpoint, and stays where all stay.
TEST(RulesTest, WhatMmEngineKeepsStays) {
  const std::vector<json> cases = Keeping("mmengine");
  ASSERT_EQ(cases.size(), 20u);
  int different = 0;
  for (const json& recorded : cases) {
    SCOPED_TRACE(recorded.dump());
    const bool keeps_all = recorded["max_keep_ckpts"] == -1;
    Epochs kept = Kept({.every_epochs = recorded["interval"].get<int64_t>(),
                        .begin = recorded["save_begin"].get<int64_t>(),
                        .keep_last = recorded["max_keep_ckpts"].get<int64_t>(),
                        .keep_best = recorded["save_best"] ? 1 : 0,
                        .higher_is_better = recorded["rule"] == "greater",
                        .save_last = recorded["save_last"].get<bool>()},
                       Scores(recorded));
    const Epochs theirs = Left(recorded);
    if (keeps_all && recorded["save_best"]) {
      const int64_t first = recorded["left"].at(0).get<int64_t>();
      different += static_cast<int>(std::erase_if(kept, [&](int64_t epoch) {
        return epoch < first && !theirs.contains(epoch);
      }));
    }
    EXPECT_EQ(kept, theirs);
  }
  EXPECT_GT(different, 0);
}

// Its steps as checkpoints of ours; the last always stays here.
TEST(RulesTest, PhiJaxsTopFewAndItsLastStay) {
  const std::vector<json> cases = Keeping("phijax");
  ASSERT_EQ(cases.size(), 60u);
  for (const json& recorded : cases) {
    const std::vector<double> scores = Scores(recorded);
    const auto every = recorded["every"].get<size_t>();
    Retention retention({.keep_last = 1,
                         .keep_best = recorded["top_k"].get<int64_t>(),
                         .higher_is_better = recorded["mode"] == "max"});
    for (size_t step = 1; step <= scores.size(); ++step) {
      if (step % every != 0 && step != scores.size()) continue;
      retention.Add({.path = std::to_string(step),
                     .score = scores[step - 1],
                     .event = static_cast<int64_t>(step)});
      retention.TakeRemovable([](int64_t) { return true; });
    }
    Epochs kept;
    for (const Retention::Item& item : retention.items()) {
      kept.insert(std::stoll(item.path));
    }
    EXPECT_EQ(kept, Left(recorded)) << recorded;
  }
}

}  // namespace
}  // namespace epochd::engine
