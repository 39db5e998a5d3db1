// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/rank.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hooks/checkpoint_saver.h"
#include "hooks/environment_report.h"
#include "hooks/metric_logger.h"
#include "hooks/progress_reporter.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/checkpoint/sha256.h"
#include "worker/engine/core/allocator.h"
#include "worker/engine/core/error.h"
#include "worker/engine/core/number.h"
#include "worker/engine/data/mapped_file.h"
#include "worker/engine/dist/failure.h"
#include "worker/engine/dist/gloo.h"
#include "worker/engine/dist/single.h"
#include "worker/engine/registry/data_stages.h"
#include "worker/engine/registry/ddp_section.h"
#include "worker/engine/registry/experiment.h"
#include "worker/link/attempt_folder.h"
#include "worker/link/attempt_spec.h"
#include "worker/link/event_line.h"
#include "worker/link/event_writer.h"
#include "worker/link/exit_code.h"
#include "worker/trainer/attempt_storage.h"
#include "worker/trainer/components.h"
#include "worker/trainer/experiment_file.h"
#include "worker/trainer/gpu_module.h"
#include "worker/trainer/line_sink.h"
#include "worker/trainer/load_from.h"
#include "worker/trainer/paths.h"
#include "worker/trainer/watcher.h"

namespace epochd::trainer {
namespace {

using engine::Json;
using engine::Trainer;

// Of the parameters alone: ranks keep running statistics of their own.
std::string WeightsHash(const engine::Model& model) {
  engine::Sha256 hash;
  for (const auto& [name, tensor] : model.Parameters()) {
    const at::Tensor bytes = tensor.detach().cpu().contiguous();
    hash.Update(name.data(), name.size());
    hash.Update(bytes.const_data_ptr(), bytes.nbytes());
  }
  return hash.Finish();
}

class Rank {
 public:
  Rank(const keeper::RankRequest& request, link::AttemptSpec spec,
       link::EventWriter& writer)
      : request_(request),
        spec_(std::move(spec)),
        sink_(writer, spec_.self_fence_after > 0),
        watcher_({.control_path = link::ControlPath(
                      link::RankDir(request.attempt_dir, request.rank)),
                  .self_fence_after = spec_.self_fence_after,
                  .lease_end_ns = spec_.lease_end_ns},
                 sink_, writer),
        output_dir_(OutputFolder(spec_, request.attempt_dir)) {}

