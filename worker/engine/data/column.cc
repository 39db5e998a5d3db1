// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/column.h"

#include <ATen/ATen.h>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

at::Tensor OneValueEach(const Dataset& dataset, const std::string& field) {
  at::Tensor column = dataset.Column(field);
  if (!column.defined()) {
    throw Error(ErrorKind::kBadSpec,
                "field \"" + field +
                    "\" of the data set: not known without reading samples; "
                    "labels, groups and lengths of those that tell are "
                    "accepted");
  }
  if (column.dim() == 2 && column.size(1) == 1) column = column.squeeze(1);
  if (column.dim() != 1 || column.size(0) != dataset.Size()) {
    throw Error(ErrorKind::kBadSpec,
                "field \"" + field + "\" of the data set: is of shape " +
                    c10::str(column.sizes()) + "; one value for each of the " +
                    std::to_string(dataset.Size()) + " samples is accepted");
  }
  return column.to(at::kCPU).contiguous();
}

}  // namespace

std::vector<int64_t> WholeColumn(const Dataset& dataset,
                                 const std::string& field) {
  at::Tensor column = OneValueEach(dataset, field);
  if (!at::isIntegralType(column.scalar_type(), /*includeBool=*/true)) {
    throw Error(ErrorKind::kBadSpec, "field \"" + field +
                                         "\" of the data set: its values are " +
                                         c10::toString(column.scalar_type()) +
                                         "; whole numbers are accepted");
  }
  column = column.to(at::kLong);
  const auto* values = column.const_data_ptr<int64_t>();
  return {values, values + column.numel()};
}

std::vector<double> NumberColumn(const Dataset& dataset,
                                 const std::string& field) {
  const at::Tensor column = OneValueEach(dataset, field).to(at::kDouble);
  const auto* values = column.const_data_ptr<double>();
  return {values, values + column.numel()};
}

std::string NamesOf(std::string_view field) {
  return std::string(field) + ":names";
}

int64_t HashOf(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return static_cast<int64_t>(HashSeed({hash, name.size()}));
}

std::optional<int64_t> ClassNumbers::Add(const Dataset& dataset) {
  const at::Tensor names = dataset.Column(kClassNames);
  if (!names.defined()) return std::nullopt;
  const std::vector<int64_t> numbers = WholeColumn(dataset, "target");
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int64_t number = numbers[i];
    const int64_t name = names.const_data_ptr<int64_t>()[i];
    if (name_of_.emplace(number, name).first->second != name ||
        number_of_.emplace(name, number).first->second != number) {
      return number;
    }
  }
  return std::nullopt;
}

}  // namespace epochd::engine
