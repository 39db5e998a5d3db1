// SPDX-License-Identifier: Apache-2.0
//
// The list of built-in losses: declarations and how to build each.
#pragma once

#include <vector>

#include "worker/engine/core/loss.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

// All of them.
std::vector<Entry<Loss>> BuiltinLosses();

// Its parts: of labels and of differences, of images, of GANs.
std::vector<Entry<Loss>> BuiltinElementLosses();
std::vector<Entry<Loss>> BuiltinImageLosses();
std::vector<Entry<Loss>> BuiltinGanLosses();

}  // namespace epochd::engine
