// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/builtin_pinn.h"

#include <memory>
#include <string>
#include <utility>

#include "worker/engine/model/pinn_mlp.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Rule;

Component PinnComponent() {
  return {
      .kind = "model",
      .name = "PinnMLP",
      .aliases = {"PINN", "pinn_mlp"},
      .help =
          "multi-layer perceptron over coordinates; evaluates several "
          "fields of a batch, `initial` giving `initial_output`; "
          "parameters are net.0.weight, net.2.weight, ...",
      .parameters =
          {{.name = "in_features",
            .type = "int",
            .default_value = 2,
            .min = 1,
            .aliases = {"input_dim"},
            .help = "coordinates of a point"},
           {.name = "hidden",
            .type = "list<int>",
            .default_value = Json::array({32, 32, 32, 32}),
            .min = 1,
            .aliases = {"hidden_features"},
            .scalar_ok = true,
            .help = "widths of the hidden layers"},
           {.name = "out_features",
            .type = "int",
            .default_value = 1,
            .min = 1,
            .aliases = {"output_dim"},
            .help = "unknowns"},
           {.name = "activation",
            .type = "string",
            .default_value = "tanh",
            .choices = PinnActivations(),
            .help = "function behind each hidden layer"},
           {.name = "initialization",
            .type = "string",
            .default_value = "xavier_normal",
            .choices = {"xavier_normal", "xavier_uniform", "torch"},
            .help = "of the weights, with biases 0; or as torch begins"},
           {.name = "inputs",
            .type = "list<string>",
            .default_value = Json::array({"input"}),
            .scalar_ok = true,
            .min_items = 1,
            .help = "fields with points; those that a batch has are evaluated"},
           {.name = "differentiable",
            .type = "list<string>",
            .default_value = Json::array(),
            .scalar_ok = true,
            .help = "those of them by which losses differentiate"},
           {.name = "lower",
            .type = "list<float>",
            .default_value = Json::array(),
            .help = "with upper: coordinates are scaled from these ranges to "
                    "[-1, 1]"},
           {.name = "upper",
            .type = "list<float>",
            .default_value = Json::array(),
            .help = "one for each coordinate"},
           {.name = "periods",
            .type = "list<float>",
            .default_value = Json::array(),
            .min = 0,
            .help = "one for each coordinate, 0 where there is none: the model "
                    "then repeats exactly"},
           {.name = "fourier_features",
            .type = "int",
            .default_value = 0,
            .min = 0,
            .help = "random frequencies, cosine and sine of each; 0: none"},
           {.name = "fourier_scale",
            .type = "float",
            .default_value = 1.0,
            .min = 0,
            .help =
                "standard deviation of the frequencies, in radians per unit "
                "of the scaled coordinates"},
           {.name = "fourier_seed",
            .type = "int",
            .default_value = 0,
            .min = 0,
            .help = "of the frequencies; the job's seed does not change them"},
           {.name = "fourier_trainable",
            .type = "bool",
            .default_value = false,
            .help = "train the frequencies, as PhiJAX does"},
           {.name = "weight_factorization",
            .type = "bool",
            .default_value = false,
            .help = "W = diag(g) V, g and V trained"},
           {.name = "factorization_mean",
            .type = "float",
            .default_value = 0.5,
            .help = "of log g at the start"},
           {.name = "factorization_std",
            .type = "float",
            .default_value = 0.1,
            .min = 0,
            .help = "of log g at the start"}},
      .rules = {
          {.check = Rule::Check::kSameLength, .of = {"lower", "upper"}},
          {.check = Rule::Check::kOneForEach, .of = {"lower", "in_features"}},
          {.check = Rule::Check::kOneForEach, .of = {"periods", "in_features"}},
          {.check = Rule::Check::kAmong, .of = {"differentiable", "inputs"}}}};
}

std::shared_ptr<Model> BuildPinn(const Params& params) {
  PinnMlpOptions options;
  options.in_features = params.Int("in_features");
  options.hidden = params.Ints("hidden");
  options.out_features = params.Int("out_features");
  options.activation = params.String("activation");
  const std::string init = params.String("initialization");
  options.init = init == "torch"            ? PinnInit::kTorch
                 : init == "xavier_uniform" ? PinnInit::kXavierUniform
                                            : PinnInit::kXavierNormal;
  options.inputs = params.Strings("inputs");
  options.differentiable = params.Strings("differentiable");
  options.lower = params.Floats("lower");
  options.upper = params.Floats("upper");
  options.periods = params.Floats("periods");
  options.fourier_features = params.Int("fourier_features");
  options.fourier_scale = params.Float("fourier_scale");
  options.fourier_seed = static_cast<uint64_t>(params.Int("fourier_seed"));
  options.fourier_trainable = params.Bool("fourier_trainable");
  options.factorized = params.Bool("weight_factorization");
  options.factor_mean = params.Float("factorization_mean");
  options.factor_std = params.Float("factorization_std");
  return MakePinnMlp(options);
}

}  // namespace

std::vector<Entry<Model>> BuiltinPinnModels() {
  return {{PinnComponent(), &BuildPinn}};
}

}  // namespace epochd::engine
