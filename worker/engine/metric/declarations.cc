// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/declarations.h"

#include <utility>

#include "worker/engine/loss/declarations.h"

namespace epochd::engine {

using catalogue::Parameter;

std::vector<Parameter> MetricParametersNamed(std::vector<Parameter> parameters,
                                             Parameter name) {
  parameters.push_back({.name = "output",
                        .type = "string",
                        .default_value = "output",
                        .help = "field with the prediction"});
  parameters.push_back({.name = "target",
                        .type = "string",
                        .default_value = "target",
                        .help = "field with the truth"});
  for (Parameter& each : WeighingParameters()) {
    parameters.push_back(std::move(each));
  }
  parameters.push_back(std::move(name));
  return parameters;
}

std::vector<Parameter> MetricParameters(std::vector<Parameter> parameters,
                                        const std::string& name) {
  return MetricParametersNamed(std::move(parameters),
                               {.name = "name",
                                .type = "string",
                                .default_value = name,
                                .help = "name behind the phase"});
}

ComparedFields MetricFields(const Params& params) {
  return {params.String("output"), params.String("target")};
}

}  // namespace epochd::engine
