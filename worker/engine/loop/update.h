// SPDX-License-Identifier: Apache-2.0
//
// Update: one optimizer's way from a loss to a step: which batches form a
// step's group and what their losses are divided by, the scale of fp16,
// gradients to be clipped, and steps that are refused. A runner has one per
// optimizer. One thread.
//
// A group is `accumulation` batches, or what is left of them at the end of the
// epoch, or of the run where groups cross ends of epochs. For each batch:
//
//   const Update::Share share = update.ShareOf(...);
//   update.Backward(sync, loss, share);
//   if (share.ends_group) {   hooks may unscale, read and change gradients
//     update.Step();
//   }
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "worker/engine/core/optimizer.h"
#include "worker/engine/dist/communicator.h"
#include "worker/engine/loop/grad_scaler.h"

namespace epochd::engine {

class Update {
 public:
  // What losses of a last group of fewer batches are divided by.
  enum class Remainder {
    kFull,    // `accumulation` as ever: such a group weighs less (SR-Forge)
    kActual,  // the number of its batches (MMEngine)
  };
  // What the gradients of a step are a mean of.
  enum class Mean {
    kBatches,  // means of batches, and of ranks
    // All items of the group's batches on all ranks (Criterion::NumItems), as
    // if they were one batch. `remainder` then means nothing. With fp16 each
    // loss is divided by about what it will be in the end, and the rest after
    // the sum: gradients of sums over items would overflow.
    kItems,
  };
  // What becomes of a step whose gradients are not finite.
  enum class NonFinite {
    kAuto,   // kSkip on a CPU; elsewhere kApply, as to look would wait
    kSkip,   // left out and counted
    kError,  // Error(kTraining)
    kApply,  // done
  };
  // Steps that were left out because gradients were not finite.
  struct LeftOut {
    int64_t total = 0;  // since the job began
    int64_t in_a_row = 0;
  };
  struct Options {
    int64_t accumulation = 1;
    Remainder remainder = Remainder::kFull;
    Mean mean = Mean::kBatches;
    // fp16; steps that are not finite are then always left out.
    std::optional<GradScaler::Options> scaler{};
    NonFinite non_finite = NonFinite::kAuto;
    // So many steps left out in a row are Error(kTraining); 0: never.
    int64_t max_skipped_in_a_row = 100;
  };
  // One batch's part in its group.
  struct Share {
    bool ends_group = true;
    double divisor = 1;
  };

  // `name`: of the optimizer, for messages. Throws Error(kBadSpec) for what
  // the optimizer cannot do.
  Update(std::string name, std::shared_ptr<Optimizer> optimizer,
         const Options& options);

  // `index` counts batches from the start of the epoch, or of the job where
  // groups cross epochs; `total` is how many there will be, below 0: unknown,
  // and then `is_last` alone tells of the end.
  Share ShareOf(int64_t index, int64_t total, bool is_last) const;
  // Divides, scales, differentiates; averages over ranks when the group ends.
  // `num_items`: of the batch, where CountsItems().
  void Backward(GradientSync& sync, const at::Tensor& loss, const Share& share,
                double num_items = 1);
  // Whether batches are weighed by their items; where there is but one to a
  // step, its loss is such a mean already.
  bool CountsItems(const GradientSync& sync) const {
    return options_.mean == Mean::kItems &&
           (options_.accumulation > 1 || sync.num_ranks() > 1);
  }
  // For a group whose last batch was left out: averages over ranks what the
  // batches before it gave.
  void CloseGroup(GradientSync& sync);
  // Brings gradients back to their true size; once a step, further calls do
  // nothing. Whoever reads gradients before a step calls it first.
  void Unscale();
  // Norm of all gradients (L2 by default) before they are scaled down to
  // `max_norm` where it is larger; as torch.nn.utils.clip_grad_norm_. Stays
  // on the device.
  at::Tensor ClipNorm(double max_norm, double norm_type = 2.0);
  // Cuts each element off at +-limit.
  void ClipValue(double limit);
  // Clips gradients that were computed anew within a step as this step's were
  // clipped.
  void ClipAgain();
  // Norm of all gradients.
  at::Tensor Norm(double norm_type = 2.0);
  // A parameter whose gradient, at its true size, is not finite; empty: there
  // is none. Waits for the device.
  std::string FindNonFinite();
  // Unscales, steps unless the gradients are not finite, clears them. Returns
  // whether it stepped. `evaluate`: for an optimizer that needs a closure; its
  // first call gives the loss that the gradients are of.
  bool Step(const Optimizer::Closure& evaluate = {});
  // Clears gradients without a step; the scale goes on as if there was one.
  void Drop();
  // Clears gradients of a group that will never be full.
  void Forget();
  // From now on steps with gradients that are not finite are left out, also
  // where kAuto or kApply would do them.
  void LeaveOutNonFinite() { must_look_ = true; }

  Optimizer& optimizer() { return *optimizer_; }
  const std::shared_ptr<Optimizer>& shared_optimizer() const {
    return optimizer_;
  }
  const std::string& name() const { return name_; }
  const Options& options() const { return options_; }
  // 1 without fp16.
  double scale() const { return scaler_ ? scaler_->scale() : 1.0; }
  // Batches whose gradients wait for a step.
  int64_t num_waiting() const { return num_waiting_; }
  const LeftOut& left_out() const { return left_out_; }
  // Of them those that are no search for fp16's scale: all without fp16, with
  // it those whose loss was not finite on this rank.
  const LeftOut& faults() const { return faults_; }
  // Of the step that was left out last.
  bool loss_was_finite() const { return loss_was_finite_; }

  // Scale and counts; nothing of the optimizer.
  nlohmann::ordered_json State() const;
  void LoadState(const nlohmann::ordered_json& state);

 private:
  struct Clip {
    double limit;
    std::optional<double> norm_type;  // nothing: of elements
  };
  std::vector<at::Tensor> Gradients() const;
  bool MustLook() const;
  void EndStep(bool found_non_finite);
  // Sets what losses of the group that begins are divided by, alike on all
  // ranks: the items that a rank will have if all batches have as many.
  void ExpectItems(GradientSync& sync, double num_items);
  // Turns the mean over ranks of sums over items, divided by what was expected,
  // into the mean over all items.
  void DivideByItems(GradientSync& sync);

  const std::string name_;
  const std::shared_ptr<Optimizer> optimizer_;
  const Options options_;
  std::optional<GradScaler> scaler_;
  bool is_unscaled_ = false;
  bool found_non_finite_ = false;
  bool must_look_ = false;
  int64_t num_waiting_ = 0;
  std::vector<Clip> clips_;         // of this step
  double num_items_ = 0;            // of this rank, in batches that wait
  at::Tensor expected_items_;       // undefined: losses are not divided
  std::vector<at::Tensor> losses_;  // of batches that wait, without graphs
  LeftOut left_out_;
  LeftOut faults_;
  bool loss_was_finite_ = true;
};

}  // namespace epochd::engine
