// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/declarations.h"

#include <string>
#include <utility>
#include <vector>

namespace epochd::engine::scheduler_declarations {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;
using catalogue::Rule;
using Check = catalogue::Rule::Check;

Component Describe(const std::string& name, std::vector<std::string> aliases,
                   const std::string& help, std::vector<Parameter> parameters,
                   std::vector<Rule> rules = {}) {
  return {.kind = "scheduler",
          .name = name,
          .aliases = std::move(aliases),
          .help = help,
          .parameters = std::move(parameters),
          .rules = std::move(rules)};
}

Parameter Units(const std::string& name, const std::string& help,
                Json value = nullptr) {
  return {.name = name,
          .type = "int",
          .default_value = std::move(value),
          .min = 1,
          .help = help};
}

Parameter Required(Parameter parameter) {
  parameter.required = true;
  parameter.default_value = nullptr;
  return parameter;
}

Parameter Aliased(Parameter parameter, std::vector<std::string> aliases) {
  parameter.aliases = std::move(aliases);
  return parameter;
}

Parameter Number(const std::string& name, Json value, const std::string& help) {
  return {.name = name,
          .type = "float",
          .default_value = std::move(value),
          .min = 0,
          .help = help};
}

// From above 0 to 1.
Parameter Share(const std::string& name, Json value, const std::string& help) {
  Parameter parameter = Number(name, std::move(value), help);
  parameter.max = 1;
  parameter.exclusive_min = true;
  return parameter;
}

Parameter Choice(const std::string& name, const std::string& value,
                 std::vector<std::string> choices, const std::string& help) {
  return {.name = name,
          .type = "string",
          .default_value = value.empty() ? Json(nullptr) : Json(value),
          .choices = std::move(choices),
          .help = help};
}

Parameter Flag(const std::string& name, Json value, const std::string& help) {
  return {.name = name,
          .type = "bool",
          .default_value = std::move(value),
          .help = help};
}

Parameter Gamma() {
  return Aliased(Number("gamma", 0.1, "factor of the value"), {"lr_gamma"});
}

Parameter WhoseRule() {
  return Choice("rule", "", {"torch", "mmengine"},
                "without total_iters: torch's 5, or MMEngine's window less "
                "one; MMEngine's where there is an end");
}

// MMEngine's window says how long it is.
const Rule kNoTotal{.check = Check::kAbsent,
                    .of = {"total_iters"},
                    .when = {{"rule", {"mmengine"}}}};
const Rule kOneLeast{.check = Check::kAtMostOne,
                     .of = {"eta_min", "eta_min_ratio"}};

// Its parts have windows of their own.
std::vector<Rule> NoWindow() {
  return {{.check = Check::kIs, .of = {"begin"}, .values = {0}},
          {.check = Check::kAbsent, .of = {"end"}}};
}

// The learning rate is what it changes first.
const Rule kOfLr{.check = Check::kIs, .of = {"setting"}, .values = {"lr"}};

std::vector<Parameter> Least() {
  return {Number("eta_min", nullptr, "smallest value"),
          Number("eta_min_ratio", nullptr,
                 "instead of eta_min: its share of the initial value")};
}

// The momentum of cycles.
std::vector<Parameter> CycleMomentum(double base, double max) {
  return {Flag("cycle_momentum", nullptr,
               "whether the momentum goes the other way; where there is one by "
               "default"),
          Number("base_momentum", base, "smallest momentum"),
          Number("max_momentum", max, "greatest momentum")};
}

std::vector<Parameter> Joined(std::vector<Parameter> first,
                              std::vector<Parameter> second) {
  for (Parameter& each : second) first.push_back(std::move(each));
  return first;
}

Parameter Milestones(const std::string& help) {
  return {.name = "milestones",
          .type = "list<int>",
          .required = true,
          .min = 0,
          .help = help};
}

Parameter Schedulers() {
  return {.name = "schedulers",
          .type = "list<component<scheduler>>",
          .required = true,
          .min_items = 1,
          .help = "the parts"};
}

}  // namespace

Component StepComponent() {
  return Describe(
      "Step", {"StepLR", "step", "StepParamScheduler"},
      "times gamma every step_size units",
      {Aliased(Required(Units("step_size", "units between two changes")),
               {"lr_step_size"}),
       Gamma()});
}

Component MultiStepComponent() {
  return Describe("MultiStep",
                  {"MultiStepLR", "multi_step", "MultiStepParamScheduler"},
                  "times gamma at each milestone",
                  {Milestones("units of the changes"), Gamma()});
}

Component ExponentialComponent() {
  return Describe("Exponential",
                  {"ExponentialLR", "exponential", "ExponentialParamScheduler"},
                  "times gamma every unit", {Required(Gamma())});
}

