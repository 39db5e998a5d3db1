// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/builtin_pde.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "worker/engine/core/point_fields.h"
#include "worker/engine/expression/expression_parameters.h"
#include "worker/engine/loss/declarations.h"
#include "worker/engine/loss/pde_residual.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;
using catalogue::Rule;

// Text that parses to the same number.
std::string Number(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "(%.17g)", value);
  return text;
}

std::vector<Parameter> WithPoints(std::vector<Parameter> own,
                                  const Json& coordinates,
                                  const std::string& name) {
  std::vector<Parameter> parameters = std::move(own);
  const std::vector<Parameter> common = {
      {.name = "points",
       .type = "string",
       .default_value = "interior",
       .help = "field with the points; the model's `differentiable` names it"},
      {.name = "output",
       .type = "string",
       .help = "field with the model's values there; `<points>_output` by "
               "default, `output` for `input`"},
      {.name = "coordinates",
       .type = "list<string>",
       .default_value = coordinates,
       .scalar_ok = true,
       .min_items = 1,
       .help = "names of the points' columns"},
      ConstantsParameter(),
      {.name = "causal_epsilon",
       .type = "float",
       .default_value = 0.0,
       .min = 0,
       .help = "above 0: a slice of time counts once those before it are "
               "solved, by exp(-epsilon * their losses)"},
      {.name = "causal_slices",
       .type = "int",
       .default_value = 16,
       .min = 2,
       .max = 65536,
       .help = "slices of time"},
      {.name = "causal_range",
       .type = "list<float>",
       .default_value = Json::array({0.0, 1.0}),
       .min_items = 2,
       .max_items = 2,
       .order = Parameter::Order::kRising,
       .help = "begin and end of time"},
      {.name = "causal_coordinate",
       .type = "string",
       .default_value = "t",
       .help = "the coordinate that is time"}};
  parameters.insert(parameters.end(), common.begin(), common.end());
  for (Parameter& each : WeighingParameters()) {
    parameters.push_back(std::move(each));
  }
  return WithCommon(std::move(parameters), name);
}

std::shared_ptr<Loss> Build(const Params& params, const std::string& expression,
                            std::vector<std::string> unknowns) {
  PdeResidual::Options options;
  options.expression = expression;
  options.constants = ReadConstants(params, "parameters");
  options.unknowns = std::move(unknowns);
  options.coordinates = params.Strings("coordinates");
  options.points = params.String("points");
  options.output =
      params.OptionalString("output").value_or(OutputFieldOf(options.points));
  options.weighing = WeighingFrom(params);
  options.name = params.String("name");
  options.causal.epsilon = params.Float("causal_epsilon");
  options.causal.slices = params.Int("causal_slices");
  options.causal.coordinate = params.String("causal_coordinate");
  const std::vector<double> range = params.Floats("causal_range");
  options.causal.from = range[0];
  options.causal.to = range[1];
  return std::make_shared<PdeResidual>(std::move(options));
}

// ---- Any equation -----------------------------------------------------------

Component ResidualComponent() {
  return {.kind = "loss",
          .name = "PdeResidual",
          .aliases = {"PDEResidual", "pde_residual"},
          .help =
              "mean square of an expression that is 0 where a differential "
              "equation holds",
          .parameters = WithPoints(
              {{.name = "expression",
                .type = "expression",
                .required = true,
                .help = "over coordinates, unknowns and their derivatives: "
                        "`u_t + u*u_x - nu*u_xx`"},
               {.name = "unknowns",
                .type = "list<string>",
                .default_value = Json::array({"u"}),
                .scalar_ok = true,
                .min_items = 1,
                .help = "names of the output's columns"}},
              Json::array({"t", "x"}), "residual"),
          .rules = {
              {.check = Rule::Check::kVariables,
               .of = {"expression", "coordinates", "unknowns", "parameters"}}}};
}

std::shared_ptr<Loss> BuildResidual(const Params& params) {
  return Build(params, ReadExpressions(params, "expression").front(),
               params.Strings("unknowns"));
}

// ---- The usual ones ---------------------------------------------------------

Parameter Coefficient(const std::string& name, const std::string& help) {
  return {.name = name, .type = "constant", .default_value = 1.0, .help = help};
}

Parameter Source() {
  return {.name = "source",
          .type = "expression",
          .default_value = "0",
          .help = "the right side, an expression over the coordinates and u"};
}

// It parses alone: "1) * (2" is refused before.
std::string SourceOf(const Params& params) {
  const std::string source = ReadExpressions(params, "source").front();
  return source == "0" ? "" : " - (" + source + ")";
}

// Coordinates without the first, which is time, when `has_time`.
std::vector<std::string> Space(const Params& params, bool has_time) {
  std::vector<std::string> space = params.Strings("coordinates");
  if (has_time) space.erase(space.begin());
  return space;
}

