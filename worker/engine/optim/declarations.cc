// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/declarations.h"

#include <string>
#include <utility>
#include <vector>

namespace epochd::engine::optimizer_declarations {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;

Parameter Number(const std::string& name, double value,
                 const std::string& help) {
  return {.name = name,
          .type = "float",
          .default_value = value,
          .min = 0,
          .help = help};
}

Parameter Flag(const std::string& name, const std::string& help) {
  return {.name = name, .type = "bool", .default_value = false, .help = help};
}

Parameter Rate(double value) {
  Parameter parameter = Number("lr", value, "learning rate");
  parameter.aliases = {"learning_rate"};
  return parameter;
}

Parameter Betas(double second, const std::string& help) {
  return {.name = "betas",
          .type = "list<float>",
          .default_value = Json::array({0.9, second}),
          .min = 0,
          .max = 1,
          .exclusive_max = true,
          .min_items = 2,
          .max_items = 2,
          .help = help};
}

Parameter AdamBetas() {
  return Betas(0.999, "decay of the means of gradient and squared gradient");
}

Parameter Eps(double value = 1e-8) {
  return Number("eps", value, "added to the denominator");
}

Parameter Decay(double value = 0.0) {
  return Number("weight_decay", value, "decay of weights");
}

Parameter Maximize() { return Flag("maximize", "go up instead of down"); }

// torch's switches between ways to compute the same; there is one here.
std::vector<Parameter> Ignored() {
  std::vector<Parameter> parameters;
  for (const char* name :
       {"foreach", "fused", "capturable", "differentiable"}) {
    parameters.push_back({.name = name,
                          .type = "bool",
                          .help = "accepted and not used: kernels are fused "
                                  "where there are such"});
  }
  return parameters;
}

Parameter Decoupled() {
  return Flag("decoupled_weight_decay",
              "decay shrinks the weights themselves, as AdamW's");
}

Component Describe(const std::string& name, std::vector<std::string> aliases,
                   const std::string& help, std::vector<Parameter> parameters) {
  for (Parameter& each : Ignored()) parameters.push_back(std::move(each));
  return {.kind = "optimizer",
          .name = name,
          .aliases = std::move(aliases),
          .help = help,
          .parameters = std::move(parameters)};
}

}  // namespace

Component SgdComponent() {
  Component component = Describe(
      "SGD", {"sgd"}, "stochastic gradient descent",
      {Rate(1e-3), Number("momentum", 0.0, "share of the last step"),
       Number("dampening", 0.0, "share of the gradient left out"), Decay(),
       Flag("nesterov", "look ahead; needs momentum, no dampening"),
       Maximize()});
  using Check = catalogue::Rule::Check;
  component.rules = {{.check = Check::kIs,
                      .of = {"nesterov"},
                      .values = {false},
                      .when = {{"momentum", {0}}}},
                     {.check = Check::kIs,
                      .of = {"dampening"},
                      .values = {0},
                      .when = {{"nesterov", {true}}}}};
  return component;
}

Component AdamComponent() {
  return Describe("Adam", {"adam"}, "Adam; decay is added to the gradient",
                  {Rate(1e-3), AdamBetas(), Eps(), Decay(),
                   Flag("amsgrad", "divide by the greatest mean so far"),
                   Decoupled(), Maximize()});
}

Component AdamwComponent() {
  return Describe(
      "AdamW", {"adamw"}, "Adam whose decay shrinks the weights themselves",
      {Rate(1e-3), AdamBetas(), Eps(), Decay(1e-2),
       Flag("amsgrad", "divide by the greatest mean so far"), Maximize()});
}

Component AdagradComponent() {
  return Describe(
      "Adagrad", {"adagrad"}, "steps shrink by the sum of squared gradients",
      {Rate(1e-2), Number("lr_decay", 0.0, "shrinks the rate with each step"),
       Decay(),
       Number("initial_accumulator_value", 0.0, "sum before the first step"),
       Eps(1e-10), Maximize()});
}

Component RmspropComponent() {
  return Describe(
      "RMSprop", {"rmsprop"}, "divides by the root of the mean square",
      {Rate(1e-2), Number("alpha", 0.99, "decay of the mean square"), Eps(),
       Decay(), Number("momentum", 0.0, "share of the last step"),
       Flag("centered", "divide by the deviation instead"), Maximize()});
}

Component NadamComponent() {
  return Describe("NAdam", {"nadam"}, "Adam with Nesterov's look ahead",
                  {Rate(2e-3), AdamBetas(), Eps(), Decay(),
                   Number("momentum_decay", 4e-3, "of the momentum"),
                   Decoupled(), Maximize()});
}

Component RadamComponent() {
  return Describe(
      "RAdam", {"radam"},
      "Adam that steps by the mean gradient alone until the "
      "variance is known",
      {Rate(1e-3), AdamBetas(), Eps(), Decay(), Decoupled(), Maximize()});
}

Component AdamaxComponent() {
  return Describe("Adamax", {"adamax"}, "Adam by the greatest gradient",
                  {Rate(2e-3), AdamBetas(), Eps(), Decay(), Maximize()});
}

Component LionComponent() {
  return Describe(
      "Lion", {"lion"}, "steps by the sign of a mean of momentum and gradient",
      {Rate(1e-4),
       Betas(0.99, "share of the momentum in the step, and its decay"), Decay(),
       Maximize()});
}

Component LbfgsComponent() {
  Component component{
      .kind = "optimizer",
      .name = "LBFGS",
      .aliases = {"lbfgs"},
      .help =
          "limited-memory BFGS; evaluates the loss several times a step, on "
          "one device only",
      .max_replicas = 1};
  component.parameters = {
      Rate(1.0),
      {.name = "max_iter",
       .type = "int",
       .default_value = 20,
       .min = 1,
       .help = "most iterations of a step"},
      {.name = "max_eval",
       .type = "int",
       .min = 1,
       .help = "most evaluations of a step; 5/4 of max_iter by default"},
      Number("tolerance_grad", 1e-7, "ends the step below this gradient"),
      Number("tolerance_change", 1e-9, "ends the step below this change"),
      {.name = "history_size",
       .type = "int",
       .default_value = 100,
       .min = 1,
       .help = "steps that are remembered"},
      {.name = "line_search_fn",
       .type = "string",
       .choices = {"strong_wolfe"},
       .help = "how far to go; by lr alone without"}};
  return component;
}

}  // namespace epochd::engine::optimizer_declarations
