// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/initializer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/nn/init.h>

#include <cmath>
#include <memory>

#include "worker/engine/core/error.h"
#include "worker/engine/core/name_pattern.h"

namespace epochd::engine {
namespace {

namespace init = torch::nn::init;
using catalogue::Component;
using catalogue::Parameter;

constexpr std::string_view kWeight = "weight";

// The bias beside the weight `name`; empty: `name` is no weight.
std::string BiasOf(const std::string& name) {
  if (!name.ends_with(kWeight)) return "";
  return name.substr(0, name.size() - kWeight.size()) + "bias";
}

init::NonlinearityType Nonlinearity(const std::string& name) {
  if (name == "relu") return torch::kReLU;
  if (name == "tanh") return torch::kTanh;
  if (name == "sigmoid") return torch::kSigmoid;
  if (name == "linear") return torch::kLinear;
  return torch::kLeakyReLU;
}

init::FanModeType FanMode(const std::string& name) {
  if (name == "fan_out") return torch::kFanOut;
  return torch::kFanIn;
}

Parameter Number(const std::string& name, double value,
                 const std::string& help) {
  return {.name = name, .type = "float", .default_value = value, .help = help};
}

std::vector<Parameter> KaimingParameters() {
  return {Number("a", 0.0, "slope of leaky_relu below 0"),
          {.name = "mode",
           .type = "string",
           .default_value = "fan_in",
           .choices = {"fan_in", "fan_out"},
           .help = "keep the variance forward or backward"},
          {.name = "nonlinearity",
           .type = "string",
           .default_value = "leaky_relu",
           .choices = {"leaky_relu", "relu", "tanh", "sigmoid", "linear"},
           .help = "function behind the layer"}};
}

std::vector<Parameter> GainParameter() {
  return {Number("gain", 1.0, "factor")};
}

Component Declare(const std::string& name, const std::string& help,
                  std::vector<Parameter> parameters,
                  std::vector<std::string> aliases = {}) {
  parameters.push_back({.name = "match",
                        .type = "list<string>",
                        .default_value = catalogue::Json::array(),
                        .scalar_ok = true,
                        .help = "patterns of parameters, such as head.* ; all "
                                "weights of two or more dimensions by "
                                "default"});
  parameters.push_back({.name = "bias",
                        .type = "float",
                        .help = "what the biases of the same layers become"});
  aliases.push_back(name + "_");
  return {.kind = "initializer",
          .name = name,
          .aliases = std::move(aliases),
          .help = help,
          .parameters = std::move(parameters)};
}

template <class Fill>
std::shared_ptr<Initializer> Make(const Params& params, const char* name,
                                  Fill fill) {
  return std::make_shared<Initializer>(name, std::move(fill),
                                       params.Strings("match"),
                                       params.OptionalFloat("bias"));
}

}  // namespace

void Initializer::Apply(const Model& model) const {
  const c10::NoGradGuard no_grad;
  const std::vector<NamedTensor> parameters = model.Parameters();
  std::vector<bool> fits(match_.size(), false);
  for (const NamedTensor& each : parameters) {
    bool is_meant = match_.empty() && each.tensor.dim() > 1;
    for (size_t i = 0; i < match_.size(); ++i) {
      if (!PatternFits(match_[i], each.name)) continue;
      is_meant = fits[i] = true;
    }
    if (!is_meant) continue;
    at::Tensor tensor = each.tensor.detach();
    try {
      fill_(tensor);
    } catch (const c10::Error& error) {
      throw Error(ErrorKind::kBadSpec, name_ + ": \"" + each.name +
                                           "\" of shape " +
                                           c10::str(tensor.sizes()) + ": " +
                                           error.what_without_backtrace());
    }
    const std::string bias = bias_ ? BiasOf(each.name) : "";
    for (const NamedTensor& other : parameters) {
      if (!bias.empty() && other.name == bias) {
        other.tensor.detach().fill_(*bias_);
      }
    }
  }
  for (size_t i = 0; i < fits.size(); ++i) {
    if (fits[i]) continue;
    throw Error(ErrorKind::kBadSpec,
                "match: \"" + match_[i] +
                    "\" fits no parameter of the model; the first is called "
                    "\"" +
                    (parameters.empty() ? "" : parameters.front().name) + "\"");
  }
}

void TruncatedNormal(at::Tensor tensor, double mean, double deviation,
                     double low, double high) {
  const c10::NoGradGuard no_grad;
  const auto cdf = [](double x) { return (1 + std::erf(x / M_SQRT2)) / 2; };
  const double from = 2 * cdf((low - mean) / deviation) - 1;
  const double to = 2 * cdf((high - mean) / deviation) - 1;
  tensor.uniform_(from, to);
  tensor.erfinv_();
  tensor.mul_(deviation * M_SQRT2);
  tensor.add_(mean);
  tensor.clamp_(low, high);
}

std::vector<Entry<Initializer>> BuiltinInitializers() {
  return {
      {Declare("kaiming_normal", "He's normal weights", KaimingParameters(),
               {"he_normal"}),
       [](const Params& params) {
         return Make(
             params, "kaiming_normal",
             [a = params.Float("a"), mode = FanMode(params.String("mode")),
              function = Nonlinearity(params.String("nonlinearity"))](
                 at::Tensor& tensor) {
               init::kaiming_normal_(tensor, a, mode, function);
             });
       }},
      {Declare("kaiming_uniform", "He's uniform weights", KaimingParameters(),
               {"he_uniform"}),
       [](const Params& params) {
         return Make(
             params, "kaiming_uniform",
             [a = params.Float("a"), mode = FanMode(params.String("mode")),
              function = Nonlinearity(params.String("nonlinearity"))](
                 at::Tensor& tensor) {
               init::kaiming_uniform_(tensor, a, mode, function);
             });
       }},
      {Declare("xavier_normal", "Glorot's normal weights", GainParameter(),
               {"glorot_normal"}),
       [](const Params& params) {
         return Make(params, "xavier_normal",
                     [gain = params.Float("gain")](at::Tensor& tensor) {
                       init::xavier_normal_(tensor, gain);
                     });
       }},
      {Declare("xavier_uniform", "Glorot's uniform weights", GainParameter(),
               {"glorot_uniform"}),
       [](const Params& params) {
         return Make(params, "xavier_uniform",
                     [gain = params.Float("gain")](at::Tensor& tensor) {
                       init::xavier_uniform_(tensor, gain);
                     });
       }},
      {Declare("orthogonal", "orthogonal matrices", GainParameter()),
       [](const Params& params) {
         return Make(params, "orthogonal",
                     [gain = params.Float("gain")](at::Tensor& tensor) {
                       init::orthogonal_(tensor, gain);
                     });
       }},
      {Declare("normal", "a normal distribution",
               {Number("mean", 0.0, "its mean"),
                Number("std", 1.0, "its standard deviation")}),
       [](const Params& params) {
         return Make(params, "normal",
                     [mean = params.Float("mean"),
                      deviation = params.Float("std")](at::Tensor& tensor) {
                       init::normal_(tensor, mean, deviation);
                     });
       }},
      {Declare("trunc_normal", "a normal distribution cut off at a and b",
               {Number("mean", 0.0, "its mean"),
                Number("std", 1.0, "its standard deviation"),
                Number("a", -2.0, "least value"),
                Number("b", 2.0, "greatest value")}),
       [](const Params& params) {
         return Make(params, "trunc_normal",
                     [mean = params.Float("mean"),
                      deviation = params.Float("std"), low = params.Float("a"),
                      high = params.Float("b")](at::Tensor& tensor) {
                       TruncatedNormal(tensor, mean, deviation, low, high);
                     });
       }},
      {Declare("uniform", "a uniform distribution",
               {Number("a", 0.0, "least value"),
                Number("b", 1.0, "greatest value")}),
       [](const Params& params) {
         return Make(
             params, "uniform",
             [low = params.Float("a"), high = params.Float("b")](
                 at::Tensor& tensor) { init::uniform_(tensor, low, high); });
       }},
      {Declare("constant", "one value", {Number("val", 0.0, "that value")}),
       [](const Params& params) {
         return Make(params, "constant",
                     [value = params.Float("val")](at::Tensor& tensor) {
                       tensor.fill_(value);
                     });
       }},
      {Declare("zeros", "0", {}),
       [](const Params& params) {
         return Make(params, "zeros",
                     [](at::Tensor& tensor) { tensor.zero_(); });
       }},
      {Declare("ones", "1", {}),
       [](const Params& params) {
         return Make(params, "ones",
                     [](at::Tensor& tensor) { tensor.fill_(1); });
       }},
      {Declare("dirac", "convolutions that pass channels on", {}),
       [](const Params& params) {
         return Make(params, "dirac",
                     [](at::Tensor& tensor) { init::dirac_(tensor); });
       }}};
}

}  // namespace epochd::engine
