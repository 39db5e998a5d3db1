// SPDX-License-Identifier: Apache-2.0
//
// The data module that an experiment names (`experiment.data_module`), walked
// through its first stages. Called before BuildExperiment(), whose data sets
// may read what it brings; the result is kept until the run is over.
#pragma once

#include <memory>
#include <string>

#include "worker/engine/data/data_module.h"
#include "worker/engine/registry/registry.h"

namespace epochd::engine {

// nullptr: it names none. Collective. Throws Error(kBadSpec) with all that is
// wrong in the experiment, and what the module throws.
std::unique_ptr<DataStages> PrepareData(const Registry& registry,
                                        const catalogue::Json& experiment,
                                        const std::string& root,
                                        Communicator& communicator);

}  // namespace epochd::engine
