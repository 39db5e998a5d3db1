// SPDX-License-Identifier: Apache-2.0
#include "bench/loop/epochd_loop.h"

#include <ATen/ATen.h>

#include <optional>

#include "bench/loop/network.h"
#include "bench/loop/raw_loop.h"
#include "hooks/builtin.h"
#include "hooks/checkpoint_saver.h"
#include "hooks/metric_logger.h"
#include "hooks/progress_reporter.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/allocator.h"
#include "worker/engine/dist/single.h"
#include "worker/engine/loop/training_runner.h"
#include "worker/engine/loss/cross_entropy.h"
#include "worker/engine/model/mlp.h"
#include "worker/engine/model/module_model.h"
#include "worker/engine/optim/sgd.h"
#include "worker/engine/registry/builtin.h"
#include "worker/engine/registry/experiment.h"
#include "worker/link/event_writer.h"

namespace epochd::bench {
namespace {

using engine::Json;
using engine::NamedTensor;
using engine::Trainer;

// Tells the clock of each forward pass.
class ClockHook : public engine::Hook {
 public:
  explicit ClockHook(StepClock& clock) : clock_(clock) {}
  const char* name() const override { return "Clock"; }
  void AttachToTraining(engine::TrainingRunner& runner) override {
    runner.on_pre_step.Bind([this](engine::RunnerContext&) { clock_.Tick(); });
  }

 private:
  StepClock& clock_;
};

// Hands out batches that were cut beforehand.
class ReadySource : public engine::BatchSource {
 public:
  ReadySource(const Workload& workload, const Data& data)
      : batch_size_(workload.batch_size) {
    for (int64_t i = 0; i < workload.NumBatches(); ++i) {
      const Data rows = ReadyBatch(workload, data, i);
      ready_.push_back({{"input", rows.input}, {"target", rows.target}});
    }
  }
  void StartEpoch(int64_t, int64_t first_batch) override {
    next_ = static_cast<size_t>(first_batch);
  }
  bool Next(engine::Batch& batch) override {
    if (next_ == ready_.size()) return false;
    batch = ready_[next_++];
    return true;
  }
  int64_t NumBatches() const override {
    return static_cast<int64_t>(ready_.size());
  }
  int64_t NumSamples() const override { return NumBatches() * batch_size_; }
  int64_t BatchSize() const override { return batch_size_; }

 private:
  const int64_t batch_size_;
  std::vector<engine::Batch> ready_;
  size_t next_ = 0;
};

// Lines of events.jsonl, as the trainer program writes them.
class FileSink : public engine::EventSink {
 public:
  explicit FileSink(const std::string& path) : writer_(path, 0) {}
  int64_t Emit(std::string_view type, Json fields) override {
    Json line = {{"type", type}};
    line.update(fields);
    return writer_.Append(std::move(line));
  }
  bool IsRecorded(int64_t) const override { return true; }

