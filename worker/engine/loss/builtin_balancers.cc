// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/builtin_balancers.h"

#include <memory>
#include <string>
#include <utility>

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Parameter;

std::map<std::string, double> ReadWeights(const Params& params,
                                          const std::string& parameter) {
  std::map<std::string, double> weights;
  if (!params.Has(parameter)) return weights;
  for (const auto& [name, weight] : params.Raw(parameter).items()) {
    weights[name] = weight.get<double>();
  }
  return weights;
}

LossBalancer::Options ReadBalancerOptions(const Params& params) {
  LossBalancer::Options options;
  options.every = params.Int("update_every_n_steps");
  options.start = params.OptionalInt("update_start_step");
  options.eps = params.Float("eps");
  options.momentum = params.Float("moving_average_coefficient");
  options.initial_weights = ReadWeights(params, "initial_weights");
  return options;
}

std::shared_ptr<LossBalancer> MakeStatic(const Params& params) {
  return std::make_shared<StaticBalancer>(ReadWeights(params, "weights"));
}

std::shared_ptr<LossBalancer> MakeGradientNorm(const Params& params) {
  return std::make_shared<GradientNormBalancer>(ReadBalancerOptions(params));
}

std::shared_ptr<LossBalancer> MakeNtk(const Params& params) {
  return std::make_shared<NtkBalancer>(ReadBalancerOptions(params),
                                       params.Int("kernel_size"));
}

Parameter WeightsParameter(const std::string& name, const std::string& help) {
  return {.name = name, .type = "map<float>", .help = help};
}

std::vector<Parameter> AdaptiveParameters(double eps, const std::string& help) {
  return {
      {.name = "update_every_n_steps",
       .type = "int",
       .required = true,
       .min = 1,
       .help = "optimizer steps between updates"},
      {.name = "update_start_step",
       .type = "int",
       .min = 0,
       .help = "step of the first update; update_every_n_steps by default"},
      {.name = "eps",
       .type = "float",
       .default_value = eps,
       .min = 0,
       .help = help},
      {.name = "moving_average_coefficient",
       .type = "float",
       .default_value = 0.9,
       .min = 0,
       .max = 1,
       .exclusive_max = true,
       .help = "share of the weights before an update in those after it"},
      WeightsParameter("initial_weights", "by name of the loss; 1 by default")};
}

}  // namespace

std::vector<Entry<LossBalancer>> BuiltinLossBalancers() {
  Component fixed{.kind = "loss_balancer",
                  .name = "Static",
                  .aliases = {"StaticLossBalancer", "static"},
                  .help = "weights that stay as they are"};
  fixed.parameters = {
      WeightsParameter("weights", "by name of the loss; 1 by default")};
  Component norm{.kind = "loss_balancer",
                 .name = "GradientNorm",
                 .aliases = {"GradNormBalancer", "gradient_norm"},
                 .help =
                     "weights that make the gradients of the losses "
                     "equally long"};
  norm.parameters =
      AdaptiveParameters(1e-5, "share of the mean norm that is added to each");
  Component ntk{.kind = "loss_balancer",
                .name = "Ntk",
                .aliases = {"ExactNTKBalancer", "ntk"},
                .help =
                    "weights that make the traces of the losses' neural "
                    "tangent kernels equal"};
  ntk.parameters =
      AdaptiveParameters(1e-10, "traces up to this leave a weight as it is");
  ntk.parameters.push_back({.name = "kernel_size",
                            .type = "int",
                            .required = true,
                            .min = 1,
                            .help = "samples of the batch that are looked at"});
  return {{std::move(fixed), &MakeStatic},
          {std::move(norm), &MakeGradientNorm},
          {std::move(ntk), &MakeNtk}};
}

}  // namespace epochd::engine
