// SPDX-License-Identifier: Apache-2.0
//
// Registry: the components that a process can build. Filled from explicit
// lists at start (registry/builtin.h, hooks/builtin.h), then frozen; read-only
// and safe from any thread after that.
//
//   Registry registry;
//   AddBuiltins(registry);
//   registry.Add(hooks::BuiltinHooks());
//   registry.Freeze();
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "catalogue/catalogue.h"
#include "worker/engine/core/loss.h"
#include "worker/engine/data/views.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/hook_parameters.h"
#include "worker/engine/registry/loader_parameters.h"
#include "worker/engine/registry/model_parameters.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

class Registry {
 public:
  using Maker = std::function<std::shared_ptr<void>(const Params&)>;

  // Adds what can be built as a T; all entries of a T are of one kind. Throws
  // std::logic_error for a name that is taken, or after Freeze().
  template <class T>
  void Add(const std::vector<Entry<T>>& entries) {
    for (const Entry<T>& entry : entries) {
      AddOne<T>(entry.component, entry.make);
    }
  }
  template <class T>
  void AddOne(const catalogue::Component& component,
              std::function<std::shared_ptr<T>(const Params&)> make) {
    AddErased(typeid(T), component,
              [make](const Params& params) -> std::shared_ptr<void> {
                std::shared_ptr<T> made = make(params);
                if constexpr (std::is_same_v<T, Loss>) {
                  if (params.Has("weight")) {
                    made->set_weight(params.Float("weight"));
                  }
                }
                if constexpr (std::is_same_v<T, Dataset>) {
                  made = WithTransforms(
                      std::make_shared<Float32Dataset>(std::move(made)),
                      params);
                }
                if constexpr (std::is_same_v<T, Model>) {
                  ApplyModelParameters(params, *made);
                }
                if constexpr (std::is_same_v<T, Hook>) {
                  ApplyHookParameters(params, *made);
                }
                return made;
              });
  }
  // Adds a declaration that nothing is built from (the experiment itself).
  void Declare(catalogue::Component component);
  void Freeze() { frozen_ = true; }
  // Lets experiments name TorchScript archives, which hold code. Before
  // Freeze(); not allowed by default.
  void AllowTorchScript() { allows_torchscript_ = true; }
  bool allows_torchscript() const { return allows_torchscript_; }

  const catalogue::Catalogue& catalogue() const { return catalogue_; }
  // Kind of the components that are built as `type`. Throws std::logic_error.
  const std::string& KindOf(std::type_index type) const;
  // nullptr: there is none.
  const catalogue::Component* Find(const std::string& kind,
                                   const std::string& name) const {
    return catalogue_.Find(kind, name);
  }
  const Maker& MakerOf(const catalogue::Component& component) const;

 private:
  void AddErased(std::type_index type, catalogue::Component component,
                 Maker maker);

  bool frozen_ = false;
  bool allows_torchscript_ = false;
  catalogue::Catalogue catalogue_;
  std::unordered_map<std::type_index, std::string> kinds_;
  // By "kind/Name".
  std::unordered_map<std::string, Maker> makers_;
};

// Parameters of `value` under their declared names, completed with defaults.
// `value` is a component in any of its forms (catalogue/component_form.h), or
// a section's mapping. What is null counts as not given.
catalogue::Json Complete(const catalogue::Component& component,
                         const catalogue::Json& value);

// The component's name in `value`; empty: it is no component.
std::string ComponentName(const catalogue::Json& value);

}  // namespace epochd::engine
