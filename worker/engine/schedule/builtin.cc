// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/builtin.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "worker/engine/schedule/annealing.h"
#include "worker/engine/schedule/cyclic.h"
#include "worker/engine/schedule/declarations.h"
#include "worker/engine/schedule/multiplicative.h"
#include "worker/engine/schedule/one_cycle.h"
#include "worker/engine/schedule/options.h"
#include "worker/engine/schedule/piecewise.h"
#include "worker/engine/schedule/plateau.h"
#include "worker/engine/schedule/restart.h"
#include "worker/engine/schedule/sequence.h"
#include "worker/engine/schedule/swa.h"

namespace epochd::engine {
namespace {

using Made = std::shared_ptr<Scheduler>;

// Units of torch's rule, or nothing: MMEngine's.
std::optional<int64_t> ReadTotal(const Params& params,
                                 const ScheduleOptions& options) {
  constexpr int64_t kTorchDefault = 5;
  if (params.Has("total_iters")) {
    return params.Int("total_iters");
  }
  const std::string rule = params.Has("rule")        ? params.String("rule")
                           : options.end.has_value() ? "mmengine"
                                                     : "torch";
  if (rule == "mmengine") return std::nullopt;
  return kTorchDefault;
}

CosineAnnealingScheduler::Least ReadLeast(const Params& params) {
  CosineAnnealingScheduler::Least least;
  if (params.Has("eta_min")) least.value = params.Float("eta_min");
  least.ratio = params.OptionalFloat("eta_min_ratio");
  return least;
}

std::optional<bool> OptionalFlag(const Params& params,
                                 const std::string& name) {
  if (!params.Has(name)) return std::nullopt;
  return params.Bool(name);
}

template <Setting setting>
Made MakeStep(const Params& params) {
  return std::make_shared<StepScheduler>(params.Int("step_size"),
                                         params.Float("gamma"),
                                         ReadScheduleOptions(params, setting));
}

template <Setting setting>
Made MakeMultiStep(const Params& params) {
  return std::make_shared<MultiStepScheduler>(
      params.Ints("milestones"), params.Float("gamma"),
      ReadScheduleOptions(params, setting));
}

template <Setting setting>
Made MakeExponential(const Params& params) {
  return std::make_shared<ExponentialScheduler>(
      params.Float("gamma"), ReadScheduleOptions(params, setting));
}

template <Setting setting>
Made MakeConstant(const Params& params) {
  const ScheduleOptions options = ReadScheduleOptions(params, setting);
  return std::make_shared<ConstantScheduler>(
      params.Float("factor"), ReadTotal(params, options), options);
}

template <Setting setting>
Made MakeLinear(const Params& params) {
  const ScheduleOptions options = ReadScheduleOptions(params, setting);
  return std::make_shared<LinearScheduler>(
      LinearScheduler::Ramp{.start_factor = params.Float("start_factor"),
                            .end_factor = params.Float("end_factor"),
                            .total = ReadTotal(params, options)},
      options);
}

template <Setting setting>
Made MakeCosineAnnealing(const Params& params) {
  return std::make_shared<CosineAnnealingScheduler>(
      params.OptionalInt("t_max"), ReadLeast(params),
      ReadScheduleOptions(params, setting));
}

template <Setting setting>
Made MakePoly(const Params& params) {
  const ScheduleOptions options = ReadScheduleOptions(params, setting);
  PolyScheduler::Curve curve{.power = params.Float("power"),
                             .eta_min = params.Float("eta_min"),
                             .total = ReadTotal(params, options)};
  if (curve.total.has_value() && curve.eta_min != 0.0) {
    params.Fail("eta_min",
                "torch's rule goes to 0; rule: mmengine is accepted with it");
  }
  return std::make_shared<PolyScheduler>(curve, options);
}

template <Setting setting>
Made MakeCosineRestart(const Params& params) {
  std::vector<int64_t> periods = params.Ints("periods");
  std::vector<double> weights = params.Floats("restart_weights");
  return std::make_shared<CosineRestartScheduler>(
      std::move(periods), std::move(weights), ReadLeast(params),
      ReadScheduleOptions(params, setting));
}

template <Setting setting>
Made MakeWarmRestarts(const Params& params) {
  return std::make_shared<WarmRestartsScheduler>(
      params.Int("t_0"), params.Int("t_mult"), params.Float("eta_min"),
      ReadScheduleOptions(params, setting));
}

template <Setting setting>
Made MakePiecewise(const Params& params) {
  PiecewiseScheduler::Table table;
  table.milestones = params.Ints("milestones");
  table.are_factors = params.Has("factors");
  table.values = params.Floats(table.are_factors ? "factors" : "values");
  table.is_linear = params.String("interpolation") == "linear";
  return std::make_shared<PiecewiseScheduler>(
      std::move(table), ReadScheduleOptions(params, setting));
}

template <Setting setting>
Made MakePlateau(const Params& params) {
  const ScheduleOptions schedule = ReadScheduleOptions(params, setting);
  PlateauScheduler::Options options;
  options.setting = schedule.setting;
  options.begin = schedule.begin;
  options.end = schedule.end;
  options.monitor = params.OptionalString("monitor").value_or("");
  options.is_strict = params.Bool("strict");
  const std::string mode = params.OptionalString("mode").value_or("");
  options.maximize = mode.empty() ? params.IsBetterHigher(options.monitor)
                                  : mode == "max" || mode == "greater";
  options.factor = params.Float("factor");
  options.patience = params.Int("patience");
  options.threshold = params.Float("threshold");
  options.absolute_threshold = params.String("threshold_mode") == "abs";
  options.cooldown = params.Int("cooldown");
  options.least = params.Float("min_lr");
  options.eps = params.Float("eps");
  return std::make_shared<PlateauScheduler>(options);
}

Made MakeOneCycle(const Params& params) {
  const ScheduleOptions options = ReadScheduleOptions(params, Setting::kLr);
  OneCycleScheduler::Cycle cycle;
  cycle.max_lr = params.Floats(params.Has("max_lr") ? "max_lr" : "eta_max");
  cycle.total = params.OptionalInt("total_steps");
  if (params.Has("epochs")) {
    cycle.total = params.Int("epochs") * params.Int("steps_per_epoch");
  }
  cycle.pct_start = params.Float("pct_start");
  cycle.is_linear = params.String("anneal_strategy") == "linear";
  cycle.cycle_momentum = OptionalFlag(params, "cycle_momentum");
  if (params.Has("eta_max") && !cycle.cycle_momentum.has_value()) {
    cycle.cycle_momentum = false;
  }
  cycle.base_momentum = params.Float("base_momentum");
  cycle.max_momentum = params.Float("max_momentum");
  cycle.div_factor = params.Float("div_factor");
  cycle.final_div_factor = params.Float("final_div_factor");
  cycle.three_phase = params.Bool("three_phase");
  return std::make_shared<OneCycleScheduler>(std::move(cycle), options);
}

Made MakeCyclic(const Params& params) {
  using Mode = CyclicScheduler::Mode;
  const ScheduleOptions options = ReadScheduleOptions(params, Setting::kLr);
  const std::string mode = params.String("mode");
  CyclicScheduler::Cycle cycle;
  cycle.base_lr = params.Float("base_lr");
  cycle.max_lr = params.Float("max_lr");
  cycle.step_size_up = params.Int("step_size_up");
  cycle.step_size_down = params.OptionalInt("step_size_down");
  cycle.mode = mode == "triangular"    ? Mode::kTriangular
               : mode == "triangular2" ? Mode::kTriangular2
                                       : Mode::kExpRange;
  cycle.gamma = params.Float("gamma");
  cycle.cycle_momentum = OptionalFlag(params, "cycle_momentum");
  cycle.base_momentum = params.Float("base_momentum");
  cycle.max_momentum = params.Float("max_momentum");
  return std::make_shared<CyclicScheduler>(cycle, options);
}

Made MakeSwa(const Params& params) {
  return std::make_shared<SwaScheduler>(
      SwaScheduler::Anneal{
          .swa_lr = params.Float("swa_lr"),
          .length = params.Int("anneal_epochs"),
          .is_linear = params.String("anneal_strategy") == "linear"},
      ReadScheduleOptions(params, Setting::kLr));
}

// A part of a whole counts as the whole does.
ScheduleOptions PartOptions(const ScheduleOptions& whole) {
  return {.setting = whole.setting,
          .unit = whole.unit,
          .convert_to_batches = whole.convert_to_batches};
}

Made MakeWarmup(const Params& params) {
  const ScheduleOptions options = ReadScheduleOptions(params, Setting::kLr);
  const int64_t length = params.Int("length");
  const double factor = params.Float("start_factor");
  Made rise;
  if (params.String("mode") == "constant") {
    if (factor == 0.0) {
      params.Fail("start_factor", "0; above 0 is accepted with mode: constant");
    }
    rise = std::make_shared<ConstantScheduler>(factor, length,
                                               PartOptions(options));
  } else {
    rise = std::make_shared<LinearScheduler>(
        LinearScheduler::Ramp{.start_factor = factor, .total = length},
        PartOptions(options));
  }
  const Made after = params.Make<Scheduler>("after");
  if (after == nullptr) return rise;
  return std::make_shared<SequenceScheduler>(std::vector<Made>{rise, after},
                                             params.Bool("prefix")
                                                 ? std::vector<int64_t>{length}
                                                 : std::vector<int64_t>{},
                                             options);
}

Made MakeSequential(const Params& params) {
  const ScheduleOptions options = ReadScheduleOptions(params, Setting::kLr);
  std::vector<Made> schedulers = params.MakeList<Scheduler>("schedulers");
  std::vector<int64_t> milestones = params.Ints("milestones");
  if (milestones.size() + 1 != schedulers.size()) {
    params.Fail("milestones", "one less than schedulers (" +
                                  std::to_string(schedulers.size()) +
                                  "), are accepted");
  }
  return std::make_shared<SequenceScheduler>(std::move(schedulers),
                                             std::move(milestones), options);
}

Made MakeChained(const Params& params) {
  const ScheduleOptions options = ReadScheduleOptions(params, Setting::kLr);
  std::vector<Made> schedulers = params.MakeList<Scheduler>("schedulers");
  return std::make_shared<SequenceScheduler>(std::move(schedulers),
                                             std::vector<int64_t>{}, options);
}

// The component, and the same for the momentum under MMEngine's name.
void AddBoth(const catalogue::Component& component, Made (*lr)(const Params&),
             Made (*momentum)(const Params&),
             std::vector<Entry<Scheduler>>& entries) {
  catalogue::Component other = component;
  other.name = component.name + "Momentum";
  other.aliases.clear();
  other.help += ", of the momentum";
  entries.push_back({component, lr});
  entries.push_back({std::move(other), momentum});
}

}  // namespace

std::vector<Entry<Scheduler>> BuiltinSchedulers() {
  using namespace scheduler_declarations;
  constexpr Setting kLr = Setting::kLr;
  constexpr Setting kMomentum = Setting::kMomentum;
  std::vector<Entry<Scheduler>> entries;
  AddBoth(StepComponent(), &MakeStep<kLr>, &MakeStep<kMomentum>, entries);
  AddBoth(MultiStepComponent(), &MakeMultiStep<kLr>, &MakeMultiStep<kMomentum>,
          entries);
  AddBoth(ExponentialComponent(), &MakeExponential<kLr>,
          &MakeExponential<kMomentum>, entries);
  AddBoth(ConstantComponent(), &MakeConstant<kLr>, &MakeConstant<kMomentum>,
          entries);
  AddBoth(LinearComponent(), &MakeLinear<kLr>, &MakeLinear<kMomentum>, entries);
  AddBoth(CosineAnnealingComponent(), &MakeCosineAnnealing<kLr>,
          &MakeCosineAnnealing<kMomentum>, entries);
  AddBoth(PolyComponent(), &MakePoly<kLr>, &MakePoly<kMomentum>, entries);
  AddBoth(CosineRestartComponent(), &MakeCosineRestart<kLr>,
          &MakeCosineRestart<kMomentum>, entries);
  AddBoth(PiecewiseComponent(), &MakePiecewise<kLr>, &MakePiecewise<kMomentum>,
          entries);
  AddBoth(PlateauComponent(), &MakePlateau<kLr>, &MakePlateau<kMomentum>,
          entries);
  entries.push_back({WarmRestartsComponent(), &MakeWarmRestarts<kLr>});
  entries.push_back({OneCycleComponent(), &MakeOneCycle});
  entries.push_back({CyclicComponent(), &MakeCyclic});
  entries.push_back({SwaComponent(), &MakeSwa});
  entries.push_back({WarmupComponent(), &MakeWarmup});
  entries.push_back({SequentialComponent(), &MakeSequential});
  entries.push_back({ChainedComponent(), &MakeChained});
  for (Entry<Scheduler>& entry : entries) {
    for (catalogue::Parameter& parameter : ScheduleParameters()) {
      entry.component.parameters.push_back(std::move(parameter));
    }
    for (catalogue::Rule& rule : ScheduleRules()) {
      entry.component.rules.push_back(std::move(rule));
    }
  }
  return entries;
}

}  // namespace epochd::engine
