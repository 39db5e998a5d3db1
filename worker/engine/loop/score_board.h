// SPDX-License-Identifier: Apache-2.0
//
// What ranks measured, as the scores of the whole. Collective: every rank
// calls, with what it has; one that saw no sample takes part all the same.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/metric.h"
#include "worker/engine/dist/communicator.h"
#include "worker/engine/hook/context.h"
#include "worker/engine/loop/meter.h"

namespace epochd::engine {

// Means over all samples of all ranks, under `prefix` + name, in the order of
// the first rank that has a name. A name without samples has no score.
Scores ReduceMeter(Communicator& communicator, const Meter& meter,
                   const std::string& prefix);

// Values and tables of the metrics over all ranks, appended under `prefix` +
// name. Throws Error(kTraining), on all ranks, when ranks have seen different
// numbers of classes.
void ReduceMetrics(Communicator& communicator,
                   const std::vector<std::shared_ptr<Metric>>& metrics,
                   const std::string& prefix, Scores& scores,
                   std::vector<MetricTable>& tables);

}  // namespace epochd::engine