 private:
  link::EventWriter writer_;
};

std::vector<NamedTensor> StartingWeights(Workload::Model model) {
  std::vector<NamedTensor> weights;
  for (auto& [name, tensor] : InitialWeights(model)) {
    weights.push_back({name, tensor});
  }
  return weights;
}

std::shared_ptr<engine::Model> MakeModel(Workload::Model model) {
  if (model == Workload::Model::kMlp) {
    return engine::MakeMlp({.fields = {},
                            .in_features = Workload::kFeatures,
                            .hidden = {Workload::kHidden, Workload::kHidden},
                            .out_features = Workload::kClasses});
  }
  std::shared_ptr<Network> network = MakeNetwork(model);
  Network* const called = network.get();
  return std::make_shared<engine::ModuleModel>(
      std::move(network),
      [called](const at::Tensor& input) { return called->Forward(input); },
      engine::ModelFields());
}

// By hand, as a job cannot name batches that are in memory.
std::unique_ptr<Trainer> MakeOnReadyBatches(
    const Workload& workload, const Data& data,
    const engine::RunEnvironment& environment) {
  Trainer::Parts parts;
  parts.model = MakeModel(workload.model);
  if (workload.model == Workload::Model::kMlp) {
    engine::LoadModel(*parts.model, StartingWeights(workload.model));
  }
  parts.training_runner = std::make_shared<engine::TrainingRunner>(
      std::make_shared<engine::Sgd>(
          parts.model->Parameters(),
          engine::Sgd::Options{.lr = Workload::kLearningRate,
                               .momentum = Workload::kMomentum}),
      engine::TrainingRunner::Options());
  parts.validation_runner = std::make_shared<engine::ValidationRunner>();
  parts.train = std::make_unique<ReadySource>(workload, data);
  parts.criterion =
      engine::Criterion({std::make_shared<engine::CrossEntropyLoss>(
          engine::CrossEntropyLoss::Options())});
  parts.monitor.metric = "train/loss";
  return std::make_unique<Trainer>(std::move(parts), environment);
}

// As a job file describes it.
std::unique_ptr<Trainer> MakeFromSpec(
    const Workload& workload, const Data& data, int threads,
    const std::string& folder, const engine::RunEnvironment& environment) {
  const std::string data_file = folder + "/data.safetensors";
  const std::string weights_file = folder + "/initial.safetensors";
  engine::WriteSafetensors(data_file,
                           {{"input", data.input}, {"target", data.target}});
  engine::WriteSafetensors(weights_file, StartingWeights(workload.model));
  const Json experiment = {
      {"model",
       {{"type", "MLP"},
        {"in_features", Workload::kFeatures},
        {"hidden", {Workload::kHidden, Workload::kHidden}},
        {"out_features", Workload::kClasses}}},
      {"initial_weights", weights_file},
      {"data",
       {{"train",
         {{"type", "TensorFile"},
          {"file", data_file},
          {"batch_size", workload.batch_size},
          {"threads", threads}}}}},
      {"loss", {{"type", "CrossEntropy"}}},
      {"optimizer",
       {{"type", "SGD"},
        {"lr", Workload::kLearningRate},
        {"momentum", Workload::kMomentum}}},
      {"trainer", {{"type", "EpochTrainer"}, {"epochs", 1}}}};
  engine::Registry registry;
  engine::AddBuiltins(registry);
  registry.Add(hooks::BuiltinHooks());
  registry.Freeze();
  return engine::BuildExperiment(registry, experiment,
                                 {.environment = environment})
      .trainer;
}

}  // namespace

Result RunEpochdLoop(const Workload& workload, const Data& data,
                     Batches batches, bool shipped, const std::string& folder) {
  // As the trainer program does.
  engine::KeepFreedMemory();
  engine::NullSink nobody;
  std::optional<FileSink> file;
  if (shipped) file.emplace(folder + "/events.jsonl");
  const auto communicator = engine::MakeSingleCommunicator();
  const engine::RunEnvironment environment = {
      .communicator = communicator.get(),
      .events = shipped ? static_cast<engine::EventSink*>(&*file) : &nobody,
      .output_dir = shipped ? folder + "/output" : ""};
  const std::unique_ptr<Trainer> trainer =
      batches == Batches::kReady
          ? MakeOnReadyBatches(workload, data, environment)
          : MakeFromSpec(workload, data, batches == Batches::kThread ? 1 : 0,
                         folder, environment);
  StepClock clock(workload);
  trainer->AddHook(std::make_shared<ClockHook>(clock));
  if (shipped) {
    trainer->AddHook(std::make_shared<hooks::ProgressReporter>(
        hooks::ProgressReporter::Options()));
    trainer->AddHook(
        std::make_shared<hooks::MetricLogger>(hooks::MetricLogger::Options()));
    trainer->AddHook(std::make_shared<hooks::CheckpointSaver>(
        hooks::CheckpointSaver::Options()));
  }
  trainer->Start();
  trainer->Run();

  Result result = clock.PerStep();
  for (const NamedTensor& each : trainer->model().Parameters()) {
    result.weights.push_back(each.tensor);
  }
  return result;
}

}  // namespace epochd::bench
