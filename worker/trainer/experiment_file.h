// SPDX-License-Identifier: Apache-2.0
//
// The experiment that a run was, kept beside its results. Stateless.
#pragma once

#include <string>

#include "catalogue/catalogue.h"

namespace epochd::trainer {

// Writes `{"experiment": ...}` with every default spelled out, a job file as it
// is: `epochctl submit experiment.json`. Replaces that of an earlier attempt.
// Throws engine::Error(kInfrastructure).
void WriteExperiment(const std::string& path,
                     const catalogue::Catalogue& catalogue,
                     const std::string& experiment_json);

}  // namespace epochd::trainer
