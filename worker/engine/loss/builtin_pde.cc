// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/builtin_pde.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/point_fields.h"
#include "worker/engine/expression/expression_parameters.h"
#include "worker/engine/loss/declarations.h"
#include "worker/engine/loss/pde_residual.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;

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
  options.weight = params.Float("weight");
  options.causal.epsilon = params.Float("causal_epsilon");
  options.causal.slices = params.Int("causal_slices");
  options.causal.coordinate = params.String("causal_coordinate");
  const std::vector<double> range = params.Floats("causal_range");
  if (range.size() != 2) {
    params.Fail("causal_range", std::to_string(range.size()) +
                                    " numbers; begin and end are accepted");
  }
  options.causal.from = range[0];
  options.causal.to = range[1];
  try {
    return std::make_shared<PdeResidual>(std::move(options));
  } catch (const Error& error) {
    throw Error(error.kind(), params.path() + ": " + error.what());
  }
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
                .type = "string",
                .required = true,
                .help = "over coordinates, unknowns and their derivatives: "
                        "`u_t + u*u_x - nu*u_xx`"},
               {.name = "unknowns",
                .type = "list<string>",
                .default_value = Json::array({"u"}),
                .scalar_ok = true,
                .help = "names of the output's columns"}},
              Json::array({"t", "x"}), "residual")};
}

std::shared_ptr<Loss> BuildResidual(const Params& params) {
  return Build(params, params.String("expression"), params.Strings("unknowns"));
}

// ---- The usual ones ---------------------------------------------------------

Parameter Coefficient(const std::string& name, const std::string& help) {
  return {.name = name, .type = "any", .default_value = 1.0, .help = help};
}

Parameter Source() {
  return {.name = "source",
          .type = "any",
          .default_value = "0",
          .help = "the right side, an expression over the coordinates and u"};
}

std::string SourceOf(const Params& params) {
  const std::vector<std::string> source = ReadExpressions(params, "source");
  if (source.size() != 1) params.Fail("source", "one expression is accepted");
  // Parsed alone first: "1) * (2" shall not reach into the whole.
  try {
    static_cast<void>(
        Expression::Parse(source[0], ReadConstants(params, "parameters")));
  } catch (const Error& error) {
    params.Fail("source", error.what());
  }
  return source[0] == "0" ? "" : " - (" + source[0] + ")";
}

// Coordinates without the first, which is time, when `has_time`.
std::vector<std::string> Space(const Params& params, bool has_time) {
  std::vector<std::string> space = params.Strings("coordinates");
  if (space.size() < (has_time ? 2u : 1u)) {
    params.Fail("coordinates", has_time ? "time and one or more axes are needed"
                                        : "one or more axes are needed");
  }
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
  const std::vector<std::string> space = Space(params, true);
  if (space.size() != 1) {
    params.Fail("coordinates", "time and one axis are accepted");
  }
  const std::string& x = space[0];
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
  if (velocity.size() != space.size()) {
    params.Fail("velocity", std::to_string(velocity.size()) + " values for " +
                                std::to_string(space.size()) +
                                " axes; one for each is accepted");
  }
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

Component Named(const std::string& name, std::vector<std::string> aliases,
                const std::string& help, std::vector<Parameter> parameters,
                const Json& coordinates, const std::string& metric) {
  parameters.push_back(Source());
  return {.kind = "loss",
          .name = name,
          .aliases = std::move(aliases),
          .help = help,
          .parameters = WithPoints(std::move(parameters), coordinates, metric)};
}

}  // namespace

std::vector<Entry<Loss>> BuiltinPdeLosses() {
  const Json time_and_space = Json::array({"t", "x"});
  Parameter velocity =
      Coefficient("velocity", "a number or an expression for each axis");
  return {
      {ResidualComponent(), &BuildResidual},
      {Named("BurgersResidual", {"burgers_1d"},
             "u_t + u u_x = viscosity u_xx + source, along one axis",
             {Coefficient("viscosity", "a number, or text such as `0.01/pi`")},
             time_and_space, "burgers"),
       &BuildBurgers},
      {Named("HeatResidual", {"DiffusionResidual"},
             "u_t = diffusivity (u_xx + ...) + source, along any axes behind "
             "time",
             {Coefficient("diffusivity", "a number, or text")}, time_and_space,
             "heat"),
       &BuildHeat},
      {Named("PoissonResidual", {}, "u_xx + u_yy + ... = source, any axes", {},
             Json::array({"x", "y"}), "poisson"),
       &BuildPoisson},
      {Named("AdvectionResidual", {"TransportResidual"},
             "u_t + velocity u_x + ... = source, along any axes behind time",
             {std::move(velocity)}, time_and_space, "advection"),
       &BuildAdvection},
      {Named("WaveResidual", {},
             "u_tt = speed^2 (u_xx + ...) + source, along any axes behind time",
             {Coefficient("speed", "a number, or text")}, time_and_space,
             "wave"),
       &BuildWave},
  };
}

}  // namespace epochd::engine
