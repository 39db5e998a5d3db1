// SPDX-License-Identifier: Apache-2.0
//
// Plugin: a shared library with components of somebody else's: models, hooks,
// runners. It links libepochd_engine.so alone (`find_package(epochd)`, target
// epochd::engine) and says once what it adds:
//
//   void AddMine(epochd::engine::Registry& registry) { registry.Add(...); }
//   EPOCHD_PLUGIN(AddMine);
//
// epochd-trainer opens what --plugins names before it starts a thread, and
// closes it never. The engine's C++ ABI is pinned by its version: a plugin
// built for another one is refused.
#pragma once

#include "worker/engine/registry/registry.h"

namespace epochd::engine {

struct Plugin {
  const char* engine_version;  // that it was built for
  // Called once, before the registry is frozen. Throws std::logic_error for a
  // name that is taken.
  void (*add)(Registry& registry);
};

}  // namespace epochd::engine

#define EPOCHD_PLUGIN(add_function)                             \
  extern "C" __attribute__((visibility("default")))             \
  const epochd::engine::Plugin epochd_plugin = {EPOCHD_VERSION, \
                                                &(add_function)}
