// SPDX-License-Identifier: Apache-2.0
//
// Groups of keys of the experiment that are no components: what is compared,
// where chance comes from. Declarations and readers; stateless.
#pragma once

#include <cstdint>
#include <vector>

#include "catalogue/catalogue.h"
#include "worker/engine/registry/registry.h"

namespace epochd::engine {

// `randomness`: MMEngine's key of that name.
struct Randomness {
  uint64_t seed = 0;
  // Only algorithms that give the same bits each time; those that cannot are
  // errors, and cuDNN is not timed for its fastest.
  bool deterministic = false;
};

// "Monitor" and "Randomness", of kind "section".
std::vector<catalogue::Component> ConfigSections();

// Reads `randomness`, and `seed`, which means `randomness.seed`. `experiment`:
// validated. Throws Error(kBadSpec) where both are given and differ.
Randomness ReadRandomness(const Registry& registry,
                          const catalogue::Json& experiment,
                          const std::string& root);

}  // namespace epochd::engine
