// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "worker/engine/core/error.h"
#include "worker/engine/expression/evaluate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using epochd::engine::Expression;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Expression expression = epochd::engine::ParseExpression(text);
    const std::vector<double> values(expression.variables().size(), 0.5);
    expression.Evaluate(values);
    if (values.size() > 8) return 0;
    const at::Tensor like = at::full({2}, 0.5);
    const std::vector<at::Tensor> tensors(values.size(), like);
    epochd::engine::Evaluate(expression, tensors, like);
  } catch (const epochd::engine::Error&) {
    // Refused, as it may be; anything else that is thrown is a bug.
  }
  return 0;
}
