// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/table/inline_tensors.h"

#include <ATen/ATen.h>

#include <vector>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

using catalogue::Json;

constexpr size_t kMaxDims = 16;

class NestedNumbers {
 public:
  NestedNumbers(const Json& values, const std::string& field) : field_(field) {
    for (const Json* at = &values; at->is_array(); at = &at->front()) {
      shape_.push_back(static_cast<int64_t>(at->size()));
      if (at->empty() || shape_.size() > kMaxDims) {
        Refuse("is a list that is empty or more than 16 deep");
      }
    }
    if (shape_.empty()) {
      Refuse("is " + values.dump().substr(0, 40) +
             "; a list with an entry per sample is needed");
    }
    Add(values, 0, "");
  }

  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<double>& values() const { return values_; }
  bool all_whole() const { return all_whole_; }
  bool all_bool() const { return all_bool_; }

 private:
  [[noreturn]] void Refuse(const std::string& problem) const {
    throw Error(ErrorKind::kBadSpec,
                "Tensors: field \"" + field_ + "\": " + problem);
  }
  void Add(const Json& json, size_t depth, const std::string& place) {
    if (depth == shape_.size()) {
      if (!json.is_number() && !json.is_boolean()) {
        Refuse("entry " + place + " is " + json.dump().substr(0, 40) +
               "; a number is needed");
      }
      all_whole_ = all_whole_ && json.is_number_integer();
      all_bool_ = all_bool_ && json.is_boolean();
      values_.push_back(json.is_boolean() ? (json.get<bool>() ? 1 : 0)
                                          : json.get<double>());
      return;
    }
    if (!json.is_array() ||
        static_cast<int64_t>(json.size()) != shape_[depth]) {
      Refuse("entry " + place + " is " + json.dump().substr(0, 40) +
             "; a list of " + std::to_string(shape_[depth]) +
             ", as the first one, is needed");
    }
    for (size_t i = 0; i < json.size(); ++i) {
      Add(json[i], depth + 1, place + "[" + std::to_string(i) + "]");
    }
  }

  const std::string& field_;
  std::vector<int64_t> shape_;
  std::vector<double> values_;
  bool all_whole_ = true;
  bool all_bool_ = true;
};

}  // namespace

at::Tensor TensorOf(const Json& values, const std::string& field,
                    const std::string& type, bool whole_is_class) {
  const NestedNumbers numbers(values, field);
  at::ScalarType scalar = at::kFloat;
  if (type == "int64") {
    scalar = at::kLong;
  } else if (type == "bool" || (type.empty() && numbers.all_bool())) {
    scalar = at::kBool;
  } else if (type.empty() && whole_is_class && numbers.all_whole()) {
    scalar = at::kLong;
  }
  if (scalar == at::kLong && !numbers.all_whole()) {
    throw Error(ErrorKind::kBadSpec, "Tensors: field \"" + field +
                                         "\": has numbers that are not whole; "
                                         "int64 needs whole ones");
  }
  return at::tensor(numbers.values(), at::kDouble)
      .view(numbers.shape())
      .to(scalar);
}

}  // namespace epochd::engine
