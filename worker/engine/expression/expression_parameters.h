// SPDX-License-Identifier: Apache-2.0
//
// Numbers and expressions among the parameters of a component: wherever a
// number may stand, so may text such as "0.01/pi".
#pragma once

#include <string>
#include <vector>

#include "worker/engine/expression/evaluate.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

// The declaration of `parameters`: names with their values, for expressions.
catalogue::Parameter ConstantsParameter();
// Reads it. Throws Error(kBadSpec) naming the parameter.
Expression::Constants ReadConstants(const Params& params,
                                    const std::string& name);
// `value`, of parameter `name`: a number or a constant expression.
double ReadNumber(const Params& params, const std::string& name,
                  const catalogue::Json& value);
// Text or numbers, one or a list of them, as text.
std::vector<std::string> ReadExpressions(const Params& params,
                                         const std::string& name);

}  // namespace epochd::engine
