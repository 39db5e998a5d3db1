// SPDX-License-Identifier: Apache-2.0
//
// Trainer's state: starting, saving and going on.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/core/number.h"
#include "worker/engine/core/seed.h"
#include "worker/engine/loop/regrouping.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/optim/sharded.h"

namespace epochd::engine {
namespace {

constexpr int kFormat = 2;
// Keeps the generator's stream apart from those of weights and data.
constexpr uint64_t kTrainingStream = 101;

constexpr char kRankPrefix[] = "rank.";
// Of what each rank has a part of, that belongs to all.
constexpr char kPartPrefix[] = "part.";

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

// Prefix of what one rank alone has.
std::string OfRank(int rank) {
  return kRankPrefix + std::to_string(rank) + ".";
}

void SeedGenerators(c10::Device device, uint64_t seed) {
  for (auto& [kind, generator] : Generators(device)) {
    generator.set_current_seed(seed);
  }
}

// The tensors whose names begin with `prefix`, without it.
std::vector<NamedTensor> Below(const std::vector<NamedTensor>& tensors,
                               const std::string& prefix) {
  std::vector<NamedTensor> found;
  for (const NamedTensor& each : tensors) {
    if (each.name.starts_with(prefix)) {
      found.push_back({each.name.substr(prefix.size()), each.tensor});
    }
  }
  return found;
}

bool IsSharded(const Optimizer& optimizer) {
  return dynamic_cast<const ShardedOptimizer*>(&optimizer) != nullptr;
}

std::string Quoted(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "\"" : ", \"") + name + "\"";
  }
  return text;
}

// Names that are in one list and not in the other.
std::vector<std::string> Without(const std::vector<std::string>& names,
                                 const std::vector<std::string>& others) {
  std::vector<std::string> left;
  for (const std::string& name : names) {
    if (std::find(others.begin(), others.end(), name) == others.end()) {
      left.push_back(name);
    }
  }
  return left;
}

}  // namespace

std::string LoadReport::Text() const {
  std::string text;
  const auto add = [&text](const std::string& part) {
    text += (text.empty() ? "" : "; ") + part;
  };
  if (!missing.empty()) {
    add(Quoted(missing) + " of the model are not among them");
  }
  if (!unexpected.empty()) {
    add(Quoted(unexpected) + " are not the model's");
  }
  for (const std::string& each : misshapen) add(each);
  return text;
}

LoadReport LoadModel(Model& model, const std::vector<NamedTensor>& saved,
                     bool strict, std::string_view strict_key) {
  c10::NoGradGuard no_grad;
  std::vector<NamedTensor> own = ModelTensors(model);
  std::map<std::string, at::Tensor> given;
  for (const NamedTensor& each : saved) given[each.name] = each.tensor;
  LoadReport report;
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;
  for (NamedTensor& each : own) {
    auto found = given.find(each.name);
    if (found == given.end()) {
      report.missing.push_back(each.name);
      continue;
    }
    if (found->second.sizes() != each.tensor.sizes()) {
      report.misshapen.push_back("\"" + each.name + "\" is of shape " +
                                 c10::str(found->second.sizes()) +
                                 ", the model's is " +
                                 c10::str(each.tensor.sizes()));
    } else {
      pairs.emplace_back(each.tensor, found->second);
    }
    given.erase(found);
  }
  for (const auto& [name, ignored] : given) report.unexpected.push_back(name);
  if (strict && !report.fits()) {
    throw Error(ErrorKind::kBadSpec, "weights: " + report.Text() + "; " +
                                         std::string(strict_key) +
                                         ": false takes what fits");
  }
  if (pairs.empty() && !own.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "weights: nothing fits the model: " + report.Text());
  }
  for (auto& [into, from] : pairs) into.copy_(from);
  report.loaded = static_cast<int64_t>(pairs.size());
  return report;
}

