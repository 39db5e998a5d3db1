// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/fields.h"

#include <ATen/ATen.h>

#include <sstream>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

// As job files spell types.
std::string TypeName(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kLong:
      return "int64";
    case at::kInt:
      return "int32";
    case at::kByte:
      return "uint8";
    case at::kBool:
      return "bool";
    default:
      return c10::toString(tensor.scalar_type());
  }
}

[[noreturn]] void Fail(const ComparedFields& fields, const std::string& target,
                       const std::string& output, const char* accepted) {
  throw Error(ErrorKind::kTraining, "batch field \"" + fields.target +
                                        "\": " + target + " does not go with " +
                                        output + " of \"" + fields.output +
                                        "\"; " + accepted);
}

std::string Shape(const at::Tensor& tensor) {
  std::ostringstream text;
  text << "shape " << tensor.sizes();
  return text.str();
}

std::string Described(const at::Tensor& tensor) {
  return Shape(tensor) + " (" + TypeName(tensor) + ")";
}

// Tells whether the sizes are those of `scores` without its second dimension.
bool IsIndexShape(at::IntArrayRef scores, at::IntArrayRef indices) {
  if (indices.size() + 1 != scores.size() || indices[0] != scores[0]) {
    return false;
  }
  return indices.slice(1) == scores.slice(2);
}

}  // namespace

at::Tensor AtLeastFloat(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  if (type == at::kFloat || type == at::kDouble) return tensor;
  return tensor.to(at::kFloat);
}

bool AddsOne(at::IntArrayRef longer, at::IntArrayRef shorter) {
  if (shorter.empty() || longer.size() != shorter.size() + 1) return false;
  for (size_t i = 1; i < longer.size(); ++i) {
    if (longer[i] == 1 && longer.slice(0, i) == shorter.slice(0, i) &&
        longer.slice(i + 1) == shorter.slice(i)) {
      return true;
    }
  }
  return false;
}

ComparedTensors SameShape(const Batch& batch, const ComparedFields& fields) {
  at::Tensor output = batch.At(fields.output);
  at::Tensor target = batch.At(fields.target);
  // The longer shape, as weights go with it, too.
  if (AddsOne(output.sizes(), target.sizes())) {
    target = target.reshape(output.sizes());
  } else if (AddsOne(target.sizes(), output.sizes())) {
    output = output.reshape(target.sizes());
  }
  if (output.sizes() != target.sizes()) {
    Fail(fields, Shape(target), Shape(output), "both must have the same shape");
  }
  ComparedTensors compared{AtLeastFloat(output), target};
  if (compared.target.scalar_type() != compared.output.scalar_type()) {
    compared.target = compared.target.to(compared.output.scalar_type());
  }
  return compared;
}

ComparedTensors ClassScores(const Batch& batch, const ComparedFields& fields) {
  const at::Tensor& output = batch.At(fields.output);
  const at::Tensor& target = batch.At(fields.target);
  if (output.dim() >= 2 && at::isFloatingType(target.scalar_type()) &&
      target.sizes() == output.sizes()) {
    return SameShape(batch, fields);
  }
  if (output.dim() < 2 || !at::isIntegralType(target.scalar_type(), false) ||
      !IsIndexShape(output.sizes(), target.sizes())) {
    Fail(fields, Described(target), Described(output),
         "class scores [B, C, ...] go with integer classes [B, ...] or "
         "class probabilities [B, C, ...]");
  }
  ComparedTensors compared{AtLeastFloat(output), target};
  if (target.scalar_type() != at::kLong) {
    compared.target = target.to(at::kLong);
  }
  return compared;
}

}  // namespace epochd::engine
