// SPDX-License-Identifier: Apache-2.0
#include "expression/derivative.h"

#include <algorithm>

namespace epochd::expression {
namespace {

std::string Joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

// Splits "tx" into coordinates; false: it cannot be done.
bool Split(std::string_view text, const std::vector<std::string>& coordinates,
           std::vector<size_t>& found) {
  if (text.empty()) return true;
  if (found.size() == kMaxDerivativeOrder) return false;
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

std::optional<Derivative> ReadDerivative(
    std::string_view variable, const std::vector<std::string>& unknowns,
    const std::vector<std::string>& coordinates) {
  for (size_t i = 0; i < unknowns.size(); ++i) {
    if (variable == unknowns[i]) return Derivative{i, {}};
  }
  for (size_t i = 0; i < unknowns.size(); ++i) {
    if (!variable.starts_with(unknowns[i] + "_")) continue;
    const std::string_view suffix = variable.substr(unknowns[i].size() + 1);
    std::vector<size_t> by;
    if (suffix.empty() || !Split(suffix, coordinates, by)) continue;
    std::sort(by.begin(), by.end());
    return Derivative{i, std::move(by)};
  }
  return std::nullopt;
}

std::string UnknownVariableText(std::string_view variable,
                                const std::vector<std::string>& unknowns,
                                const std::vector<std::string>& coordinates) {
  std::string text = "\"" + std::string(variable) + "\" is not known; ";
  if (!unknowns.empty()) {
    text += "the unknowns (" + Joined(unknowns) + "), ";
  }
  text += "the coordinates (" + Joined(coordinates) + ")";
  if (!unknowns.empty()) {
    text += ", derivatives such as " +
            (coordinates.empty() ? std::string("u_x")
                                 : unknowns[0] + "_" + coordinates.back() +
                                       coordinates.back()) +
            " up to order " + std::to_string(kMaxDerivativeOrder);
  }
  return text + ", and parameters are accepted";
}

}  // namespace epochd::expression
