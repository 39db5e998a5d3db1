// SPDX-License-Identifier: Apache-2.0
//
// Declarations of runners and trainers, and how to build runners. Trainers are
// put together by registry/experiment.h, as they join all other parts.
#pragma once

#include <vector>

#include "worker/engine/loop/epoch_runner.h"
#include "worker/engine/loop/prediction_runner.h"
#include "worker/engine/loop/validation_runner.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<EpochRunner>> BuiltinRunners();
std::vector<Entry<ValidationRunner>> BuiltinValidationRunners();
std::vector<Entry<PredictionRunner>> BuiltinPredictionRunners();
// EpochTrainer and IterationTrainer: one loop, planned by epochs or by batches.
std::vector<catalogue::Component> TrainerComponents();

}  // namespace epochd::engine
