// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/derivative_plan.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string_view>

#include "expression/derivative.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loss/derivatives.h"

namespace epochd::engine {
namespace {

size_t IndexOf(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) -
                             names.begin());
}

}  // namespace

DerivativePlan::DerivativePlan(const std::vector<std::string>& variables,
                               const std::vector<std::string>& unknowns,
                               const std::vector<std::string>& coordinates)
    : num_unknowns_(unknowns.size()), num_coordinates_(coordinates.size()) {
  for (const std::string& name : unknowns) nodes_.push_back({0, 0, name});
  for (const std::string& variable : variables) {
    sources_.push_back(Find(variable, unknowns, coordinates));
  }
}

DerivativePlan::Source DerivativePlan::Find(
    const std::string& variable, const std::vector<std::string>& unknowns,
    const std::vector<std::string>& coordinates) {
  const size_t coordinate = IndexOf(coordinates, variable);
  if (coordinate < coordinates.size()) return {.coordinate = coordinate};
  const auto read = expression::ReadDerivative(variable, unknowns, coordinates);
  if (!read) {
    throw Error(ErrorKind::kBadSpec,
                "expression: " + expression::UnknownVariableText(
                                     variable, unknowns, coordinates));
  }
  Source source{.node = read->unknown};
  std::string name = unknowns[read->unknown];
  // In one order of derivatives, which shares the most.
  for (const size_t each : read->by) {
    has_derivatives_ = true;
    name += " " + coordinates[each];
    source.node = NodeOf(source.node, each, name);
  }
  return source;
}

size_t DerivativePlan::NodeOf(size_t base, size_t coordinate,
                              const std::string& name) {
  for (size_t i = num_unknowns_; i < nodes_.size(); ++i) {
    if (nodes_[i].name == name) return i;
  }
  nodes_.push_back({base, coordinate, name});
  return nodes_.size() - 1;
}

std::vector<at::Tensor> DerivativePlan::Evaluate(
    const at::Tensor& points, const at::Tensor& values) const {
  std::vector<at::Tensor> nodes(nodes_.size());
  // By node: its derivatives by all coordinates, [..., coordinates].
  std::vector<at::Tensor> gradients(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (i < num_unknowns_) {
      nodes[i] = values.select(-1, static_cast<int64_t>(i));
      continue;
    }
    const Node& node = nodes_[i];
    at::Tensor& gradient = gradients[node.base];
    if (!gradient.defined()) gradient = Gradient(nodes[node.base], points);
    nodes[i] = gradient.select(-1, static_cast<int64_t>(node.coordinate));
  }
  std::vector<at::Tensor> all;
  for (const Source& source : sources_) {
    all.push_back(
        source.node == kNone
            ? points.select(-1, static_cast<int64_t>(source.coordinate))
            : nodes[source.node]);
  }
  return all;
}

}  // namespace epochd::engine
