// SPDX-License-Identifier: Apache-2.0
//
// Params: typed access to one component's parameters while it is built. They
// were validated against the declaration and completed with its defaults, so a
// getter throws Error(kBadSpec, "<path>: ...") only for what the declaration
// cannot say. What else a builder throws gets the path of its component in
// front (build_scope.cc). Lives during a build call only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "catalogue/catalogue.h"
#include "worker/engine/core/model.h"

namespace epochd::engine {

class BuildScope;
class Optimizer;

class Params {
 public:
  Params(const catalogue::Json& values, std::string path, BuildScope& scope)
      : values_(values), path_(std::move(path)), scope_(scope) {}

  // Present and not null.
  bool Has(std::string_view name) const;
  bool Bool(std::string_view name) const;
  int64_t Int(std::string_view name) const;
  double Float(std::string_view name) const;
  std::string String(std::string_view name) const;
  std::vector<int64_t> Ints(std::string_view name) const;
  std::vector<double> Floats(std::string_view name) const;
  std::vector<std::string> Strings(std::string_view name) const;
  std::optional<int64_t> OptionalInt(std::string_view name) const;
  std::optional<double> OptionalFloat(std::string_view name) const;
  std::optional<std::string> OptionalString(std::string_view name) const;
  const catalogue::Json& Raw(std::string_view name) const;

  // Builds the nested component; nullptr when the parameter is absent. T is
  // a type that the registry has entries for. Shared: `${ref:name}` binds the
  // one object in several places.
  template <class T>
  std::shared_ptr<T> Make(std::string_view name) const {
    return std::static_pointer_cast<T>(MakeErased(typeid(T), name));
  }
  // One value stands for a list of one; an absent parameter for an empty one.
  template <class T>
  std::vector<std::shared_ptr<T>> MakeList(std::string_view name) const {
    std::vector<std::shared_ptr<T>> made;
    for (auto& object : MakeListErased(typeid(T), name)) {
      made.push_back(std::static_pointer_cast<T>(std::move(object)));
    }
    return made;
  }

  // Of a mapping of lists; by key, in order.
  template <class T>
  std::vector<std::pair<std::string, std::vector<std::shared_ptr<T>>>>
  MakeListMap(std::string_view name) const {
    std::vector<std::pair<std::string, std::vector<std::shared_ptr<T>>>> made;
    for (auto& [key, list] : MakeListMapErased(typeid(T), name)) {
      made.emplace_back(key, std::vector<std::shared_ptr<T>>());
      for (auto& object : list) {
        made.back().second.push_back(
            std::static_pointer_cast<T>(std::move(object)));
      }
    }
    return made;
  }

  // Whether more is better of `score` (empty: of the monitored one), as
  // experiment.monitor or the metric that gives it says; false: nobody says.
  bool IsBetterHigher(const std::string& score) const;
  // What an optimizer that is being built updates.
  const std::vector<NamedTensor>& OptimizerTargets() const;
  // The optimizer that was built, with what the experiment puts around it.
  std::shared_ptr<Optimizer> Wrapped(
      std::shared_ptr<Optimizer> optimizer) const;

  // Tells people, "info" or "warning", once for all ranks.
  void Notice(std::string_view severity, const std::string& text) const;

  // See Registry::AllowTorchScript().
  bool AllowsTorchScript() const;

  // Such as experiment.hooks[1].
  const std::string& path() const { return path_; }
  // The error to throw about a parameter of this component.
  [[noreturn]] void Fail(std::string_view name,
                         const std::string& problem) const;

 private:
  std::shared_ptr<void> MakeErased(std::type_index type,
                                   std::string_view name) const;
  std::vector<std::shared_ptr<void>> MakeListErased(
      std::type_index type, std::string_view name) const;

  std::vector<std::pair<std::string, std::vector<std::shared_ptr<void>>>>
  MakeListMapErased(std::type_index type, std::string_view name) const;

  const catalogue::Json& values_;
  std::string path_;
  BuildScope& scope_;
};

// What a list of built-in components consists of: its declaration and how to
// build it. Lists are plain functions (`BuiltinModels()`), put together in one
// explicit place (registry/builtin.cc), then frozen.
template <class T>
struct Entry {
  catalogue::Component component;
  std::shared_ptr<T> (*make)(const Params& params);
};

}  // namespace epochd::engine