std::string LaplacianOf(const std::vector<std::string>& space) {
  std::string sum;
  for (const std::string& axis : space) {
    sum += (sum.empty() ? "u_" : " + u_") + axis + axis;
  }
  return "(" + sum + ")";
}

std::string Time(const Params& params) {
  return params.Strings("coordinates").front();
}

std::shared_ptr<Loss> BuildBurgers(const Params& params) {
  const std::string x = Space(params, true).front();
  const double nu = ReadNumber(params, "viscosity", params.Raw("viscosity"));
  std::string expression = "u_" + Time(params) + " + u*u_" + x;
  if (nu != 0.0) expression += " - " + Number(nu) + "*u_" + x + x;
  return Build(params, expression + SourceOf(params), {"u"});
}

std::shared_ptr<Loss> BuildHeat(const Params& params) {
  const std::vector<std::string> space = Space(params, true);
  const double alpha =
      ReadNumber(params, "diffusivity", params.Raw("diffusivity"));
  return Build(params,
               "u_" + Time(params) + " - " + Number(alpha) + "*" +
                   LaplacianOf(space) + SourceOf(params),
               {"u"});
}

std::shared_ptr<Loss> BuildPoisson(const Params& params) {
  return Build(params, LaplacianOf(Space(params, false)) + SourceOf(params),
               {"u"});
}

std::shared_ptr<Loss> BuildAdvection(const Params& params) {
  const std::vector<std::string> space = Space(params, true);
  const std::vector<std::string> velocity = ReadExpressions(params, "velocity");
  std::string expression = "u_" + Time(params);
  for (size_t i = 0; i < space.size(); ++i) {
    expression += " + (" + velocity[i] + ")*u_" + space[i];
  }
  return Build(params, expression + SourceOf(params), {"u"});
}

std::shared_ptr<Loss> BuildWave(const Params& params) {
  const std::vector<std::string> space = Space(params, true);
  const double speed = ReadNumber(params, "speed", params.Raw("speed"));
  const std::string t = Time(params);
  return Build(params,
               "u_" + t + t + " - " + Number(speed * speed) + "*" +
                   LaplacianOf(space) + SourceOf(params),
               {"u"});
}

// `least` and `most`: how many coordinates there may be.
Component Named(const std::string& name, std::vector<std::string> aliases,
                const std::string& help, std::vector<Parameter> parameters,
                const Json& coordinates, const std::string& metric, int least,
                std::optional<int> most = {}) {
  parameters.push_back(Source());
  parameters = WithPoints(std::move(parameters), coordinates, metric);
  for (Parameter& each : parameters) {
    if (each.name != "coordinates") continue;
    each.min_items = least;
    each.max_items = most;
  }
  return {.kind = "loss",
          .name = name,
          .aliases = std::move(aliases),
          .help = help,
          .parameters = std::move(parameters),
          .rules = {{.check = Rule::Check::kVariables,
                     .of = {"source", "coordinates", "parameters"},
                     .values = {"u"}}}};
}

}  // namespace

std::vector<Entry<Loss>> BuiltinPdeLosses() {
  const Json time_and_space = Json::array({"t", "x"});
  Parameter velocity =
      Coefficient("velocity", "a number or an expression for each axis");
  velocity.type = "list<expression>";
  velocity.scalar_ok = true;
  Component advection =
      Named("AdvectionResidual", {"TransportResidual"},
            "u_t + velocity u_x + ... = source, along any axes behind time",
            {std::move(velocity)}, time_and_space, "advection", 2);
  advection.rules.push_back(
      {.check = Rule::Check::kOneShorter, .of = {"velocity", "coordinates"}});
  advection.rules.push_back({.check = Rule::Check::kVariables,
                             .of = {"velocity", "coordinates", "parameters"},
                             .values = {"u"}});
  return {
      {ResidualComponent(), &BuildResidual},
      {Named("BurgersResidual", {"burgers_1d"},
             "u_t + u u_x = viscosity u_xx + source, along one axis",
             {Coefficient("viscosity", "a number, or text such as `0.01/pi`")},
             time_and_space, "burgers", 2, 2),
       &BuildBurgers},
      {Named("HeatResidual", {"DiffusionResidual"},
             "u_t = diffusivity (u_xx + ...) + source, along any axes behind "
             "time",
             {Coefficient("diffusivity", "a number, or text")}, time_and_space,
             "heat", 2),
       &BuildHeat},
      {Named("PoissonResidual", {}, "u_xx + u_yy + ... = source, any axes", {},
             Json::array({"x", "y"}), "poisson", 1),
       &BuildPoisson},
      {std::move(advection), &BuildAdvection},
      {Named("WaveResidual", {},
             "u_tt = speed^2 (u_xx + ...) + source, along any axes behind time",
             {Coefficient("speed", "a number, or text")}, time_and_space,
             "wave", 2),
       &BuildWave},
  };
}

}  // namespace epochd::engine
