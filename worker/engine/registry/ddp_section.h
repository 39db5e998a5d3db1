// SPDX-License-Identifier: Apache-2.0
//
// `experiment.ddp`: how the ranks of a run work together. Declaration and
// reader; stateless.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "catalogue/catalogue.h"
#include "worker/engine/dist/sync_options.h"
#include "worker/engine/registry/registry.h"

namespace epochd::engine {

struct DdpOptions {
  SyncOptions sync;
  // Each rank keeps the optimizer's state of a part of the parameters alone.
  bool shards_optimizer = false;
  // Training samples that do not share out evenly are left out, not repeated.
  bool drops_uneven = false;
};

// "Ddp", of kind "section".
catalogue::Component DdpSection();

// `experiment`: validated.
DdpOptions ReadDdp(const Registry& registry, const catalogue::Json& experiment,
                   const std::string& root);

// How long a rank waits for its peers, of an experiment as JSON text that
// nobody has validated yet; nothing: it does not say.
std::optional<std::chrono::milliseconds> PeerTimeout(
    const std::string& experiment_json);

}  // namespace epochd::engine
