// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/builtin.h"

#include <memory>
#include <string>
#include <utility>

#include "worker/engine/metric/accuracy.h"
#include "worker/engine/metric/psnr.h"

namespace epochd::engine {
namespace {

using catalogue::Parameter;

Parameter Text(const std::string& name, const std::string& value,
               const std::string& help) {
  return {.name = name, .type = "string", .default_value = value, .help = help};
}

// Gives what every metric takes, behind its own parameters.
std::vector<Parameter> WithCommon(std::vector<Parameter> parameters,
                                  Parameter name) {
  parameters.push_back(Text("output", "output", "field with the prediction"));
  parameters.push_back(Text("target", "target", "field with the truth"));
  parameters.push_back(std::move(name));
  return parameters;
}

ComparedFields FieldsFrom(const Params& params) {
  return {params.String("output"), params.String("target")};
}

std::shared_ptr<Metric> MakeAccuracy(const Params& params) {
  return std::make_shared<TopKAccuracy>(TopKAccuracy::Options{
      .fields = FieldsFrom(params), .name = params.String("name"), .k = 1});
}

std::shared_ptr<Metric> MakeTopK(const Params& params) {
  const int64_t k = params.Int("k");
  return std::make_shared<TopKAccuracy>(TopKAccuracy::Options{
      .fields = FieldsFrom(params),
      .name = params.OptionalString("name").value_or("top" + std::to_string(k) +
                                                     "_accuracy"),
      .k = k});
}

std::shared_ptr<Metric> MakePsnr(const Params& params) {
  return std::make_shared<Psnr>(
      Psnr::Options{.fields = FieldsFrom(params),
                    .name = params.String("name"),
                    .data_range = params.Float("data_range")});
}

}  // namespace

std::vector<Entry<Metric>> BuiltinMetrics() {
  return {
      {{.kind = "metric",
        .name = "Accuracy",
        .aliases = {"accuracy"},
        .help = "share of samples whose class has the highest score",
        .parameters =
            WithCommon({}, Text("name", "accuracy", "name behind the phase"))},
       &MakeAccuracy},
      {{.kind = "metric",
        .name = "TopK",
        .aliases = {"TopKAccuracy", "top_k"},
        .help = "share of samples whose class is among the k highest scores",
        .parameters = WithCommon(
            {{.name = "k",
              .type = "int",
              .default_value = 5,
              .min = 1,
              .aliases = {"topk", "top_k"},
              .help = "how many scores count"}},
            {.name = "name",
             .type = "string",
             .help = "name behind the phase; top<k>_accuracy when absent"})},
       &MakeTopK},
      {{.kind = "metric",
        .name = "PSNR",
        .aliases = {"PeakSignalNoiseRatio", "psnr"},
        .help = "peak signal-to-noise ratio in decibels, mean over samples",
        .parameters = WithCommon(
            {{.name = "data_range",
              .type = "float",
              .default_value = 1.0,
              .min = 0,
              .exclusive_min = true,
              .aliases = {"max_value"},
              .help = "greatest minus smallest value a sample can hold"}},
            Text("name", "psnr", "name behind the phase"))},
       &MakePsnr},
  };
}

}  // namespace epochd::engine
