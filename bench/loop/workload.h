// SPDX-License-Identifier: Apache-2.0
//
// The training that every loop does: an MLP 32-64-64-10 with ReLU on batches of
// 32, or a CNN of three residual blocks on batches of 64 images of 1x28x28;
// cross entropy, SGD(lr 0.05, momentum 0.9), float on one thread of a CPU. All
// batches come from one seed, the same in C++ and Python (raw_loop.py).
//
// Timed is from the start of one forward pass, once the loop is warm, to the
// start of another `steps` later: whole steps, at the same point in each loop.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace epochd::bench {

struct Workload {
  enum class Model { kMlp, kCnn };
  static constexpr int64_t kFeatures = 32;
  static constexpr int64_t kHidden = 64;
  static constexpr int64_t kClasses = 10;
  static constexpr double kLearningRate = 0.05;
  static constexpr double kMomentum = 0.9;

  static Workload Of(Model model) {
    if (model == Model::kMlp) return {};
    return {.model = model, .batch_size = 64, .warm = 10, .steps = 100};
  }

  Model model = Model::kMlp;
  int64_t batch_size = 32;
  int64_t warm = 200;
  int64_t steps = 4000;

  int64_t NumBatches() const { return warm + steps + 2; }
};

struct Data {
  at::Tensor input;   // [batches * batch_size, kFeatures], or images
  at::Tensor target;  // [batches * batch_size]
};
Data MakeData(const Workload& workload);

// Rows of one batch; views, no copies.
Data ReadyBatch(const Workload& workload, const Data& data, int64_t batch);

struct Result {
  double microseconds = 0;  // per step
  double faults = 0;        // of pages, per step
  std::vector<at::Tensor> weights{};
};

class StepClock {
 public:
  explicit StepClock(const Workload& workload) : workload_(workload) {}
  // At the start of each forward pass.
  void Tick() {
    ++passes_;
    if (passes_ == workload_.warm + 1) {
      faults_ = -Faults();
      began_ = Clock::now();
    } else if (passes_ == workload_.warm + workload_.steps + 1) {
      ended_ = Clock::now();
      faults_ += Faults();
    }
  }
  // Without weights.
  Result PerStep() const {
    const std::chrono::duration<double, std::micro> lasted = ended_ - began_;
    const auto steps = static_cast<double>(workload_.steps);
    return {.microseconds = lasted.count() / steps, .faults = faults_ / steps};
  }

 private:
  static double Faults();

  using Clock = std::chrono::steady_clock;
  const Workload workload_;
  int64_t passes_ = 0;
  double faults_ = 0;
  Clock::time_point began_;
  Clock::time_point ended_;
};

// Sum of the weights' magnitudes in double: the same bits, the same sum.
double Checksum(const std::vector<at::Tensor>& weights);

// Where the batches come from.
enum class Batches {
  kReady,   // cut beforehand
  kLoader,  // gathered by index for each step, by the training thread
  kThread,  // the same, ahead, by one thread of the loader
};

using NamedWeights = std::vector<std::pair<std::string, at::Tensor>>;

}  // namespace epochd::bench
