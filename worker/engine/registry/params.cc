// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/params.h"

#include <cmath>

#include "worker/engine/core/error.h"
#include "worker/engine/registry/build_scope.h"

namespace epochd::engine {
namespace {

const catalogue::Json kNull;

// Spelled out as strings too, since JSON has no such numbers.
std::optional<double> ToDouble(const catalogue::Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  if (text == "Infinity") return INFINITY;
  if (text == "-Infinity") return -INFINITY;
  if (text == "NaN") return NAN;
  return std::nullopt;
}

std::optional<int64_t> ToInt(const catalogue::Json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number_float() &&
      std::floor(value.get<double>()) == value.get<double>()) {
    return static_cast<int64_t>(value.get<double>());
  }
  return std::nullopt;
}

}  // namespace

const catalogue::Json& Params::Raw(std::string_view name) const {
  auto found = values_.find(std::string(name));
  return found == values_.end() ? kNull : *found;
}

bool Params::Has(std::string_view name) const { return !Raw(name).is_null(); }

void Params::Fail(std::string_view name, const std::string& problem) const {
  throw Error(ErrorKind::kBadSpec,
              catalogue::AppendKey(path_, name) + ": " + problem);
}

bool Params::Bool(std::string_view name) const {
  const catalogue::Json& value = Raw(name);
  if (!value.is_boolean()) Fail(name, "not true or false: " + value.dump());
  return value.get<bool>();
}

int64_t Params::Int(std::string_view name) const {
  std::optional<int64_t> number = ToInt(Raw(name));
  if (!number) Fail(name, "not a whole number: " + Raw(name).dump());
  return *number;
}

double Params::Float(std::string_view name) const {
  std::optional<double> number = ToDouble(Raw(name));
  if (!number) Fail(name, "not a number: " + Raw(name).dump());
  return *number;
}

std::string Params::String(std::string_view name) const {
  const catalogue::Json& value = Raw(name);
  if (!value.is_string()) Fail(name, "not a string: " + value.dump());
  return value.get<std::string>();
}

std::vector<int64_t> Params::Ints(std::string_view name) const {
  const catalogue::Json& value = Raw(name);
  if (value.is_null()) return {};
  if (!value.is_array()) return {Int(name)};
  std::vector<int64_t> numbers;
  for (const catalogue::Json& item : value) {
    std::optional<int64_t> number = ToInt(item);
    if (!number) Fail(name, "not a list of whole numbers: " + value.dump());
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<double> Params::Floats(std::string_view name) const {
  const catalogue::Json& value = Raw(name);
  if (value.is_null()) return {};
  if (!value.is_array()) return {Float(name)};
  std::vector<double> numbers;
  for (const catalogue::Json& item : value) {
    std::optional<double> number = ToDouble(item);
    if (!number) Fail(name, "not a list of numbers: " + value.dump());
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::string> Params::Strings(std::string_view name) const {
  const catalogue::Json& value = Raw(name);
  if (value.is_null()) return {};
  if (!value.is_array()) return {String(name)};
  std::vector<std::string> texts;
  for (const catalogue::Json& item : value) {
    if (!item.is_string()) {
      Fail(name, "not a list of strings: " + value.dump());
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::optional<int64_t> Params::OptionalInt(std::string_view name) const {
  if (!Has(name)) return std::nullopt;
  return Int(name);
}

std::optional<double> Params::OptionalFloat(std::string_view name) const {
  if (!Has(name)) return std::nullopt;
  return Float(name);
}

std::optional<std::string> Params::OptionalString(std::string_view name) const {
  if (!Has(name)) return std::nullopt;
  return String(name);
}

bool Params::IsBetterHigher(const std::string& score) const {
  return scope_.IsBetterHigher(score);
}

const std::vector<NamedTensor>& Params::OptimizerTargets() const {
  return scope_.OptimizerTargets(path_);
}

std::shared_ptr<Optimizer> Params::Wrapped(
    std::shared_ptr<Optimizer> optimizer) const {
  return scope_.Wrapped(std::move(optimizer));
}

void Params::Notice(std::string_view severity, const std::string& text) const {
  scope_.Notice(severity, text);
}

bool Params::AllowsTorchScript() const {
  return scope_.registry().allows_torchscript();
}

std::shared_ptr<void> Params::MakeErased(std::type_index type,
                                         std::string_view name) const {
  if (!Has(name)) return nullptr;
  return scope_.Make(type, Raw(name), catalogue::AppendKey(path_, name));
}

std::vector<std::shared_ptr<void>> Params::MakeListErased(
    std::type_index type, std::string_view name) const {
  return scope_.MakeList(type, Raw(name), catalogue::AppendKey(path_, name));
}

std::vector<std::pair<std::string, std::vector<std::shared_ptr<void>>>>
Params::MakeListMapErased(std::type_index type, std::string_view name) const {
  std::vector<std::pair<std::string, std::vector<std::shared_ptr<void>>>> made;
  if (!Has(name)) return made;
  const std::string path = catalogue::AppendKey(path_, name);
  for (const auto& [key, value] : Raw(name).items()) {
    made.emplace_back(
        key, scope_.MakeList(type, value, catalogue::AppendKey(path, key)));
  }
  return made;
}

}  // namespace epochd::engine
