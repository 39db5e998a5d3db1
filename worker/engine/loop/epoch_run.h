// SPDX-License-Identifier: Apache-2.0
//
// EpochRun: what a trainer hands to a runner for one epoch. References outlive
// the call.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/core/metric.h"
#include "worker/engine/data/preprocessor.h"
#include "worker/engine/dist/communicator.h"
#include "worker/engine/loop/criterion.h"
#include "worker/engine/loop/meter.h"
#include "worker/engine/loop/position.h"

namespace epochd::engine {

// How a runner asks whether to go on; the trainer implements it.
class StepControl {
 public:
  virtual ~StepControl() = default;

  struct BatchEnd {
    // No gradients wait for a step: all is in a state that can be saved.
    bool ends_group = true;
    bool is_last = false;  // of the epoch
    bool hook_wants_stop = false;
    std::string stop_reason{};  // the hook's; may be empty
  };
  enum class Verdict {
    kGoOn,
    kFinish,  // the run is done: leave the epoch, which may be over anyway
    kStop,    // leave the epoch now; it goes on another time
  };
  // A batch is done; position and meter include it. A validation may take
  // place in here; the model is back in training mode after it.
  virtual Verdict AfterBatch(const BatchEnd& end) = 0;
  // Between batches of a pass without steps. True: leave the pass.
  virtual bool ShouldLeave() const = 0;
};

// Whether a runner leaves its epoch early after such a verdict on a batch.
inline bool LeavesEarly(StepControl::Verdict verdict, bool is_last) {
  return verdict == StepControl::Verdict::kStop ||
         (verdict == StepControl::Verdict::kFinish && !is_last);
}

struct EpochRun {
  Model& model;
  // Begun at the position's epoch and batch.
  BatchSource& source;
  const Criterion& criterion;
  Meter& meter;
  Position& position;
  StepControl& control;
  GradientSync& sync;
  c10::Device device = c10::Device(c10::kCPU);
  std::string phase = "train";
  std::vector<std::shared_ptr<Metric>> metrics{};
  // Batches since the job began with which the run ends; below 0: not known.
  int64_t total_batches = -1;
  // Groups of gradient accumulation go on over ends of epochs.
  bool groups_cross_epochs = false;
  // Leave the pass after that many batches; below 0: no such limit.
  int64_t max_batches = -1;
  // Set by a pass: how many it saw.
  int64_t num_samples = 0;
  // nullptr: batches are brought to the device as they are.
  const Preprocessor* preprocessor = nullptr;
  uint64_t seed = 0;
  int rank = 0;
  // Grows by the seconds that the pass waits for its batches; nullptr: nobody
  // wants to know.
  double* data_wait = nullptr;

  // Makes batch `number` of the epoch what the model is to see.
  void Receive(Batch& batch, int64_t number) const {
    if (preprocessor == nullptr) {
      batch.MoveTo(device);
      return;
    }
    batch = preprocessor->Receive(batch, device,
                                  {.seed = seed,
                                   .epoch = position.epoch,
                                   .batch = number,
                                   .rank = rank,
                                   .is_training = phase == "train"});
  }
};

}  // namespace epochd::engine
