// SPDX-License-Identifier: Apache-2.0
//
// A trainer by hand around a model of a few weights, on batches that a test
// writes down: every gradient can be told in advance. For tests.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"
#include "worker/engine/optim/sgd.h"

namespace epochd::engine {

// output = sum over features of w * input: the gradient of its mean is the
// mean of the inputs.
class WeightsModel : public Model {
 public:
  explicit WeightsModel(int64_t size = 1)
      : w(at::zeros({size}).requires_grad_(true)) {}
  Batch Forward(const Batch& batch) override {
    ++forwards;
    return {{"output", (batch.At("input") * w).sum(-1)}};
  }
  std::vector<NamedTensor> Parameters() const override { return {{"w", w}}; }
  std::vector<NamedTensor> Buffers() const override { return {}; }
  void SetTraining(bool on) override { is_training = on; }
  void To(c10::Device) override {}

  at::Tensor w;
  bool is_training = false;
  int forwards = 0;
};

// The mean of the output, negated: SGD makes weights grow by the mean input.
class MinusMean : public Loss {
 public:
  at::Tensor Compute(const Batch& batch) const override {
    return -batch.At("output").mean();
  }
  const std::string& name() const override { return name_; }

 private:
  std::string name_ = "minus_mean";
};

inline Batch Inputs(const std::vector<double>& values) {
  return {{"input", at::tensor(values, at::kFloat).unsqueeze(1)}};
}

// `count` batches of one sample of value 1.
inline std::vector<Batch> Ones(int count) {
  return std::vector<Batch>(static_cast<size_t>(count), Inputs({1.0}));
}

class ListSource : public BatchSource {
 public:
  using Make = std::function<std::vector<Batch>(int64_t epoch)>;
  explicit ListSource(std::vector<Batch> batches)
      : ListSource([batches](int64_t) { return batches; },
                   static_cast<int64_t>(batches.size())) {}
  // `length`: what NumBatches() says.
  ListSource(Make make, int64_t length)
      : make_(std::move(make)), length_(length) {}

  void StartEpoch(int64_t epoch, int64_t first) override {
    batches_ = make_(epoch);
    next_ = static_cast<size_t>(first);
  }
  bool Next(Batch& batch) override {
    if (length_ == kEndless) {
      batch = batches_[next_++ % batches_.size()];
      return true;
    }
    if (next_ >= batches_.size()) return false;
    batch = batches_[next_++];
    return true;
  }
  int64_t NumBatches() const override { return length_; }
  int64_t NumSamples() const override { return length_; }
  int64_t BatchSize() const override { return 1; }

 private:
  Make make_;
  int64_t length_;
  std::vector<Batch> batches_;
  size_t next_ = 0;
};

struct TinyRun {
  struct Options {
    LoopPlan plan{.max_epochs = 1};
    TrainingRunner::Options runner{};
    double lr = 1.0;
    double momentum = 0;
    std::string monitor = "train/loss";
    Meter::Weighting loss_mean = Meter::Weighting::kSamples;
    std::unique_ptr<BatchSource> val{};
    Schedules schedules{};
    std::shared_ptr<Model> model{};
    std::string output_dir{};  // empty: nothing is written
  };
  explicit TinyRun(std::unique_ptr<BatchSource> train)
      : TinyRun(std::move(train), Options()) {}
  TinyRun(std::unique_ptr<BatchSource> train, Options options)
      : communicator(MakeSingleCommunicator()) {
    at::set_num_threads(1);
    model = std::make_shared<WeightsModel>();
    std::shared_ptr<Model> used = options.model ? options.model : model;
    Trainer::Parts parts;
    parts.model = used;
    parts.training_runner = std::make_shared<TrainingRunner>(
        std::make_shared<Sgd>(
            used->Parameters(),
            Sgd::Options{.lr = options.lr, .momentum = options.momentum}),
        options.runner);
    parts.validation_runner = std::make_shared<ValidationRunner>();
    parts.train = std::move(train);
    parts.val = std::move(options.val);
    parts.schedules = std::move(options.schedules);
    parts.criterion = Criterion({std::make_shared<MinusMean>()});
    parts.val_criterion = parts.criterion;
    parts.plan = options.plan;
    parts.loss_mean = options.loss_mean;
    parts.monitor.metric = options.monitor;
    trainer = std::make_unique<Trainer>(
        std::move(parts),
        RunEnvironment{.communicator = communicator.get(),
                       .events = &sink,
                       .output_dir = std::move(options.output_dir)});
  }
  TrainingRunner& runner() {
    return dynamic_cast<TrainingRunner&>(trainer->training_runner());
  }
  Trainer::Outcome Run() {
    trainer->Start();
    return trainer->Run();
  }
  double Rate() { return runner().Optimizers().front().second->lr(); }
  double Weight() const { return model->w[0].item<double>(); }

  CollectingSink sink;
  std::unique_ptr<Communicator> communicator;
  std::shared_ptr<WeightsModel> model;
  std::unique_ptr<Trainer> trainer;
};

inline std::unique_ptr<BatchSource> List(std::vector<Batch> batches) {
  return std::make_unique<ListSource>(std::move(batches));
}

// Says what Error a call throws; empty: none.
inline std::string ErrorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace epochd::engine
