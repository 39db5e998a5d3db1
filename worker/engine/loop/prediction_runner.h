// SPDX-License-Identifier: Apache-2.0
//
// PredictionRunner: forward passes whose outputs are the result. Points:
//
//   on_epoch_start
//     on_pre_step     the batch is there, on the device
//     on_post_step    outputs without padding, and which samples they are of
//   on_epoch_end      all outputs joined, where they are kept
//
// Outputs go to hooks batch by batch, in the order of the data set; they are
// joined beside that unless told otherwise. A field `mask` [B] of the batch,
// where there is one, marks real samples: rows of padding are removed.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/hook/hook.h"
#include "worker/engine/hook/hook_point.h"
#include "worker/engine/loop/epoch_run.h"
#include "worker/engine/loop/postprocess.h"
#include "worker/engine/loop/precision.h"

namespace epochd::engine {

class PredictionRunner {
 public:
  struct Options {
    Precision precision = Precision::kFloat32;
    // Fields that are kept; empty: those that the model returns.
    std::vector<std::string> fields{};
    std::string mask = "mask";
    // Keep all outputs, on the CPU; else they only go to hooks.
    bool join = true;
    Postprocessors postprocessors{};
  };
  PredictionRunner() = default;
  explicit PredictionRunner(Options options) : options_(std::move(options)) {}

  HookPoint<PredictionContext> on_epoch_start;
  HookPoint<PredictionContext> on_pre_step;
  HookPoint<PredictionContext> on_post_step;
  HookPoint<PredictionContext> on_epoch_end;

  // One rank's outputs, joined, with the places of their samples.
  struct Result {
    Batch joined;
    std::vector<int64_t> indices;
    int64_t num_batches = 0;
    bool left_early = false;
  };
  // `merge` makes the outputs of all ranks from this one's.
  Result RunEpoch(EpochRun& run,
                  const std::function<void(Result&)>& merge = {});
  // Field of the batch that marks what is real.
  const std::string& mask() const { return options_.mask; }
  // Lets the hook bind to this runner's points.
  void Attach(Hook& hook) {
    const BindingPriority priority(hook.priority());
    hook.AttachToPrediction(*this);
  }

 private:
  // What is kept of a batch: chosen fields, without rows of padding.
  Batch Select(const Batch& batch, const Batch& returned,
               std::vector<int64_t>& indices) const;

  const Options options_{};
};

// Outputs of several ranks as one, in the order of the data set. Throws
// Error(kTraining) where ranks have different fields.
PredictionRunner::Result JoinRanks(
    const std::vector<PredictionRunner::Result>& parts);

// Bytes of a result, and back; to bring it to other ranks.
std::string ToBytes(const PredictionRunner::Result& result);
PredictionRunner::Result FromBytes(const std::string& bytes);

}  // namespace epochd::engine
