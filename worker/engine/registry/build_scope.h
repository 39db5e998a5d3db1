// SPDX-License-Identifier: Apache-2.0
//
// BuildScope: what building one experiment shares: the named objects that
// `${ref:name}` binds, each built once, and what optimizers update. Lives
// during the build; one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "worker/engine/core/optimizer.h"
#include "worker/engine/registry/registry.h"

namespace epochd::engine {

class BuildScope {
 public:
  // `experiment` is the whole section; its keys are the named objects. Both
  // outlive the scope.
  BuildScope(const Registry& registry, const catalogue::Json& experiment,
             std::string root)
      : registry_(registry), experiment_(experiment), root_(std::move(root)) {}

  // Builds `value` (a component, or a reference to one) as a `type`; what
  // stands at a key of the experiment is built once. Throws
  // Error(kBadSpec) naming `path`: no such name or object, objects that refer
  // to each other in a circle, or what the component says.
  std::shared_ptr<void> Make(std::type_index type, const catalogue::Json& value,
                             const std::string& path);
  std::vector<std::shared_ptr<void>> MakeList(std::type_index type,
                                              const catalogue::Json& value,
                                              const std::string& path);
  // The list that `value` refers to, with `path` where it stands; `value`
  // itself when it refers to none.
  const catalogue::Json& FollowList(const catalogue::Json& value,
                                    std::string& path) const;
  template <class T>
  std::shared_ptr<T> MakeAs(const catalogue::Json& value,
                            const std::string& path) {
    return std::static_pointer_cast<T>(Make(typeid(T), value, path));
  }
  // Parameters that the optimizer at `path` updates: those set for it, else
  // those of the whole model.
  const std::vector<NamedTensor>& OptimizerTargets(
      const std::string& path) const;
  // Sets them; "" for all others.
  void SetOptimizerTargets(const std::string& path,
                           std::vector<NamedTensor> targets) {
    targets_[path] = std::move(targets);
  }

  // Is put around each optimizer once it is built.
  using OptimizerWrap =
      std::function<std::shared_ptr<Optimizer>(std::shared_ptr<Optimizer>)>;
  void SetOptimizerWrap(OptimizerWrap wrap) {
    optimizer_wrap_ = std::move(wrap);
  }
  std::shared_ptr<Optimizer> Wrapped(
      std::shared_ptr<Optimizer> optimizer) const {
    return optimizer_wrap_ ? optimizer_wrap_(std::move(optimizer)) : optimizer;
  }

  // Where notices of what is built go; nowhere by default.
  using NoticeFunction =
      std::function<void(std::string_view severity, const std::string& text)>;
  void SetNotices(NoticeFunction notices) { notices_ = std::move(notices); }
  void Notice(std::string_view severity, const std::string& text) const {
    if (notices_) notices_(severity, text);
  }

  // Tells whether more is better of a score; empty: of the monitored one.
  using Direction = std::function<bool(const std::string& score)>;
  void SetDirection(Direction direction) { direction_ = std::move(direction); }
  bool IsBetterHigher(const std::string& score) const {
    return direction_ && direction_(score);
  }

  // The component and the completed parameters of `value`, references
  // followed.
  struct Resolved {
    const catalogue::Component* component = nullptr;
    catalogue::Json values;
  };
  Resolved Resolve(const std::string& kind, const catalogue::Json& value,
                   const std::string& path) const;

  const Registry& registry() const { return registry_; }
  const std::string& root() const { return root_; }

 private:
  struct Named {
    std::type_index type;
    std::shared_ptr<void> object;  // nullptr: being built
  };
  std::shared_ptr<void> Reference(std::type_index type, const std::string& name,
                                  const std::string& path);
  std::shared_ptr<void> Build(std::type_index type,
                              const catalogue::Json& value,
                              const std::string& path);
  // The component that `value` is or refers to. Throws Error(kBadSpec) naming
  // `path`.
  const catalogue::Json& Follow(const catalogue::Json& value,
                                const std::string& path) const;
  // Throws what the declaration refuses of `value`.
  void CheckDeclared(const std::string& kind, const catalogue::Json& value,
                     const std::string& path) const;

  const Registry& registry_;
  const catalogue::Json& experiment_;
  const std::string root_;
  std::unordered_map<std::string, Named> named_;
  std::unordered_map<std::string, std::vector<NamedTensor>> targets_;
  OptimizerWrap optimizer_wrap_;
  NoticeFunction notices_;
  Direction direction_;
};

// The name in "${ref:name}"; empty: no reference.
std::string ReferenceName(const catalogue::Json& value);

}  // namespace epochd::engine
