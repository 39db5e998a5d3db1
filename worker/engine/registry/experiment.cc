// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/experiment.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/core/seed.h"
#include "worker/engine/data/bounded_source.h"
#include "worker/engine/data/column.h"
#include "worker/engine/loop/idle_runner.h"
#include "worker/engine/optim/sharded.h"
#include "worker/engine/registry/build_scope.h"
#include "worker/engine/registry/config_sections.h"
#include "worker/engine/registry/ddp_section.h"
#include "worker/engine/registry/loader_parameters.h"
#include "worker/engine/registry/loop_plan.h"
#include "worker/engine/registry/optimization.h"

namespace epochd::engine {
namespace {

using catalogue::AppendKey;
using catalogue::Json;

// Keeps the stream of initial weights apart from that of training.
constexpr uint64_t kWeightStream = 100;
constexpr uint64_t kCompressionStream = 102;

[[noreturn]] void Refuse(const std::string& path, const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, path + ": " + problem);
}

class Builder {
 public:
  Builder(const Registry& registry, const Json& experiment,
          ExperimentOptions options)
      : registry_(registry),
        options_(std::move(options)),
        scope_(registry, experiment, options_.root),
        randomness_(ReadRandomness(registry, experiment, options_.root)),
        values_(
            Complete(*registry.Find("experiment", "Experiment"), experiment)) {
    const RunEnvironment& environment = options_.environment;
    if (environment.events == nullptr ||
        environment.communicator->rank() != 0) {
      return;
    }
    scope_.SetNotices([&events = *environment.events](std::string_view severity,
                                                      const std::string& text) {
      events.Notice(severity, text);
    });
  }

  Experiment Build();

 private:
  std::string Path(const std::string& key) const {
    return AppendKey(options_.root, key);
  }
  // The value of a trainer's parameter, else that of the experiment's key;
  // null: neither is there. `path` becomes where it stands.
  const Json& Pick(const std::string& trainer_key, const std::string& key,
                   std::string& path) const;
  // The data set at data.`section` as the part `part` of the run.
  std::unique_ptr<BatchSource> MakeSource(const std::string& section,
                                          const std::string& part);
  void MakeSources(const std::string& task, Trainer::Parts& parts);
  std::shared_ptr<EpochRunner> MakeRunner(
      std::vector<std::shared_ptr<Hook>>& hooks);
  // A runner of kind `kind` at `key`, with its hooks.
  template <class Runner>
  std::shared_ptr<Runner> MakePassRunner(
      const std::string& kind, const Json& value, const std::string& path,
      std::vector<std::shared_ptr<Hook>>& hooks);
  void SetTargets(const Json& optimizer, const std::string& path,
                  const std::vector<NamedTensor>& targets);
  Criterion MakeCriterion(const std::string& trainer_key,
                          const std::string& key);
  Schedules MakeSchedules();
  void ScaleRatesOf(const Trainer::Parts& parts);
  bool MonitorsValidation() const;
  Monitor MakeMonitor(const Trainer::Parts& parts) const;
  void AddHooks(Trainer& trainer);

