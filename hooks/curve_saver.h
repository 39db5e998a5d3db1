// SPDX-License-Identifier: Apache-2.0
//
// CurveSaver: draws scores over epochs into <output>/curves.svg, after each
// epoch; over iterations where the run validates within epochs, and after those
// validations, too: one panel for each name after the slash, so that train/loss
// and val/loss share one. Any browser shows it. What was drawn is kept in
// checkpoints, so a run that goes on draws all of its past. Rank 0 alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

struct Curve {
  std::string name;  // such as "val/loss"
  // Epochs (from 1) or iterations, and values; values that are not finite leave
  // a gap.
  std::vector<std::pair<int64_t, double>> points{};
};

// An SVG picture of the curves; panels two beside each other.
std::string DrawCurves(const std::vector<Curve>& curves);

class CurveSaver : public engine::Hook {
 public:
  // Names of scores; empty: all.
  explicit CurveSaver(std::vector<std::string> metrics)
      : metrics_(std::move(metrics)) {}

  const char* name() const override { return "CurveSaver"; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  nlohmann::ordered_json State() const override;
  void LoadState(const nlohmann::ordered_json& state) override;

 private:
  void Add(engine::TrainerContext& context);

  const std::vector<std::string> metrics_;
  bool is_by_iteration_ = false;
  std::string path_;
  std::vector<Curve> curves_;
};

engine::Entry<engine::Hook> CurveSaverEntry();

}  // namespace epochd::hooks
