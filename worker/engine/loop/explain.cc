// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/explain.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

std::string ShapeOf(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.sizes();
  return text.str();
}

// The parameter that a message speaks of: kernels give its shape as a list, or
// for a product as "rows x columns" of its transpose.
std::string ParameterIn(const std::string& message, const Model& model) {
  for (const NamedTensor& each : model.Parameters()) {
    const at::Tensor& tensor = each.tensor;
    if (tensor.dim() < 2) continue;
    const bool is_there = message.find(ShapeOf(tensor)) != std::string::npos ||
                          (tensor.dim() == 2 &&
                           message.find(" " + std::to_string(tensor.size(1)) +
                                        "x" + std::to_string(tensor.size(0)) +
                                        ")") != std::string::npos);
    if (is_there) return "\"" + each.name + "\" " + ShapeOf(tensor);
  }
  return "";
}

std::string FirstLine(const c10::Error& error) {
  std::string message = error.what_without_backtrace();
  return message.substr(0, message.find('\n'));
}

}  // namespace

std::string DescribeFields(const Batch& batch) {
  std::string text;
  for (const auto& [name, tensor] : batch) {
    std::string type = c10::toString(tensor.scalar_type());
    std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) {
      return static_cast<char>(std::tolower(c));
    });
    text +=
        (text.empty() ? "" : ", ") + name + " " + ShapeOf(tensor) + " " + type;
  }
  return text.empty() ? "no field" : text;
}

void ThrowExplained(const c10::Error& error, const std::string& part,
                    const Batch& batch, const Model* model) {
  const std::string message = FirstLine(error);
  std::string text = part + ": " + message;
  if (model != nullptr) {
    const std::string parameter = ParameterIn(message, *model);
    if (!parameter.empty()) text += "; it is about " + parameter;
    if (message.find("does not require grad") != std::string::npos) {
      text +=
          "; the loss depends on no parameter that is trained: are all of "
          "them frozen?";
    }
  }
  throw Error(ErrorKind::kTraining,
              text + "; the batch has " + DescribeFields(batch));
}

}  // namespace epochd::engine
