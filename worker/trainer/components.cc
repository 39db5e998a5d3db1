// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/components.h"

#include "hooks/builtin.h"
#include "worker/engine/registry/builtin.h"

namespace epochd::trainer {
namespace {

engine::Registry& Filled() {
  static engine::Registry registry = [] {
    engine::Registry filled;
    engine::AddBuiltins(filled);
    filled.Add(hooks::BuiltinHooks());
    return filled;
  }();
  return registry;
}

}  // namespace

const engine::Registry& Components() {
  static const engine::Registry& frozen = []() -> engine::Registry& {
    Filled().Freeze();
    return Filled();
  }();
  return frozen;
}

void AllowTorchScript() { Filled().AllowTorchScript(); }

void AddPlugin(const engine::Plugin& plugin) { plugin.add(Filled()); }

}  // namespace epochd::trainer