  ~Rank() { watcher_.Watch(nullptr); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int Run();

 private:
  void TellStarted();
  void MakeCommunicator();
  void Build();
  // Not for a run that goes on from a checkpoint: what `load_from` names may be
  // gone by then.
  void LoadInitialWeights();
  // Tells when a task other than training has no weights to load.
  void TellUntrained();
  void AddHooks();
  // Goes on from a checkpoint, or starts.
  void StartOrResume();
  int Train();
  int Evaluate();
  int Predict();
  // Throws when the ranks, which must stay equal, have come apart.
  void CompareWeights();
  void TellEnded(const char* outcome, const std::string& message);

  const keeper::RankRequest& request_;
  const link::AttemptSpec spec_;
  LineSink sink_;
  Watcher watcher_;
  const std::string output_dir_;
  c10::Device device_ = c10::Device(c10::kCPU);
  std::unique_ptr<engine::Communicator> communicator_;
  // Outlives what reads the data.
  std::unique_ptr<engine::DataStages> data_stages_;
  engine::Experiment experiment_;
  std::string resumed_from_;
};

void Rank::TellStarted() {
  sink_.Emit(link::kStarted, {{"pid", getpid()},
                              {"threads", spec_.cpus},
                              {"device", spec_.device},
                              {"warm", request_.warm}});
}

void Rank::MakeCommunicator() {
  engine::GlooOptions options = {.rank = request_.rank,
                                 .world_size = spec_.world_size,
                                 .rendezvous = spec_.rendezvous,
                                 .listen_fd = request_.listen_fd};
  // Before the experiment is built: its ranks meet first.
  if (const auto timeout = engine::PeerTimeout(spec_.experiment_json)) {
    options.timeout = *timeout;
  }
  const cuda::Module* gpus = nullptr;
  if (spec_.device == "gpu") {
    gpus = &OpenGpuModule();
    device_ = c10::Device(c10::kCUDA, 0);
  }
  // A rank that never comes must not keep the others from stopping.
  watcher_.SetStopEnds(spec_.world_size > 1);
  if (spec_.world_size == 1) {
    communicator_ = engine::MakeSingleCommunicator();
  } else if (gpus != nullptr) {
    communicator_ = gpus->make_communicator(options);
  } else {
    communicator_ = engine::MakeGlooCommunicator(options);
  }
  watcher_.SetStopEnds(false);
}

void Rank::Build() {
  const Json json = Json::parse(spec_.experiment_json, nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object()) {
    throw engine::Error(engine::ErrorKind::kBadSpec,
                        "experiment: no JSON object");
  }
  // Data sets may read what it brings.
  data_stages_ =
      engine::PrepareData(Components(), json, "experiment", *communicator_);
  CheckPaths(Components().catalogue(), json);
  experiment_ = engine::BuildExperiment(
      Components(), json,
      {.root = "experiment",
       .environment = {.communicator = communicator_.get(),
                       .events = &sink_,
                       .output_dir = output_dir_,
                       .device = device_,
                       .earlier_checkpoints = EarlierCheckpoints(spec_)}});
  watcher_.Watch(experiment_.trainer.get());
}

void Rank::LoadInitialWeights() {
  if (experiment_.load_from.empty()) return;
  const engine::LoadReport report =
      engine::LoadModel(experiment_.trainer->model(),
                        LoadWeights(experiment_.load_from, spec_.storage),
                        experiment_.load_strict);
  if (report.fits() || request_.rank != 0) return;
  sink_.Notice("warning",
               "experiment.load_from: " + std::to_string(report.loaded) +
                   " tensors were taken; " + report.Text());
}

void Rank::TellUntrained() {
  if (request_.rank != 0 || !experiment_.load_from.empty() ||
      experiment_.has_initial_weights || experiment_.num_parameters == 0) {
    return;
  }
  sink_.Notice("warning",
               "experiment.load_from: missing, and there are no "
               "initial_weights: task: " +
                   experiment_.task +
                   " takes the model as it is built, with random weights "
                   "unless it brings its own");
}

void Rank::AddHooks() {
  Trainer& trainer = *experiment_.trainer;
  if (trainer.is_main_rank()) {
    MakeOutputFolder(output_dir_);
    const std::string path = output_dir_ + "/experiment.json";
    WriteExperiment(path, Components().catalogue(), spec_.experiment_json);
    trainer.AddOutput("experiment", path);
  }
  if (!trainer.HasHook("EnvironmentReport")) {
    trainer.AddHook(std::make_shared<hooks::EnvironmentReport>());
  }
  std::shared_ptr<engine::Hook> reporter = trainer.FindHook("ProgressReporter");
  if (!reporter) {
    reporter = std::make_shared<hooks::ProgressReporter>(
        hooks::ProgressReporter::Options());
  }
  // Of all passes, wherever a job lists it: it is also the sign of life.
  for (const char* pass : {"train", "val", "predict"}) {
    trainer.AddHook(reporter, pass);
  }
  // A trial leaves nothing behind.
  if (experiment_.is_trial) return;
  if (experiment_.task != "predict" && !trainer.HasHook("MetricLogger")) {
    trainer.AddHook(
        std::make_shared<hooks::MetricLogger>(hooks::MetricLogger::Options()));
  }
  if (experiment_.task != "train") return;
  if (!trainer.HasHook("CheckpointSaver")) {
    const link::CheckpointSpec& wanted = spec_.checkpoints;
    trainer.AddHook(std::make_shared<hooks::CheckpointSaver>(
        hooks::CheckpointSaver::Options{.every_epochs = wanted.every.epochs,
                                        .every_steps = wanted.every.steps,
                                        .every_seconds = wanted.every.seconds,
                                        .keep_last = wanted.keep_last,
                                        .keep_best = wanted.keep_best}));
  }
  if (trainer.is_main_rank()) {
    const std::string folder = output_dir_ + "/checkpoints";
    MakeOutputFolder(folder);
    trainer.AddOutput("checkpoints", folder);
  }
}

void Rank::StartOrResume() {
  std::optional<engine::Snapshot> snapshot;
  // Rank 0 chooses for all, so that all go on from the same.
  if (communicator_->rank() == 0) {
    RemoveUnfinished(spec_);
    snapshot = ChooseCheckpoint(spec_, experiment_.resume, sink_);
    if (snapshot) resumed_from_ = snapshot->path;
  }
  resumed_from_ = communicator_->Gather(resumed_from_).front();
  if (!resumed_from_.empty() && !snapshot) {
    snapshot = engine::ReadCheckpoint(resumed_from_);
  }
  if (snapshot) {
    experiment_.trainer->Restore(*snapshot);
  } else {
    LoadInitialWeights();
    experiment_.trainer->Start();
  }
}

void Rank::TellEnded(const char* outcome, const std::string& message) {
  if (request_.rank != 0) return;
  const Trainer& trainer = *experiment_.trainer;
  const engine::Monitor& monitor = trainer.monitor();
  Json best = Json::object();
  if (monitor.best_epoch >= 0) {
    best = {{"name", monitor.metric},
            {"value", engine::FromNumber(monitor.best)},
            {"epoch", monitor.best_epoch + 1}};
  }
  Json outputs = Json::object();
  for (const auto& [name, path] : trainer.outputs()) outputs[name] = path;
  sink_.Emit(link::kTrainingEnded, {{"outcome", outcome},
                                    {"message", message},
                                    {"epochs", trainer.position().epoch},
                                    {"best", best},
                                    {"outputs", outputs}});
}

int Rank::Train() {
  StartOrResume();
  const Trainer::Outcome outcome = experiment_.trainer->Run();
  if (outcome != Trainer::Outcome::kCompleted) {
    // The last save throws when nothing could be saved.
    TellEnded("stopped", outcome == Trainer::Outcome::kInterrupted
                             ? "interrupted, with a checkpoint"
                             : "stopped on request, with a checkpoint");
    std::fprintf(stderr, "rank %d: stopped with checkpoint\n", request_.rank);
    return link::kStoppedWithCheckpoint;
  }
  CompareWeights();
  TellEnded("completed", experiment_.trainer->stop_reason());
  return link::kDone;
}

void Rank::CompareWeights() {
  const std::string own = WeightsHash(experiment_.trainer->model());
  std::fprintf(stderr, "rank %d: weights sha256 %s\n", request_.rank,
               own.c_str());
  const std::vector<std::string> all = communicator_->Gather(own);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == all.front()) continue;
    throw engine::Error(engine::ErrorKind::kTraining,
                        "weights: rank " + std::to_string(rank) +
                            " ended with others than rank 0");
  }
}

int Rank::Evaluate() {
  TellUntrained();
  LoadInitialWeights();
  const std::string phase =
      experiment_.task == "validate" ? "val" : experiment_.task;
  const engine::Scores scores = experiment_.trainer->Evaluate(phase);
  if (watcher_.stop_requested()) {
    TellEnded("stopped", "stopped on request, before the end of the pass");
    return link::kStoppedWithCheckpoint;
  }
  Json metrics = Json::object();
  for (const auto& [name, value] : scores) {
    metrics[name] = engine::FromNumber(value);
  }
  if (request_.rank == 0) {
    sink_.Emit(link::kMetrics,
               {{"epoch", 0}, {"step", 0}, {"metrics", metrics}});
  }
  TellEnded("completed", experiment_.task == "validate"
                             ? "the validation is done"
                             : "the " + phase + " is done");
  return link::kDone;
}

int Rank::Predict() {
  TellUntrained();
  LoadInitialWeights();
  Trainer& trainer = *experiment_.trainer;
  const auto result = trainer.Predict();
  if (watcher_.stop_requested()) {
    TellEnded("stopped", "stopped on request, before the end of the pass");
    return link::kStoppedWithCheckpoint;
  }
  if (!result) {
    TellEnded("completed", "there is no data.predict; nothing was predicted");
    return link::kDone;
  }
  if (request_.rank == 0 && !result->joined.empty()) {
    std::vector<engine::NamedTensor> tensors;
    for (const auto& [name, tensor] : result->joined) {
      tensors.push_back({name, tensor});
    }
    if (!result->indices.empty()) {
      tensors.push_back({"index", at::tensor(result->indices, at::kLong)});
    }
    const std::string path = output_dir_ + "/predictions.safetensors";
    engine::WriteSafetensors(path, tensors);
    trainer.AddOutput("predictions", path);
  }
  TellEnded("completed", "the prediction is done");
  return link::kDone;
}

int Rank::Run() {
  TellStarted();
  at::set_num_threads(spec_.cpus);
  at::set_num_interop_threads(1);
  MakeCommunicator();
  int code = link::kDone;
  engine::NamingTheFirstFailure(*communicator_, [&] {
    Build();
    AddHooks();
    if (experiment_.task == "train") {
      code = Train();
    } else {
      code = experiment_.task == "predict" ? Predict() : Evaluate();
    }
  });
  return code;
}

int TellFailure(link::EventWriter& writer, const keeper::RankRequest& request,
                const std::string& message, int code) {
  writer.Append(link::NoticeLine("error", message));
  if (request.rank == 0) {
    writer.Append({{"type", link::kTrainingEnded},
                   {"outcome", "failed"},
                   {"message", message}});
  }
  return code;
}

int CodeOf(engine::ErrorKind kind) {
  switch (kind) {
    case engine::ErrorKind::kBadSpec:
      return link::kBadSpec;
    case engine::ErrorKind::kTraining:
      return link::kTrainingFailed;
    case engine::ErrorKind::kInfrastructure:
      return link::kInfrastructure;
  }
  return link::kTrainingFailed;
}

}  // namespace

