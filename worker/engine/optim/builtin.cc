// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/builtin.h"

#include <string>
#include <utility>

#include "worker/engine/optim/adam.h"
#include "worker/engine/optim/sgd.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
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

Parameter LearningRate() {
  Parameter parameter = Number("lr", 1e-3, "learning rate");
  parameter.aliases = {"learning_rate"};
  return parameter;
}

Component SgdComponent() {
  return {.kind = "optimizer",
          .name = "SGD",
          .aliases = {"sgd"},
          .help = "stochastic gradient descent",
          .parameters = {
              LearningRate(), Number("momentum", 0.0, "share of the last step"),
              Number("dampening", 0.0, "share of the gradient left out"),
              Number("weight_decay", 0.0, "added to the gradient per weight"),
              Flag("nesterov", "look ahead; needs momentum, no dampening"),
              Flag("maximize", "go up instead of down")}};
}

Component AdamComponent(const std::string& name, const std::string& alias,
                        double weight_decay, const std::string& help) {
  return {.kind = "optimizer",
          .name = name,
          .aliases = {alias},
          .help = help,
          .parameters = {
              LearningRate(),
              {.name = "betas",
               .type = "list<float>",
               .default_value = catalogue::Json::array({0.9, 0.999}),
               .min = 0,
               .max = 1,
               .help = "decay of the means of gradient and squared gradient"},
              Number("eps", 1e-8, "added to the denominator"),
              Number("weight_decay", weight_decay, "decay of weights"),
              Flag("amsgrad", "divide by the greatest mean so far"),
              Flag("maximize", "go up instead of down")}};
}

std::unique_ptr<Optimizer> MakeSgd(const Params& params,
                                   std::vector<NamedTensor> parameters) {
  Sgd::Options options;
  options.lr = params.Float("lr");
  options.momentum = params.Float("momentum");
  options.dampening = params.Float("dampening");
  options.weight_decay = params.Float("weight_decay");
  options.nesterov = params.Bool("nesterov");
  options.maximize = params.Bool("maximize");
  if (options.nesterov && (options.momentum <= 0 || options.dampening != 0)) {
    params.Fail("nesterov",
                "true without momentum or with dampening; a momentum above 0 "
                "and a dampening of 0 are accepted with it");
  }
  return std::make_unique<Sgd>(std::move(parameters), options);
}

template <bool decoupled>
std::unique_ptr<Optimizer> MakeAdam(const Params& params,
                                    std::vector<NamedTensor> parameters) {
  const std::vector<double> betas = params.Floats("betas");
  if (betas.size() != 2 || betas[0] >= 1.0 || betas[1] >= 1.0) {
    params.Fail("betas", "two numbers from 0 to below 1 are accepted");
  }
  Adam::Options options;
  options.lr = params.Float("lr");
  options.beta1 = betas[0];
  options.beta2 = betas[1];
  options.eps = params.Float("eps");
  options.weight_decay = params.Float("weight_decay");
  options.amsgrad = params.Bool("amsgrad");
  options.maximize = params.Bool("maximize");
  options.decoupled_weight_decay = decoupled;
  return std::make_unique<Adam>(std::move(parameters), options);
}

}  // namespace

std::vector<OptimizerEntry> BuiltinOptimizers() {
  return {
      {SgdComponent(), &MakeSgd},
      {AdamComponent("Adam", "adam", 0.0,
                     "Adam; decay is added to the gradient"),
       &MakeAdam<false>},
      {AdamComponent("AdamW", "adamw", 1e-2,
                     "Adam whose decay shrinks the weights themselves"),
       &MakeAdam<true>},
  };
}

}  // namespace epochd::engine
