// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/declarations.h"

#include <utility>

namespace epochd::engine {

using catalogue::Parameter;

Parameter FieldParameter(const std::string& name, const std::string& value,
                         const std::string& help) {
  return {.name = name, .type = "string", .default_value = value, .help = help};
}

std::vector<Parameter> WeighingParameters() {
  return {{.name = "mask",
           .type = "string",
           .help = "field that says which elements count: 1 or true, or a "
                   "share; none by default"},
          {.name = "sample_weight",
           .type = "string",
           .aliases = {"weight_mask"},
           .help = "field with weights of samples or elements"}};
}

Parameter ReductionParameter() {
  return {.name = "reduction",
          .type = "string",
          .default_value = "mean",
          .choices = {"mean", "sum", "batchmean"},
          .help =
              "mean over what counts, sum over the batch, or sum over the "
              "number of samples"};
}

Parameter ClassNumbers(const std::string& name, bool scalar_ok,
                       const std::string& help) {
  return {.name = name,
          .type = "list<float>",
          .default_value = catalogue::Json::array(),
          .scalar_ok = scalar_ok,
          .help = help};
}

Parameter NumberParameter(const std::string& name, double value,
                          const std::string& help) {
  return {.name = name, .type = "float", .default_value = value, .help = help};
}

std::vector<Parameter> WithCommon(std::vector<Parameter> parameters,
                                  const std::string& name) {
  parameters.push_back({.name = "weight",
                        .type = "float",
                        .default_value = 1.0,
                        .aliases = {"loss_weight"},
                        .help = "factor of this loss in the total"});
  parameters.push_back(FieldParameter("name", name, "name in metrics"));
  return parameters;
}

std::vector<Parameter> Compared(std::vector<Parameter> parameters,
                                const std::string& name) {
  parameters.push_back(
      FieldParameter("output", "output", "field with the prediction"));
  parameters.push_back(
      FieldParameter("target", "target", "field with the truth"));
  return WithCommon(std::move(parameters), name);
}

std::vector<Parameter> ComparedAndWeighed(std::vector<Parameter> parameters,
                                          const std::string& name) {
  for (Parameter& each : WeighingParameters()) {
    parameters.push_back(std::move(each));
  }
  return Compared(std::move(parameters), name);
}

std::vector<Parameter> Scored(std::vector<Parameter> parameters,
                              const std::string& name) {
  parameters.push_back(FieldParameter("real", "score_real",
                                      "field with scores of real samples"));
  parameters.push_back(FieldParameter("fake", "score_fake",
                                      "field with scores of fake samples"));
  for (Parameter& each : WeighingParameters()) {
    parameters.push_back(std::move(each));
  }
  return WithCommon(std::move(parameters), name);
}

ComparedFields ComparedFrom(const Params& params) {
  return {params.String("output"), params.String("target")};
}

ScoreFields ScoresFrom(const Params& params) {
  return {params.String("real"), params.String("fake")};
}

Weighing WeighingFrom(const Params& params) {
  return {params.OptionalString("mask").value_or(""),
          params.OptionalString("sample_weight").value_or("")};
}

}  // namespace epochd::engine