void Trainer::PrepareSync(const nlohmann::ordered_json& state) {
  sync_ = environment_.communicator->SyncGradients(
      parts_.model->Parameters(), parts_.model->Buffers(), parts_.sync, state);
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
  const Skipped skipped =
      position_.batch == 0 ? Skipped{} : parts_.train->skipped();
  const nlohmann::ordered_json json = {
      {"meter", train_meter_.State()},
      {"earlier_meter", earlier_meter_.State()},
      {"skipped", skipped.samples},
      {"skipped_of_round", skipped.of_round},
      {"runner", parts_.training_runner->State()}};
  std::vector<NamedTensor> tensors;
  for (const auto& [kind, generator] : Generators(environment_.device)) {
    tensors.push_back({"generator." + kind, generator.get_state()});
  }
  for (NamedTensor& each : sync_->OwnTensors()) {
    tensors.push_back({"sync." + each.name, std::move(each.tensor)});
  }
  for (const auto& [name, optimizer] : parts_.training_runner->Optimizers()) {
    if (!IsSharded(*optimizer)) continue;
    for (NamedTensor& each : optimizer->State()) {
      tensors.push_back(
          {kPartPrefix + name + "." + each.name, std::move(each.tensor)});
    }
  }
  return json.dump() + "\n" + PackTensors(tensors);
}

void Trainer::AddOwnState(int rank, const std::string& own,
                          Snapshot& snapshot) {
  const size_t line = own.find('\n');
  snapshot.json["ranks"].push_back(
      nlohmann::ordered_json::parse(own.substr(0, line)));
  for (NamedTensor& each :
       UnpackTensors("rank " + std::to_string(rank),
                     std::string_view(own).substr(line + 1))) {
    const bool is_part = each.name.starts_with(kPartPrefix);
    snapshot.state.push_back({is_part
                                  ? each.name.substr(sizeof(kPartPrefix) - 1)
                                  : OfRank(rank) + each.name,
                              std::move(each.tensor)});
  }
}

