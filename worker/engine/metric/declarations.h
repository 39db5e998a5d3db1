// SPDX-License-Identifier: Apache-2.0
//
// What declarations of metrics share. Used while the registry is built and
// while metrics are.
#pragma once

#include <string>
#include <vector>

#include "worker/engine/core/metric.h"
#include "worker/engine/loss/fields.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

// A metric's own parameters, then `output`, `target`, `mask`,
// `sample_weight` and `name`.
std::vector<catalogue::Parameter> MetricParameters(
    std::vector<catalogue::Parameter> parameters, const std::string& name);
// The same where the name follows from other parameters.
std::vector<catalogue::Parameter> MetricParametersNamed(
    std::vector<catalogue::Parameter> parameters, catalogue::Parameter name);

ComparedFields MetricFields(const Params& params);

// Its parts of the list in builtin.h: of classes and labels.
std::vector<Entry<Metric>> BuiltinLabelMetrics();

}  // namespace epochd::engine
