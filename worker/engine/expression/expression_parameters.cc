// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/expression/expression_parameters.h"

#include <stdexcept>

namespace epochd::engine {

using catalogue::Json;

catalogue::Parameter ConstantsParameter() {
  return {
      .name = "parameters",
      .type = "map<constant>",
      .help =
          "names for use in expressions: numbers, or text such as `0.01/pi`"};
}

double ReadNumber(const Params& params, const std::string& name,
                  const Json& value) {
  if (value.is_number()) return value.get<double>();
  try {
    return expression::EvaluateConstant(value.get<std::string>());
  } catch (const std::invalid_argument& error) {
    params.Fail(name, error.what());
  }
}

Expression::Constants ReadConstants(const Params& params,
                                    const std::string& name) {
  Expression::Constants constants;
  const Json& given = params.Raw(name);
  if (given.is_null()) return constants;
  for (const auto& [key, value] : given.items()) {
    constants[key] = ReadNumber(params, name, value);
  }
  return constants;
}

std::vector<std::string> ReadExpressions(const Params& params,
                                         const std::string& name) {
  std::vector<std::string> texts;
  const auto add = [&texts](const Json& value) {
    texts.push_back(value.is_string() ? value.get<std::string>()
                                      : value.dump());
  };
  const Json& given = params.Raw(name);
  if (given.is_array()) {
    for (const Json& value : given) add(value);
  } else if (!given.is_null()) {
    add(given);
  }
  return texts;
}

}  // namespace epochd::engine
