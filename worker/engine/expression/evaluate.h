// SPDX-License-Identifier: Apache-2.0
//
// Expressions over tensors with their graphs. Pure functions; any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string_view>

#include "expression/expression.h"

namespace epochd::engine {

using expression::Expression;

// Expression::Parse(), with what it refuses as an Error(kBadSpec).
Expression ParseExpression(std::string_view text,
                           const Expression::Constants& constants = {});

// `values`: of the expression's variables, tensors that broadcast against
// `like`; the result has its shape and type. `where` and comparisons have no
// gradient by their condition. Throws Error(kTraining) if there are not as many
// as variables.
at::Tensor Evaluate(const Expression& expression,
                    std::span<const at::Tensor> values, const at::Tensor& like);

}  // namespace epochd::engine