Component ConstantComponent() {
  return Describe("Constant",
                  {"ConstantLR", "constant", "ConstantParamScheduler"},
                  "times factor for the first total_iters units",
                  {Share("factor", 1.0 / 3.0, "factor of the value"),
                   Units("total_iters", "units with the factor"), WhoseRule()},
                  {kNoTotal});
}

Component LinearComponent() {
  Parameter start =
      Number("start_factor", 1.0 / 3.0, "factor of the initial value at first");
  start.max = 1;
  Parameter end = Number("end_factor", 1.0, "factor at the end");
  end.max = 1;
  return Describe(
      "Linear", {"LinearLR", "linear", "LinearParamScheduler"},
      "from one factor of the value to another in total_iters "
      "units, by a straight line",
      {start, end, Units("total_iters", "units of the way"), WhoseRule()},
      {kNoTotal});
}

Component CosineAnnealingComponent() {
  return Describe(
      "CosineAnnealing",
      {"CosineAnnealingLR", "cosine", "CosineAnnealingParamScheduler"},
      "half a cosine from the initial value to the smallest in t_max units, "
      "then back",
      Joined({Aliased(Units("t_max",
                            "units from the greatest to the smallest; the "
                            "window's length by default"),
                      {"T_max"})},
             Least()),
      {kOneLeast});
}

Component PolyComponent() {
  return Describe(
      "Poly", {"PolyLR", "PolynomialLR", "poly", "PolyParamScheduler"},
      "down by a power of the time that is left",
      {Number("power", 1.0, "exponent"),
       Number("eta_min", 0.0, "smallest value; MMEngine's rule only"),
       Units("total_iters", "units of the way; torch's rule only"),
       WhoseRule()},
      {kNoTotal});
}

Component CosineRestartComponent() {
  return Describe(
      "CosineRestart", {"CosineRestartLR", "CosineRestartParamScheduler"},
      "half a cosine in each period, from a part of the initial value on",
      Joined({{.name = "periods",
               .type = "list<int>",
               .required = true,
               .min = 1,
               .help = "lengths of the periods"},
              {.name = "restart_weights",
               .type = "list<float>",
               .default_value = Json::array({1.0}),
               .min = 0,
               .help = "part of the initial value that each begins with"}},
             Least()),
      {{.check = Check::kSameLength, .of = {"restart_weights", "periods"}},
       kOneLeast});
}

Component WarmRestartsComponent() {
  return Describe(
      "CosineAnnealingWarmRestarts", {"cosine_warm_restarts"},
      "half a cosine from the initial value down, again and again",
      {Aliased(Required(Units("t_0", "units of the first period")), {"T_0"}),
       Aliased(Units("t_mult", "how much longer each period is", 1),
               {"T_mult"}),
       Number("eta_min", 0.0, "smallest value")});
}

Component OneCycleComponent() {
  Parameter max_lr{.name = "max_lr",
                   .type = "list<float>",
                   .min = 0,
                   .scalar_ok = true,
                   .min_items = 1,
                   .help = "greatest rate, of all groups or of each"};
  Parameter eta_max = Number("eta_max", nullptr,
                             "MMEngine's spelling of max_lr, by which the "
                             "momentum stays as it is");
  Parameter factor = Number("div_factor", 25.0, "max_lr / first rate");
  factor.exclusive_min = true;
  Parameter last = Number("final_div_factor", 1e4, "first rate / last rate");
  last.exclusive_min = true;
  return Describe(
      "OneCycle",
      {"OneCycleLR", "one_cycle", "onecycle", "OneCycleParamScheduler"},
      "up to max_lr, then far down, the momentum the other way",
      Joined({max_lr, eta_max,
              Units("total_steps",
                    "units of the cycle; the window's length by default"),
              Units("epochs", "with steps_per_epoch: instead of total_steps"),
              Units("steps_per_epoch", "units of an epoch"),
              Share("pct_start", 0.3, "share of the units that rise"),
              Choice("anneal_strategy", "cos", {"cos", "linear"},
                     "by half cosines or straight lines"),
              factor, last,
              Flag("three_phase", false,
                   "falls as long as it rose, then further")},
             CycleMomentum(0.85, 0.95)),
      {kOfLr,
       {.check = Check::kOneOf, .of = {"max_lr", "eta_max"}},
       {.check = Check::kTogether, .of = {"epochs", "steps_per_epoch"}},
       {.check = Check::kAtMostOne, .of = {"total_steps", "epochs"}}});
}

Component CyclicComponent() {
  return Describe(
      "Cyclic", {"CyclicLR", "cyclic"},
      "up and down between two rates again and again",
      Joined({Required(Number("base_lr", nullptr, "smallest rate")),
              Required(Number("max_lr", nullptr, "greatest rate")),
              Units("step_size_up", "units of a rise", 2000),
              Units("step_size_down", "units of a fall; as many by default"),
              Choice("mode", "triangular",
                     {"triangular", "triangular2", "exp_range"},
                     "whether cycles keep their height, halve it, or shrink by "
                     "gamma with each unit"),
              Number("gamma", 1.0, "of exp_range")},
             CycleMomentum(0.8, 0.9)),
      {kOfLr});
}

