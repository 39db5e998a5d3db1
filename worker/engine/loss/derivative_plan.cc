// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/derivative_plan.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/loss/derivatives.h"

namespace epochd::engine {
namespace {

std::string Joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

size_t IndexOf(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) -
                             names.begin());
}

// Splits "tx" into coordinates; false: it cannot be done.
bool Split(std::string_view text, const std::vector<std::string>& coordinates,
           std::vector<size_t>& found) {
  if (text.empty()) return true;
  if (found.size() == DerivativePlan::kMaxOrder) return false;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    if (coordinates[i].empty() || !text.starts_with(coordinates[i])) continue;
    found.push_back(i);
    if (Split(text.substr(coordinates[i].size()), coordinates, found)) {
      return true;
    }
    found.pop_back();
  }
  return false;
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
  const size_t unknown = IndexOf(unknowns, variable);
  if (unknown < unknowns.size()) return {.node = unknown};
  for (size_t i = 0; i < unknowns.size(); ++i) {
    if (!variable.starts_with(unknowns[i] + "_")) continue;
    const std::string_view suffix =
        std::string_view(variable).substr(unknowns[i].size() + 1);
    std::vector<size_t> by;
    if (suffix.empty() || !Split(suffix, coordinates, by)) continue;
    has_derivatives_ = true;
    // The order makes no difference, so one order shares the most.
    std::sort(by.begin(), by.end());
    Source source{.node = i};
    std::string name = unknowns[i];
    for (const size_t each : by) {
      name += " " + coordinates[each];
      source.node = NodeOf(source.node, each, name);
    }
    return source;
  }
  throw Error(
      ErrorKind::kBadSpec,
      "expression: \"" + variable + "\" is not known; the unknowns (" +
          Joined(unknowns) + "), the coordinates (" + Joined(coordinates) +
          "), derivatives such as " +
          (unknowns.empty() || coordinates.empty()
               ? std::string("u_x")
               : unknowns[0] + "_" + coordinates.back() + coordinates.back()) +
          " up to order " + std::to_string(kMaxOrder) +
          ", and parameters are accepted");
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