  const Registry& registry_;
  const ExperimentOptions options_;
  BuildScope scope_;
  const Randomness randomness_;
  const Json values_;
  Json trainer_values_;
  DdpOptions ddp_;
  DataLimits limits_;
  bool counts_batches_ = false;
  std::shared_ptr<Model> model_;
  // Of the first part of the data that was made; null: there is none.
  std::function<Batch()> first_sample_;
  ClassNumbers class_numbers_;
};

const Json& Builder::Pick(const std::string& trainer_key,
                          const std::string& key, std::string& path) const {
  static const Json kNull;
  auto found = trainer_values_.find(trainer_key);
  if (found != trainer_values_.end()) {
    path = AppendKey(Path("trainer"), trainer_key);
    return *found;
  }
  path = Path(key);
  found = values_.find(key);
  return found == values_.end() ? kNull : *found;
}

std::unique_ptr<BatchSource> Builder::MakeSource(const std::string& section,
                                                 const std::string& part) {
  const Json& data = values_.at("data");
  auto found = data.find(section);
  if (found == data.end()) return nullptr;
  const std::string path = AppendKey(Path("data"), section);
  BuildScope::Resolved resolved = scope_.Resolve("dataset", *found, path);
  const Params params(resolved.values, path, scope_);
  std::shared_ptr<const Dataset> dataset = scope_.MakeAs<Dataset>(*found, path);
  if (const auto number = class_numbers_.Add(*dataset)) {
    Refuse(path, "class " + std::to_string(*number) + " " + kOtherClass);
  }
  LoaderOptions loader = ReadLoaderOptions(params);
  loader.seed = HashSeed({randomness_.seed});
  if (params.String("order") == "torch") {
    loader.torch_order = randomness_.seed;
  }
  loader.rank = options_.environment.communicator->rank();
  loader.world_size = options_.environment.communicator->world_size();
  loader.pad = part == "train" && !ddp_.drops_uneven;
  loader.trim = part == "train" && ddp_.drops_uneven;
  const BatchLimit& limit =
      limits_.overfit.is_set() ? limits_.overfit : limits_.Of(part);
  if (limits_.overfit.is_set()) loader.shuffle = false;
  // What is measured, or learnt by heart, is each sample once.
  if (limits_.overfit.is_set() || section != part) loader.sampler = nullptr;
  // Ranks must stay in step, and batches keep their size.
  loader.policy.replace = part == "train";
  loader.pin_memory &= options_.environment.device.is_cuda();
  if (limit.is_set() && limit.batches == 0 && part != "train") return nullptr;
  if (!first_sample_ && dataset->Size() > 0) {
    // As the loader makes it: padded, and one that can be read.
    const ReadPolicy policy{.skip = loader.policy.skip, .replace = true};
    first_sample_ = [maker = BatchMaker(dataset, loader.collate, policy,
                                        /*pin_memory=*/false),
                     seed = loader.seed] {
      const int64_t first = 0;
      return maker.Make({&first, 1}, {.seed = seed}).batch;
    };
  }
  const std::vector<Error> unreadable = dataset->Unreadable();
  std::unique_ptr<BatchSource> source;
  try {
    source = MakeLoader(std::move(dataset), loader);
  } catch (const Error& error) {
    throw Error(error.kind(), path + ": " + error.what());
  }
  if (!unreadable.empty()) {
    scope_.Notice("warning", path + ": " + TellUnreadable(unreadable));
  }
  if (part == "train" && source->NumSamples() == 0) {
    Refuse(path,
           std::string("no sample is left") +
               (ddp_.drops_uneven ? " for each rank by ddp.uneven: drop" : "") +
               "; training needs at least one");
  }
  if (part == "train" && source->NumBatches() == 0) {
    Refuse(AppendKey(path, "batch_size"),
           std::to_string(loader.batch_size) + " leaves no full batch of " +
               std::to_string(source->NumSamples()) +
               " samples; less, or drop_last: false, is accepted");
  }
  if (params.Bool("endless") ||
      (loader.sampler && loader.sampler->is_endless())) {
    // What counts batches goes round anyway, and its epochs are the passes: so
    // there are ends of epochs to save, to measure and to plot at.
    if (part == "train" && counts_batches_ && !limit.is_set()) return source;
    // A share is one of the data, which comes again and again.
    return RepeatForever(
        std::move(source),
        limit.is_set() ? limit.Of(source->NumBatches(), path) : kEndless);
  }
  if (!limit.is_set()) return source;
  const int64_t batches = limit.Of(source->NumBatches(), path);
  return LimitBatches(std::move(source), batches);
}

void Builder::MakeSources(const std::string& task, Trainer::Parts& parts) {
  if (task == "train") parts.train = MakeSource("train", "train");
  if (task == "test" || task == "benchmark") {
    parts.val = MakeSource("test", "test");
  } else if (limits_.overfit.is_set() && task == "train") {
    if (values_.at("data").contains("val")) {
      parts.val = MakeSource("train", "val");
    }
  } else {
    parts.val = MakeSource("val", "val");
  }
  if (task == "predict") parts.predict = MakeSource("predict", "predict");
  if (task == "train" && parts.train == nullptr) {
    Refuse(AppendKey(Path("data"), "train"), "missing; training needs it");
  }
}

void Builder::SetTargets(const Json& optimizer, const std::string& path,
                         const std::vector<NamedTensor>& targets) {
  const std::string name = ReferenceName(optimizer);
  scope_.SetOptimizerTargets(name.empty() ? path : Path(name), targets);
}

std::shared_ptr<EpochRunner> Builder::MakeRunner(
    std::vector<std::shared_ptr<Hook>>& hooks) {
  std::string path;
  const Json& value = Pick("training_epoch_runner", "runner", path);
  BuildScope::Resolved resolved = scope_.Resolve("runner", value, path);
  Json& runner = resolved.values;
  if (!runner.contains("precision") && !runner.contains("mixed_precision")) {
    runner["precision"] = trainer_values_.at("precision");
  }
  scope_.SetOptimizerTargets("", model_->Parameters());
  const auto& parameters = resolved.component->parameters;
  const auto takes = [&](const char* name) {
    return std::any_of(
        parameters.begin(), parameters.end(),
        [&](const auto& parameter) { return parameter.name == name; });
  };
  if (takes("optimizer")) {
    if (!runner.contains("optimizer")) {
      if (!values_.contains("optimizer")) {
        Refuse(Path("optimizer"), "missing; this runner needs an optimizer");
      }
      runner["optimizer"] = values_.at("optimizer");
    }
  } else if (auto* gan = dynamic_cast<AdversarialModel*>(model_.get())) {
    const std::pair<const char*, Model*> sides[] = {
        {"generator", &gan->generator()},
        {"discriminator", &gan->discriminator()}};
    for (const auto& [side, part] : sides) {
      const std::string key = std::string(side) + "_optimizer";
      if (!runner.contains(key)) {
        const Json optimizers = values_.value("optimizers", Json::object());
        if (!optimizers.contains(side)) {
          Refuse(AppendKey(Path("optimizers"), side),
                 "missing; this runner needs two optimizers");
        }
        runner[key] = optimizers.at(side);
      }
      SetTargets(runner.at(key), AppendKey(path, key), part->Parameters());
    }
  } else if (takes("generator_optimizer")) {
    Refuse(Path("model"),
           "has no generator and discriminator; a GanTrainingRunner trains a "
           "GanModel");
  }
  const Params params(runner, path, scope_);
  auto made = std::static_pointer_cast<EpochRunner>(
      registry_.MakerOf(*resolved.component)(params));
  hooks = params.MakeList<Hook>("hooks");
  if (params.Has("step_ratio")) {
    hooks.push_back(scope_.MakeAs<Hook>(
        {{"type", "StepRatio"}, {"ratio", params.Float("step_ratio")}}, path));
  }
  return made;
}

template <class Runner>
std::shared_ptr<Runner> Builder::MakePassRunner(
    const std::string& kind, const Json& value, const std::string& path,
    std::vector<std::shared_ptr<Hook>>& hooks) {
  BuildScope::Resolved resolved = scope_.Resolve(kind, value, path);
  if (!resolved.values.contains("precision") &&
      !resolved.values.contains("mixed_precision")) {
    resolved.values["precision"] = trainer_values_.at("precision");
  }
  const Params params(resolved.values, path, scope_);
  hooks = params.MakeList<Hook>("hooks");
  return std::static_pointer_cast<Runner>(
      registry_.MakerOf(*resolved.component)(params));
}

Criterion Builder::MakeCriterion(const std::string& trainer_key,
                                 const std::string& key) {
  std::string path;
  const Json& value = Pick(trainer_key, key, path);
  std::vector<std::shared_ptr<Loss>> losses;
  for (auto& made : scope_.MakeList(typeid(Loss), value, path)) {
    losses.push_back(std::static_pointer_cast<Loss>(std::move(made)));
  }
  return Criterion(std::move(losses));
}

Schedules Builder::MakeSchedules() {
  std::string path;
  const Json& list = Pick("lr_scheduler", "lr_scheduler", path);
  return BuildSchedules(
      scope_, {list, path},
      {values_.value("lr_schedulers", Json()), Path("lr_schedulers")});
}

void Builder::ScaleRatesOf(const Trainer::Parts& parts) {
  if (parts.train == nullptr || !values_.contains("auto_scale_lr")) return;
  ScaleRates({values_.at("auto_scale_lr"), Path("auto_scale_lr")},
             {.batch_size = parts.train->BatchSize(),
              .world_size = options_.environment.communicator->world_size(),
              .batches_per_step = parts.training_runner->batches_per_step()},
             parts.training_runner->Optimizers());
}

bool Builder::MonitorsValidation() const {
  const auto monitor = values_.find("monitor");
  if (monitor == values_.end() || !monitor->is_object()) return false;
  const auto metric = monitor->find("metric");
  return metric != monitor->end() && metric->is_string() &&
         metric->get_ref<const std::string&>().starts_with("val/");
}

// What the metric says that gives the score; false: none does.
bool IsBetterHigher(const std::string& score,
                    const std::vector<std::shared_ptr<Metric>>& metrics) {
  const size_t slash = score.find('/');
  const std::string name =
      slash == std::string::npos ? score : score.substr(slash + 1);
  for (const auto& metric : metrics) {
    if (name == metric->name() || name.starts_with(metric->name() + "/")) {
      return metric->higher_is_better();
    }
  }
  return false;
}

Monitor Builder::MakeMonitor(const Trainer::Parts& parts) const {
  Monitor monitor;
  if (parts.val && !parts.val_criterion.empty()) {
    monitor.metric = "val/loss";
  } else if (!parts.training_runner->needs_criterion()) {
    monitor.metric = "train/g_loss";
  } else {
    monitor.metric = "train/loss";
  }
  if (!values_.contains("monitor")) return monitor;
  const Json given =
      Complete(*registry_.Find("section", "Monitor"), values_.at("monitor"));
  if (parts.train != nullptr && parts.val == nullptr && MonitorsValidation()) {
    options_.environment.events->Notice(
        "warning", Path("monitor") + ".metric: \"" + given.value("metric", "") +
                       "\", and there is no validation (data.val); " +
                       monitor.metric + " is watched instead, less is better");
    return monitor;
  }
  monitor.metric = given.value("metric", monitor.metric);
  monitor.higher_is_better =
      given.contains("mode") ? given.at("mode") == "max"
                             : IsBetterHigher(monitor.metric, parts.metrics);
  return monitor;
}

void Builder::AddHooks(Trainer& trainer) {
  auto add = [&](const Json& list, const std::string& path) {
    for (auto& hook : scope_.MakeList(typeid(Hook), list, path)) {
      trainer.AddHook(std::static_pointer_cast<Hook>(std::move(hook)));
    }
  };
  add(values_.at("hooks"), Path("hooks"));
  add(trainer_values_.at("hooks"), AppendKey(Path("trainer"), "hooks"));
  std::string path;
  const Json& stop = Pick("stop_condition", "stop_condition", path);
  if (!stop.is_null()) add(stop, path);
}

Experiment Builder::Build() {
  Experiment experiment;
  experiment.task = values_.at("task").get<std::string>();
  experiment.seed = randomness_.seed;
  at::globalContext().setDeterministicAlgorithms(randomness_.deterministic,
                                                 /*warn_only=*/false);
  at::globalContext().setDeterministicCuDNN(randomness_.deterministic);
  experiment.load_from = values_.value("load_from", "");
  experiment.load_strict = values_.at("load_strict").get<bool>();
  experiment.resume = values_.value("resume", "");
  ddp_ = ReadDdp(registry_, values_, options_.root);
  Communicator& communicator = *options_.environment.communicator;
  if (ddp_.shards_optimizer && communicator.world_size() > 1) {
    scope_.SetOptimizerWrap([&communicator](std::shared_ptr<Optimizer> inner) {
      return std::make_shared<ShardedOptimizer>(std::move(inner), communicator);
    });
  }
  const BuildScope::Resolved trainer =
      scope_.Resolve("trainer", values_.at("trainer"), Path("trainer"));
  trainer_values_ = trainer.values;
  const Params trainer_params(trainer_values_, Path("trainer"), scope_);
  limits_ = ReadDataLimits(trainer_params);
  experiment.is_trial = limits_.fast_dev_run > 0;

  // Seeds the weights: the same on all ranks.
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  generator.set_current_seed(HashSeed32({experiment.seed, kWeightStream}));
  std::string path;
  const Json& model = Pick("model", "model", path);
  model_ = scope_.MakeAs<Model>(model, path);
  model_->To(options_.environment.device);
  for (const NamedTensor& each : model_->Parameters()) {
    experiment.num_parameters += each.tensor.numel();
  }
  if (values_.contains("initial_weights")) {
    experiment.has_initial_weights = true;
    std::vector<NamedTensor> weights;
    try {
      weights = ReadSafetensors(values_.at("initial_weights"));
    } catch (const Error& error) {
      // A broken file of the user's stays broken, however often it is read.
      Refuse(Path("initial_weights"), error.what());
    }
    const LoadReport report =
        LoadModel(*model_, weights, experiment.load_strict);
    if (!report.fits() && options_.environment.communicator->rank() == 0) {
      options_.environment.events->Notice(
          "warning", Path("initial_weights") + ": " +
                         std::to_string(report.loaded) +
                         " tensors were taken; " + report.Text());
    }
  }

  Trainer::Parts parts;
  parts.model = model_;
  parts.seed = experiment.seed;
  parts.sync = ddp_.sync;
  parts.sync.power_sgd.seed = HashSeed({experiment.seed, kCompressionStream});
  parts.load_strict = experiment.load_strict;
  counts_batches_ = trainer.component->name == "IterationTrainer";
  parts.plan = ReadLoopPlan(trainer_params, counts_batches_);
  parts.loss_mean = trainer_values_.at("loss_mean") == "batches"
                        ? Meter::Weighting::kBatches
                        : Meter::Weighting::kSamples;
  MakeSources(experiment.task, parts);
  if (values_.contains("preprocessor")) {
    parts.preprocessor = scope_.MakeAs<Preprocessor>(values_.at("preprocessor"),
                                                     Path("preprocessor"));
  }
  parts.criterion = MakeCriterion("training_criterion", "loss");
  parts.val_criterion = MakeCriterion("validation_criterion", "val_loss");
  if (values_.contains("loss_balancer")) {
    parts.criterion.SetBalancer(scope_.MakeAs<LossBalancer>(
        values_.at("loss_balancer"), Path("loss_balancer")));
  }
  if (parts.val_criterion.empty()) parts.val_criterion = parts.criterion;
  for (auto& metric : scope_.MakeList(typeid(Metric), values_.at("metrics"),
                                      Path("metrics"))) {
    parts.metrics.push_back(
        std::static_pointer_cast<Metric>(std::move(metric)));
  }
  std::vector<std::shared_ptr<Hook>> training_hooks;
  std::vector<std::shared_ptr<Hook>> validation_hooks;
  std::vector<std::shared_ptr<Hook>> prediction_hooks;
  parts.training_runner = experiment.task == "train"
                              ? MakeRunner(training_hooks)
                              : std::make_shared<IdleRunner>();
  Json validation = Pick("validation_epoch_runner", "validation_runner", path);
  if (validation.is_null()) {
    validation = {{"type", experiment.task == "benchmark"
                               ? "BenchmarkRunner"
                               : "ValidationRunner"}};
  }
  parts.validation_runner = MakePassRunner<ValidationRunner>(
      "validation_runner", validation, path, validation_hooks);
  parts.prediction_runner = MakePassRunner<PredictionRunner>(
      "prediction_runner", values_.at("prediction_runner"),
      Path("prediction_runner"), prediction_hooks);
  if (first_sample_) {
    const c10::Device device = options_.environment.device;
    const AutocastGuard autocast(parts.validation_runner->precision(),
                                 device.type());
    model_->CheckSample([&] {
      const Batch sample = first_sample_();
      return parts.preprocessor
                 ? parts.preprocessor->Receive(sample, device, {})
                 : sample.To(device);
    });
  }
  if (parts.criterion.balancer() && !parts.training_runner->needs_criterion()) {
    Refuse(Path("loss_balancer"),
           "this runner has losses of its own; a TrainingRunner is accepted");
  }
  ScaleRatesOf(parts);
  parts.monitor = MakeMonitor(parts);
  scope_.SetDirection([monitor = parts.monitor,
                       metrics = parts.metrics](const std::string& score) {
    return score.empty() || score == monitor.metric
               ? monitor.higher_is_better
               : IsBetterHigher(score, metrics);
  });
  if (experiment.task == "train") parts.schedules = MakeSchedules();

  experiment.trainer =
      std::make_unique<Trainer>(std::move(parts), options_.environment);
  for (const auto& [pass, hooks] : {std::pair("train", &training_hooks),
                                    std::pair("val", &validation_hooks),
                                    std::pair("predict", &prediction_hooks)}) {
    for (const auto& hook : *hooks) experiment.trainer->AddHook(hook, pass);
  }
  AddHooks(*experiment.trainer);
  return experiment;
}

}  // namespace

Experiment BuildExperiment(const Registry& registry, const Json& experiment,
                           ExperimentOptions options) {
  const catalogue::Validated checked = catalogue::Validate(
      registry.catalogue(), experiment,
      {.root = options.root,
       .max_replicas = options.environment.communicator->world_size()});
  if (!checked.violations.empty()) {
    std::string message;
    for (const catalogue::Violation& violation : checked.violations) {
      if (!message.empty()) message += '\n';
      message += violation.field + ": " + violation.description;
    }
    throw Error(ErrorKind::kBadSpec, message);
  }
  return Builder(registry, experiment, std::move(options)).Build();
}

}  // namespace epochd::engine