int RunRank(const keeper::RankRequest& request) {
  // Gloo writes to peers that are gone: an error of the call, not the end.
  signal(SIGPIPE, SIG_IGN);
  engine::KeepFreedMemory();
  engine::EndUnreadableMappings(link::kInfrastructure);
  const std::string rank_dir = link::RankDir(request.attempt_dir, request.rank);
  std::filesystem::create_directories(rank_dir);
  link::EventWriter writer(link::EventsPath(rank_dir), request.rank);
  try {
    const auto text = link::ReadFile(link::SpecPath(request.attempt_dir));
    if (!text) {
      return TellFailure(
          writer, request,
          "\"" + link::SpecPath(request.attempt_dir) + "\": cannot be read",
          link::kInfrastructure);
    }
    Rank rank(request, link::FromJson(*text), writer);
    return rank.Run();
  } catch (const NoStorage& error) {
    return TellFailure(writer, request, error.what(), link::kNoStorage);
  } catch (const engine::Error& error) {
    return TellFailure(writer, request, error.what(), CodeOf(error.kind()));
  } catch (const std::invalid_argument& error) {
    return TellFailure(writer, request, error.what(), link::kBadSpec);
  } catch (const std::exception& error) {
    // LibTorch's own: a shape that does not fit, memory that is not there.
    const std::string message = error.what();
    return TellFailure(writer, request, message.substr(0, message.find('\n')),
                       link::kTrainingFailed);
  }
}

}  // namespace epochd::trainer
