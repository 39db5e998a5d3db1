// SPDX-License-Identifier: Apache-2.0
//
// Trainer's state: starting, saving and going on.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/number.h"
#include "worker/engine/core/seed.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::engine {
namespace {

constexpr int kFormat = 2;
// Keeps the generator's stream apart from those of weights and data.
constexpr uint64_t kTrainingStream = 101;

[[noreturn]] void Refuse(const std::string& problem) {
  throw Error(ErrorKind::kInfrastructure, "checkpoint: " + problem);
}

std::vector<NamedTensor> ModelTensors(const Model& model) {
  std::vector<NamedTensor> tensors = model.Parameters();
  for (NamedTensor& buffer : model.Buffers()) {
    tensors.push_back(std::move(buffer));
  }
  return tensors;
}

std::vector<at::Tensor> TensorsOf(const std::vector<NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& each : named) tensors.push_back(each.tensor);
  return tensors;
}

// Generators that a training draws from, by what they are called on disk.
std::vector<std::pair<std::string, at::Generator>> Generators(
    c10::Device device) {
  std::vector<std::pair<std::string, at::Generator>> generators;
  generators.emplace_back("cpu",
                          at::globalContext().defaultGenerator(at::kCPU));
  if (!device.is_cpu()) {
    generators.emplace_back("device",
                            at::globalContext().defaultGenerator(device));
  }
  return generators;
}

at::Tensor BytesToTensor(const std::string& bytes) {
  at::Tensor tensor =
      at::empty({static_cast<int64_t>(bytes.size())}, at::kByte);
  std::copy(bytes.begin(), bytes.end(), tensor.data_ptr<uint8_t>());
  return tensor;
}

std::string TensorToBytes(const at::Tensor& tensor) {
  const at::Tensor bytes = tensor.contiguous();
  const auto* data = bytes.const_data_ptr<uint8_t>();
  return std::string(data, data + bytes.numel());
}

std::string GeneratorName(const std::string& kind, int rank) {
  return "generator." + kind + "." + std::to_string(rank);
}

void SeedGenerators(c10::Device device, uint64_t seed) {
  for (auto& [kind, generator] : Generators(device)) {
    generator.set_current_seed(seed);
  }
}

}  // namespace

void LoadModel(Model& model, const std::vector<NamedTensor>& saved) {
  c10::NoGradGuard no_grad;
  std::vector<NamedTensor> own = ModelTensors(model);
  std::string missing;
  for (NamedTensor& each : own) {
    auto found = std::find_if(
        saved.begin(), saved.end(),
        [&](const NamedTensor& other) { return other.name == each.name; });
    if (found == saved.end()) {
      missing += (missing.empty() ? "\"" : ", \"") + each.name + "\"";
    } else if (found->tensor.sizes() != each.tensor.sizes()) {
      throw Error(ErrorKind::kBadSpec,
                  "weights: \"" + each.name + "\" is of shape " +
                      c10::str(found->tensor.sizes()) + ", the model's is " +
                      c10::str(each.tensor.sizes()));
    }
  }
  if (!missing.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "weights: " + missing + " of the model are not among them");
  }
  for (NamedTensor& each : own) {
    for (const NamedTensor& other : saved) {
      if (other.name == each.name) each.tensor.copy_(other.tensor);
    }
  }
}

void Trainer::PrepareSync(const nlohmann::ordered_json& state) {
  sync_ = environment_.communicator->SyncGradients(
      TensorsOf(parts_.model->Parameters()), TensorsOf(parts_.model->Buffers()),
      state);
  if (LossBalancer* balancer = parts_.criterion.balancer()) {
    balancer->Bind(TensorsOf(parts_.model->Parameters()),
                   environment_.communicator);
  }
}

void Trainer::Begin() {
  environment_.communicator->Broadcast(TensorsOf(ModelTensors(*parts_.model)));
  SeedGenerators(
      environment_.device,
      HashSeed32({parts_.seed, kTrainingStream,
                  static_cast<uint64_t>(environment_.communicator->rank())}));
  parts_.schedules.Start();
  PrepareSync(nullptr);
}

std::string Trainer::OwnState() const {
  nlohmann::ordered_json json = {{"meter", train_meter_.State()},
                                 {"runner", parts_.training_runner->State()},
                                 {"generators", Json::object()}};
  std::string bytes;
  for (const auto& [kind, generator] : Generators(environment_.device)) {
    const std::string state = TensorToBytes(generator.get_state());
    json["generators"][kind] = state.size();
    bytes += state;
  }
  return json.dump() + "\n" + bytes;
}

void Trainer::AddOwnState(int rank, const std::string& own,
                          Snapshot& snapshot) {
  const size_t line = own.find('\n');
  nlohmann::ordered_json json =
      nlohmann::ordered_json::parse(own.substr(0, line));
  size_t offset = line + 1;
  for (const auto& [kind, size] : json.at("generators").items()) {
    snapshot.state.push_back(
        {GeneratorName(kind, rank),
         BytesToTensor(own.substr(offset, size.get<size_t>()))});
    offset += size.get<size_t>();
  }
  snapshot.json["ranks"].push_back(std::move(json));
}