Snapshot Trainer::TakeSnapshot() {
  const std::vector<std::string> ranks =
      environment_.communicator->GatherAtRoot(OwnState());
  if (!is_main_rank()) return {};
  Snapshot snapshot;
  snapshot.model = ModelTensors(*parts_.model);
  for (const auto& [name, optimizer] : parts_.training_runner->Optimizers()) {
    if (IsSharded(*optimizer)) continue;
    Snapshot::Late late{.reads = optimizer->pending_reads()};
    for (NamedTensor& each : optimizer->State()) {
      late.tensors.push_back(each.tensor);
      snapshot.state.push_back(
          {name + "." + each.name, std::move(each.tensor)});
    }
    if (late.reads) snapshot.late.push_back(std::move(late));
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
               {"finished", is_finished_ && !is_time_over_},
               {"stop_reason", stop_reason_},
               {"validated_at", validated_at_},
               {"training_seconds",
                training_seconds_ + (is_in_pass_ ? lasted.count() : 0.0)},
               {"seed", parts_.seed},
               {"world_size", environment_.communicator->world_size()},
               {"threads", at::get_num_threads()},
               {"train_batches", parts_.train->NumBatches()},
               {"planned", Planned()},
               {"batch_size", parts_.train->BatchSize()},
               {"train_samples", parts_.train->NumSamples()},
               {"epoch_seconds",
                position_.batch == 0 ? 0.0 : seconds_before_ + lasted.count()},
               {"data_wait_seconds", data_wait_},
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

void Trainer::DoesNotFit(const std::string& problem) {
  if (parts_.load_strict) {
    differences_.push_back(problem);
  } else if (is_main_rank()) {
    events().Notice("warning", "checkpoint: " + problem + "; it starts anew");
  }
}

void Trainer::TellOverridden(const std::string& optimizer,
                             const std::vector<Optimizer::Group>& own,
                             const std::vector<Optimizer::Group>& restored) {
  if (!is_main_rank()) return;
  std::string all;
  const auto add = [&all](const std::string& what, double given, double saved) {
    if (given == saved) return;
    all += (all.empty() ? "" : ", ") + what + " " + c10::str(saved) +
           " instead of " + c10::str(given);
  };
  for (size_t i = 0; i < std::min(own.size(), restored.size()); ++i) {
    const std::string of =
        own.size() == 1 ? "" : " of group \"" + own[i].name + "\"";
    add("lr" + of, own[i].initial_lr, restored[i].initial_lr);
    add("momentum" + of, own[i].initial_momentum, restored[i].initial_momentum);
    add("weight_decay" + of, own[i].weight_decay, restored[i].weight_decay);
  }
  if (all.empty()) return;
  events().Notice("warning",
                  optimizer +
                      ": goes on with the checkpoint's settings: " + all +
                      "; a run that takes weights alone "
                      "(load_from) begins with its own");
}

bool Trainer::RestoreOptimizers(const Snapshot& snapshot) {
  const Json saved = snapshot.json.value("optimizers", Json::object());
  std::vector<std::string> fresh;
  for (const auto& [name, optimizer] : parts_.training_runner->Optimizers()) {
    try {
      std::string problem = "no such optimizer";
      const std::vector<Optimizer::Group> own = optimizer->groups();
      if (saved.contains(name)) {
        problem = RestoreOptimizer(*optimizer, saved.at(name),
                                   Below(snapshot.state, name + "."));
      }
      if (problem.empty()) {
        // Of one that stands for several the first one's were compared.
        if (!optimizer->type().empty()) {
          TellOverridden(name, own, optimizer->groups());
        }
        continue;
      }
      fresh.push_back(name);
      if (!is_main_rank()) continue;
      events().Notice(
          "warning",
          name + ": starts anew, as the checkpoint's has " + problem);
    } catch (const Error& error) {
      fresh.push_back(name);
      DoesNotFit(name + ": " + error.what());
    }
  }
  try {
    parts_.schedules.LoadState(snapshot.json.at("schedulers"), fresh,
                               PassedOf(snapshot.json));
  } catch (const Error& error) {
    DoesNotFit(error.what());
  }
  if (LossBalancer* balancer = parts_.criterion.balancer()) {
    balancer->LoadState(snapshot.json.value("loss_weights", Json::object()));
  }
  return fresh.empty();
}

void Trainer::RestoreHooks(const Snapshot& snapshot) {
  const Json saved = snapshot.json.value("hooks", Json::object());
  std::vector<std::string> before;
  for (const auto& [name, ignored] : saved.items()) before.push_back(name);
  std::vector<std::string> all;
  std::vector<std::string> now;
  for (const NamedHook& each : hooks_) {
    all.push_back(each.name);
    if (!each.hook->State().is_null()) now.push_back(each.name);
  }
  const std::vector<std::string> missing = Without(before, all);
  const std::vector<std::string> added = Without(now, before);
  if (!missing.empty()) {
    DoesNotFit("the list of hooks changed: " + Quoted(missing) +
               " had a state and is not there" +
               (added.empty() ? "" : ", " + Quoted(added) + " is new"));
  } else if (!added.empty() && is_main_rank()) {
    events().Notice("info", "the list of hooks changed: " + Quoted(added) +
                                " is new, and remembers nothing");
  }
  for (const NamedHook& each : hooks_) {
    auto state = saved.find(each.name);
    if (state != saved.end()) each.hook->LoadState(*state);
  }
}

Grouping Trainer::PresentGrouping() const {
  return {environment_.communicator->world_size(), parts_.train->BatchSize(),
          parts_.train->NumSamples()};
}

std::optional<Passed> Trainer::PassedOf(
    const nlohmann::ordered_json& json) const {
  const Grouping now = PresentGrouping();
  const LoopPlan& plan = parts_.plan;
  const int64_t per_epoch = parts_.train->NumBatches();
  const Json planned = Planned();
  const bool is_as_planned =
      SavedGrouping(json) == now && json.value("planned", planned) == planned;
  if (is_as_planned || per_epoch <= 0) return {};
  Passed passed;
  const int64_t total = plan.TotalBatches(per_epoch);
  const auto steps = json.at("step").get<int64_t>();
  if (plan.max_steps && (total < 0 || BatchesOf(*plan.max_steps) < total)) {
    // Steps end the run, and count on.
    passed.batches = BatchesOf(steps);
    passed.epochs = *passed.batches / per_epoch;
    return passed;
  }
  if (plan.max_batches) {
    passed.batches = json.at("global_batch").get<int64_t>();
    passed.epochs = *passed.batches / per_epoch;
  } else {
    passed.batches = json.at("epoch").get<int64_t>() * per_epoch +
                     ResumedBatch(json, now, per_epoch).value_or(0);
  }
  if (steps > 0) {
    passed.step_share =
        static_cast<double>(StepsOf(*passed.batches, /*closed=*/false)) /
        static_cast<double>(steps);
  }
  return passed;
}

nlohmann::ordered_json Trainer::Planned() const {
  const RunLength length = PlannedLength();
  const auto told = [](const std::optional<int64_t>& count) {
    return count ? Json(*count) : Json();
  };
  return {{"epochs", told(length.epochs)},
          {"batches", told(length.batches)},
          {"steps", told(length.steps)}};
}

void Trainer::RestorePosition(const Snapshot& snapshot, bool keeps_groups) {
  const nlohmann::ordered_json& json = snapshot.json;
  position_ = {json.at("epoch").get<int64_t>(), json.at("batch").get<int64_t>(),
               json.at("step").get<int64_t>(),
               json.at("global_batch").get<int64_t>()};
  is_finished_ = json.value("finished", false);
  if (is_finished_) stop_reason_ = json.value("stop_reason", "");
  validated_at_ = json.value("validated_at", int64_t{-1});
  training_seconds_ = json.value("training_seconds", 0.0);
  seconds_before_ = json.value("epoch_seconds", 0.0);
  data_wait_ = json.value("data_wait_seconds", 0.0);
  const int rank = environment_.communicator->rank();
  const Grouping now = PresentGrouping();
  const Grouping before = SavedGrouping(json);
  const auto& ranks = json.at("ranks");
  const auto seed = json.value("seed", parts_.seed);
  if (seed != parts_.seed && is_main_rank()) {
    events().Notice("warning",
                    "the checkpoint is of seed " + std::to_string(seed) +
                        ", this run of seed " + std::to_string(parts_.seed) +
                        "; samples come in another order from here");
  }
  if (before == now) {
    train_meter_.LoadState(ranks.at(rank).at("meter"));
    earlier_meter_.LoadState(
        ranks.at(rank).value("earlier_meter", Json::array()));
    parts_.train->ContinueSkipped(
        ShareSkipped(Json::array({ranks.at(rank)}), 0, 1));
    parts_.training_runner->LoadState(ranks.at(rank).at("runner"));
    for (const NamedTensor& each :
         Below(snapshot.state, OfRank(rank) + "generator.")) {
      for (auto& [kind, generator] : Generators(environment_.device)) {
        if (kind == each.name) generator.set_state(each.tensor);
      }
    }
    // Where an optimizer starts anew, others of the parameters have gradients.
    PrepareSync(keeps_groups ? json.value("gradients", Json()) : Json());
    sync_->LoadOwnTensors(Below(snapshot.state, OfRank(rank) + "sync."));
    CountTotalBatches();
    return;
  }
  const auto text = [](const Grouping& grouping) {
    return std::to_string(grouping.world_size) + " x " +
           std::to_string(grouping.batch_size) + " of " +
           std::to_string(grouping.samples) + " samples a step";
  };
  const std::string saved_by =
      "the checkpoint is of " + text(before) + ", this run of " + text(now);
  const std::optional<int64_t> batch =
      ResumedBatch(json, now, parts_.train->NumBatches());
  parts_.training_runner->LoadState(ranks.at(0).at("runner"));
  if (batch) {
    Json meters = Json::array();
    Json earlier = Json::array();
    for (const auto& each : ranks) {
      meters.push_back(each.at("meter"));
      earlier.push_back(each.value("earlier_meter", Json::array()));
    }
    train_meter_.LoadState(MergeMeters(meters, rank));
    earlier_meter_.LoadState(MergeMeters(earlier, rank));
    parts_.train->ContinueSkipped(ShareSkipped(ranks, rank, now.world_size));
  } else {
    train_meter_.Reset();
    earlier_meter_.Reset();
    seconds_before_ = data_wait_ = 0;
  }
  if (is_main_rank()) {
    events().Notice(
        batch ? "info" : "warning",
        saved_by + "; " +
            (batch ? "it goes on at the same sample of epoch "
                   : "it cannot go on at the same sample, and begins anew "
                     "epoch ") +
            std::to_string(position_.epoch + 1) +
            "; random numbers of the ranks are new ones");
  }
  position_.batch = batch.value_or(0);
  CountTotalBatches();
  SeedGenerators(
      environment_.device,
      HashSeed32({parts_.seed, kTrainingStream, static_cast<uint64_t>(rank),
                  static_cast<uint64_t>(position_.step)}));
  PrepareSync(nullptr);
}

void Trainer::CountTotalBatches() {
  context_.total_epochs = epochs();
  const int64_t per_epoch = parts_.train->NumBatches();
  if (parts_.plan.max_batches || per_epoch < 0 || total_batches_ < 0) return;
  total_batches_ = position_.global_batch +
                   parts_.plan.TotalBatches(per_epoch) -
                   (position_.epoch * per_epoch + position_.batch);
}

void Trainer::TellNothingLeft() {
  if (!is_main_rank()) return;
  std::string why;
  if (is_finished_) {
    why = "that run had come to its end";
    if (!stop_reason_.empty()) why += " (" + stop_reason_ + ")";
  } else if (IsAtLimit() || (parts_.plan.max_epochs &&
                             position_.epoch >= *parts_.plan.max_epochs)) {
    why = "the checkpoint is of epoch " + std::to_string(position_.epoch) +
          ", step " + std::to_string(position_.step) +
          ", and the trainer's limits count from the start of the run: higher "
          "ones are needed to go on";
  } else {
    return;
  }
  events().Notice("warning", "nothing is left to train: " + why);
}

void Trainer::GoOnFrom(const Snapshot& read) {
  Snapshot snapshot = read;  // handles: hooks may put others in their place
  SnapshotContext context{.trainer = this, .snapshot = &snapshot};
  on_after_load.Fire(context);
  const nlohmann::ordered_json& json = snapshot.json;
  const std::string subject = snapshot.path.empty()
                                  ? "checkpoint"
                                  : "checkpoint \"" + snapshot.path + "\"";
  differences_.clear();
  try {
    if (json.value("format", 0) != kFormat) {
      throw Error(ErrorKind::kBadSpec, "state.json is of format " +
                                           json.value("format", Json()).dump() +
                                           "; " + std::to_string(kFormat) +
                                           " is accepted");
    }
    try {
      LoadReport report =
          LoadModel(*parts_.model, snapshot.model, parts_.load_strict);
      if (!report.fits()) DoesNotFit("weights: " + report.Text());
    } catch (const Error& error) {
      differences_.push_back(error.what());
    }
    const bool keeps_groups = RestoreOptimizers(snapshot);
    RestoreHooks(snapshot);
    if (!differences_.empty()) {
      std::string all;
      for (const std::string& each : differences_) {
        all += (all.empty() ? "" : "; ") + each;
      }
      throw Error(ErrorKind::kBadSpec,
                  "does not fit this experiment: " + all +
                      ". Accepted are the experiment that it was saved from, "
                      "experiment.load_strict: false, which takes what fits, "
                      "and experiment.resume: never");
    }
    if (json.contains("messages")) messages_.LoadState(json.at("messages"));
    RestorePosition(snapshot, keeps_groups);
    const Json& best = json.at("best");
    // Another score begins anew.
    if (best.value("metric", "") == parts_.monitor.metric) {
      parts_.monitor.best = ToNumber(best.at("value"));
      parts_.monitor.best_epoch = best.value("epoch", int64_t{-1});
    }
  } catch (const Error& error) {
    throw Error(error.kind(), subject + ": " + error.what());
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kBadSpec,
                subject + ": state.json is not what this version writes: " +
                    error.what());
  }
  resumed_from_ = snapshot.path;
  TellNothingLeft();
}

}  // namespace epochd::engine