Component PiecewiseComponent() {
  Parameter milestones = Milestones("units at which values begin, ascending");
  milestones.min_items = 1;
  milestones.order = Parameter::Order::kRising;
  return Describe(
      "Piecewise", {"PiecewiseLinear", "piecewise"},
      "values by table: from each milestone on",
      {milestones,
       {.name = "values",
        .type = "list<float>",
        .min = 0,
        .help = "as many; of the first group, others keep their proportion"},
       {.name = "factors",
        .type = "list<float>",
        .min = 0,
        .help = "instead of values: factors of the initial values"},
       Choice("interpolation", "hold", {"hold", "linear"},
              "whether a value is kept to the next milestone or approaches "
              "the next value")},
      {{.check = Check::kOneOf, .of = {"values", "factors"}},
       {.check = Check::kSameLength, .of = {"values", "milestones"}},
       {.check = Check::kSameLength, .of = {"factors", "milestones"}}});
}

Component SwaComponent() {
  Parameter length = Units("anneal_epochs", "units of the way", 10);
  length.min = 0;
  return Describe(
      "SWALR", {"swa"},
      "from the present rate to a fixed one for weight averaging",
      {Required(Number("swa_lr", nullptr, "the fixed rate")), length,
       Choice("anneal_strategy", "cos", {"cos", "linear"},
              "by half a cosine or a straight line")});
}

Component PlateauComponent() {
  Parameter factor = Number("factor", 0.1, "factor of the value");
  factor.max = 1;
  factor.exclusive_max = true;
  return Describe(
      "ReduceOnPlateau",
      {"ReduceLROnPlateau", "ReduceOnPlateauLR", "plateau",
       "ReduceOnPlateauParamScheduler"},
      "lowers the value when a metric stops improving",
      {Parameter{.name = "monitor",
                 .type = "score",
                 .help = "the metric, such as val/loss; the one the run is "
                         "monitored by if absent"},
       Flag("strict", true,
            "whether a metric that is not measured is an error; otherwise a "
            "warning, and the value stays"),
       Parameter{.name = "mode",
                 .type = "string",
                 .choices = {"min", "max", "less", "greater"},
                 .aliases = {"rule"},
                 .help = "whether a smaller or a greater value is better; as "
                         "the metric says by default"},
       factor,
       Parameter{.name = "patience",
                 .type = "int",
                 .default_value = 10,
                 .min = 0,
                 .help = "epochs without improvement that are let pass"},
       Number("threshold", 1e-4, "least improvement that counts"),
       Aliased(Choice("threshold_mode", "rel", {"rel", "abs"},
                      "whether the threshold is a share of the best or "
                      "absolute"),
               {"threshold_rule"}),
       Parameter{.name = "cooldown",
                 .type = "int",
                 .default_value = 0,
                 .min = 0,
                 .help = "epochs after a change in which bad ones do not "
                         "count"},
       Aliased(Number("min_lr", 0.0, "smallest value"),
               {"min_value", "min_momentum"}),
       Number("eps", 1e-8, "smaller changes are not made")},
      // It looks at scores of epochs.
      {{.check = Check::kIs, .of = {"by"}, .values = {"epoch"}},
       {.check = Check::kIs, .of = {"by_epoch"}, .values = {true}},
       {.check = Check::kIs,
        .of = {"convert_to_iter_based"},
        .values = {false}}});
}

Component WarmupComponent() {
  return Describe(
      "Warmup", {"warmup", "warm_up"},
      "rises to the initial value, then follows another scheduler",
      {Required(Units("length", "units of the rise")),
       Choice("mode", "linear", {"linear", "constant"},
              "by a straight line, or at start_factor all the while"),
       Number("start_factor", 1.0 / 3.0, "factor of the initial value"),
       {.name = "after",
        .type = "component<scheduler>",
        .help = "what follows; the initial value by default"},
       Flag("prefix", true,
            "whether `after` begins to count when the rise ends, rather than "
            "from the start on, times the rise")},
      NoWindow());
}

Component SequentialComponent() {
  Parameter milestones =
      Milestones("units at which the second and later begin");
  milestones.order = Parameter::Order::kNotFalling;
  std::vector<Rule> rules = NoWindow();
  rules.push_back(
      {.check = Check::kOneShorter, .of = {"milestones", "schedulers"}});
  return Describe("Sequential", {"SequentialLR"},
                  "schedulers one after another, each from the initial value "
                  "on",
                  {Schedulers(), milestones}, rules);
}

Component ChainedComponent() {
  return Describe("Chained", {"ChainedScheduler"},
                  "schedulers at once: their factors multiply", {Schedulers()},
                  NoWindow());
}

}  // namespace epochd::engine::scheduler_declarations
