// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/declarations.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {

using catalogue::Parameter;

Parameter TextParameter(const std::string& name, const std::string& value,
                        const std::string& help) {
  return {.name = name, .type = "string", .default_value = value, .help = help};
}

Parameter CountParameter(const std::string& name, int64_t value,
                         const std::string& help) {
  return {.name = name,
          .type = "int",
          .default_value = value,
          .min = 1,
          .help = help};
}

Parameter CountWithAliases(const std::string& name, int64_t value,
                           const std::string& help,
                           std::vector<std::string> aliases) {
  Parameter parameter = CountParameter(name, value, help);
  parameter.aliases = std::move(aliases);
  return parameter;
}

Parameter AmongNumbers(Parameter parameter, std::vector<double> numbers) {
  parameter.min.reset();
  parameter.max.reset();
  parameter.numbers = std::move(numbers);
  return parameter;
}

Parameter Odd(Parameter parameter) {
  parameter.odd = true;
  return parameter;
}

Parameter ChannelsParameter(const std::string& name) {
  return CountWithAliases(name, 3, "channels of the images",
                          {name == "channels" ? "in_channels" : "channels"});
}

std::vector<Parameter> WithFields(std::vector<Parameter> parameters) {
  parameters.push_back(TextParameter("input", "input", "field to read"));
  parameters.push_back(TextParameter("output", "output", "field to return"));
  return parameters;
}

ModelFields FieldsFrom(const Params& params) {
  return {params.String("input"), params.String("output")};
}

std::vector<Parameter> SignalParameters(std::vector<Parameter> more) {
  std::vector<Parameter> parameters = {
      CountWithAliases("in_channels", 12, "leads of the signals",
                       {"leads", "n_leads"}),
      {.name = "num_classes",
       .type = "int",
       .required = true,
       .min = 1,
       .help = "values of the output"}};
  std::move(more.begin(), more.end(), std::back_inserter(parameters));
  return WithFields(std::move(parameters));
}

std::vector<Parameter> EnlargingParameters(int64_t blocks,
                                           std::vector<double> factors,
                                           std::vector<Parameter> more) {
  std::vector<Parameter> parameters = {
      CountWithAliases("in_channels", 3, "channels of the input",
                       {"num_in_ch"}),
      CountWithAliases("out_channels", 3, "channels of the output",
                       {"num_out_ch"}),
      CountWithAliases("features", 64, "channels inside", {"num_feat"}),
      CountWithAliases("blocks", blocks, "residual blocks", {"num_block"}),
      AmongNumbers(CountWithAliases("upscale", 4, "factor of size", {"scale"}),
                   std::move(factors))};
  std::move(more.begin(), more.end(), std::back_inserter(parameters));
  return WithFields(std::move(parameters));
}

}  // namespace epochd::engine
