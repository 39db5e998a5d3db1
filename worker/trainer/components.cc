// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/components.h"

#include "hooks/builtin.h"
#include "worker/engine/registry/builtin.h"

namespace epochd::trainer {

const engine::Registry& Components() {
  static const engine::Registry registry = [] {
    engine::Registry filled;
    engine::AddBuiltins(filled);
    filled.Add(hooks::BuiltinHooks());
    filled.Freeze();
    return filled;
  }();
  return registry;
}

}  // namespace epochd::trainer
