// SPDX-License-Identifier: Apache-2.0
//
// What every scheduler takes in a job file beside its own parameters: what it
// changes, in which unit it counts, and its window.
#pragma once

#include <vector>

#include "worker/engine/registry/params.h"
#include "worker/engine/schedule/windowed.h"

namespace epochd::engine {

// `setting`, `by`, `begin`, `end`, `convert_to_iter_based`, their spellings in
// MMEngine, and those of torch that mean nothing here.
std::vector<catalogue::Parameter> ScheduleParameters();
// What they must fulfil together.
std::vector<catalogue::Rule> ScheduleRules();

// Reads them; `setting` is what the component changes unless it says so.
ScheduleOptions ReadScheduleOptions(const Params& params, Setting setting);

}  // namespace epochd::engine
