// SPDX-License-Identifier: Apache-2.0
//
// DiscriminatorWarmup: the discriminator trains alone for the job's first
// `batches` batches, counted over all epochs and restarts.
#pragma once

#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class DiscriminatorWarmup : public engine::Hook {
 public:
  explicit DiscriminatorWarmup(int64_t batches) : batches_(batches) {}

  const char* name() const override { return "DiscriminatorWarmup"; }
  void AttachToGan(engine::GanTrainingRunner& runner) override;

 private:
  const int64_t batches_;
};

engine::Entry<engine::Hook> DiscriminatorWarmupEntry();

}  // namespace epochd::hooks
