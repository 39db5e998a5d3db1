// SPDX-License-Identifier: Apache-2.0
//
// EnvironmentReport: what a run ran on, as <output>/environment.json: versions
// of epochd and LibTorch, compiler, processor, memory, threads, device, ranks,
// seed. Written by rank 0 when training, evaluation or prediction begins.
#pragma once

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class EnvironmentReport : public engine::Hook {
 public:
  const char* name() const override { return "EnvironmentReport"; }
  void AttachToTrainer(engine::Trainer& trainer) override;
};

engine::Entry<engine::Hook> EnvironmentReportEntry();

}  // namespace epochd::hooks
