// SPDX-License-Identifier: Apache-2.0
//
// IdleRunner: stands for the training side where nothing is trained (tasks that
// validate, test, predict or measure speed).
#pragma once

#include <stdexcept>

#include "worker/engine/loop/epoch_runner.h"

namespace epochd::engine {

class IdleRunner : public EpochRunner {
 public:
  bool RunEpoch(EpochRun&) override {
    throw std::logic_error("this task does not train");
  }
  std::vector<std::pair<std::string, std::shared_ptr<Optimizer>>> Optimizers()
      const override {
    return {};
  }
  void CheckModel(Model&) const override {}
  bool needs_criterion() const override { return true; }

 protected:
  void BindHook(Hook&) override {}
};

}  // namespace epochd::engine