Snapshot Trainer::TakeSnapshot() {
  const std::vector<std::string> ranks =
      environment_.communicator->Gather(OwnState());
  if (!is_main_rank()) return {};
  Snapshot snapshot;
  snapshot.model = ModelTensors(*parts_.model);
  for (const auto& [name, optimizer] : parts_.training_runner->Optimizers()) {
    for (NamedTensor& each : optimizer->State()) {
      snapshot.state.push_back(
          {name + "." + each.name, std::move(each.tensor)});
    }
  }
  snapshot.json = StateJson();
  snapshot.json["ranks"] = Json::array();
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    AddOwnState(static_cast<int>(rank), ranks[rank], snapshot);
  }
  SnapshotContext context{.trainer = this, .snapshot = &snapshot};
  on_before_save.Fire(context);
  return snapshot;
}

nlohmann::ordered_json Trainer::StateJson() const {
  const std::chrono::duration<double> lasted =
      std::chrono::steady_clock::now() - began_;
  Json json = {{"format", kFormat},
               {"epoch", position_.epoch},
               {"batch", position_.batch},
               {"step", position_.step},
               {"global_batch", position_.global_batch},
               {"finished", is_finished_},
               {"stop_reason", stop_reason_},
               {"seed", parts_.seed},
               {"world_size", environment_.communicator->world_size()},
               {"threads", at::get_num_threads()},
               {"train_batches", parts_.train->NumBatches()},
               {"epoch_seconds",
                position_.batch == 0 ? 0.0 : seconds_before_ + lasted.count()},
               {"best",
                {{"metric", parts_.monitor.metric},
                 {"value", FromNumber(parts_.monitor.best)},
                 {"epoch", parts_.monitor.best_epoch}}},
               {"scores", Json::object()},
               {"optimizers", Json::object()},
               {"schedulers", parts_.schedules.State()},
               {"hooks", Json::object()},
               {"messages", messages_.State()},
               {"gradients", sync_->State()}};
  if (const LossBalancer* balancer = parts_.criterion.balancer()) {
    json["loss_weights"] = balancer->State();
  }
  for (const auto& [name, value] : context_.scores) {
    json["scores"][name] = FromNumber(value);
  }
  for (const auto& [name, optimizer] : parts_.training_runner->Optimizers()) {
    json["optimizers"][name] = optimizer->Settings();
  }
  for (const NamedHook& each : hooks_) {
    Json state = each.hook->State();
    if (!state.is_null()) json["hooks"][each.name] = std::move(state);
  }
  return json;
}

void Trainer::GoOnFrom(const Snapshot& read) {
  Snapshot snapshot = read;  // handles: hooks may put others in their place
  SnapshotContext context{.trainer = this, .snapshot = &snapshot};
  on_after_load.Fire(context);
  const nlohmann::ordered_json& json = snapshot.json;
  if (json.value("format", 0) != kFormat) {
    Refuse("state.json is of format " +
           std::to_string(json.value("format", 0)) + "; " +
           std::to_string(kFormat) + " is accepted");
  }
  LoadModel(*parts_.model, snapshot.model);
  std::vector<std::string> fresh;
  for (const auto& [name, optimizer] : parts_.training_runner->Optimizers()) {
    std::vector<NamedTensor> state;
    for (const NamedTensor& each : snapshot.state) {
      if (each.name.starts_with(name + ".")) {
        state.push_back({each.name.substr(name.size() + 1), each.tensor});
      }
    }
    const std::string problem =
        RestoreOptimizer(*optimizer, json.at("optimizers").at(name), state);
    if (problem.empty()) continue;
    fresh.push_back(name);
    events().Notice("warning",
                    name + ": starts anew, as the checkpoint's has " + problem);
  }
  parts_.schedules.LoadState(json.at("schedulers"), fresh);
  if (LossBalancer* balancer = parts_.criterion.balancer()) {
    balancer->LoadState(json.value("loss_weights", Json::object()));
  }
  for (const NamedHook& each : hooks_) {
    auto state = json.at("hooks").find(each.name);
    if (state != json.at("hooks").end()) each.hook->LoadState(*state);
  }
  if (json.contains("messages")) messages_.LoadState(json.at("messages"));
  position_ = {json.at("epoch").get<int64_t>(), json.at("batch").get<int64_t>(),
               json.at("step").get<int64_t>(),
               json.at("global_batch").get<int64_t>()};
  is_finished_ = json.value("finished", false);
  stop_reason_ = json.value("stop_reason", "");
  seconds_before_ = json.value("epoch_seconds", 0.0);
  parts_.monitor.best = ToNumber(json.at("best").at("value"));
  parts_.monitor.best_epoch = json.at("best").value("epoch", int64_t{-1});

  const int rank = environment_.communicator->rank();
  const bool same_world =
      json.value("world_size", 0) == environment_.communicator->world_size();
  nlohmann::ordered_json gradients;
  if (same_world) {
    const auto& own = json.at("ranks").at(rank);
    train_meter_.LoadState(own.at("meter"));
    parts_.training_runner->LoadState(own.at("runner"));
    // Where an optimizer starts anew, others of the parameters have gradients.
    if (fresh.empty()) gradients = json.at("gradients");
    for (auto& [kind, generator] : Generators(environment_.device)) {
      for (const NamedTensor& each : snapshot.state) {
        if (each.name == GeneratorName(kind, rank)) {
          generator.set_state(each.tensor);
        }
      }
    }
  } else {
    // Another number of ranks sees other batches: begins the epoch again.
    position_.batch = 0;
    seconds_before_ = 0;
    SeedGenerators(
        environment_.device,
        HashSeed32({parts_.seed, kTrainingStream, static_cast<uint64_t>(rank),
                    static_cast<uint64_t>(position_.step)}));
  }
  PrepareSync(gradients);
}

}  // namespace epochd::engine
