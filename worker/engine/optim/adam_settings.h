// SPDX-License-Identifier: Apache-2.0
//
// What Adam and its relatives have in common.
#pragma once

#include "worker/engine/optim/grouped.h"

namespace epochd::engine {

struct AdamSettings {
  double lr = 1e-3;
  // Momentum of the groups.
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  // Of Adam alone: divides by the greatest mean so far.
  bool amsgrad = false;
  bool maximize = false;
  // Whether weights shrink themselves, rather than by their gradient.
  bool decoupled_weight_decay = false;

  CommonSettings of_groups() const {
    return {.lr = lr, .momentum = beta1, .weight_decay = weight_decay};
  }
};

}  // namespace epochd::engine
