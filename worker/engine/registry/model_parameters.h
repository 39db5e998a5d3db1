// SPDX-License-Identifier: Apache-2.0
//
// The parameters that every model has beside its own: what it starts from and
// what of it stays as it is.
//
//   model: {type: ResNet, num_classes: 7,
//           init: {type: kaiming_normal, match: fc.weight},
//           weights: {file: resnet18.safetensors, strict: false},
//           freeze: [conv1, bn1, "layer?.0"]}
#pragma once

#include <vector>

#include "worker/engine/core/model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<catalogue::Parameter> ModelParameters();

// The section of `weights`.
catalogue::Component WeightsSection();

// Initializes, loads, freezes, in this order. What was loaded is told as a
// notice. Throws Error(kBadSpec) naming the parameter.
void ApplyModelParameters(const Params& params, Model& model);

}  // namespace epochd::engine
