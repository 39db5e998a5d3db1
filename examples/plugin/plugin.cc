// SPDX-License-Identifier: Apache-2.0
//
// What this library adds: a runner and a hook for it.
#include "worker/engine/registry/plugin.h"

#include <ATen/ATen.h>

#include "sharpness_runner.h"

namespace sharpness {
namespace {

// Adds how much the loss rises within rho of the weights.
class SharpnessLogger : public engine::Hook, public SharpnessHook {
 public:
  const char* name() const override { return "SharpnessLogger"; }
  void AttachToSharpness(SharpnessRunner& runner) override {
    runner.on_ascent.Bind([](SharpnessContext& context) {
      context.AddMetric("sharpness", context.raised_loss - context.loss);
    });
  }
};

std::shared_ptr<engine::EpochRunner> MakeRunner(const engine::Params& params) {
  auto optimizer = params.Make<engine::Optimizer>("optimizer");
  if (optimizer == nullptr) params.Fail("optimizer", "missing");
  return std::make_shared<SharpnessRunner>(std::move(optimizer),
                                           params.Float("rho"));
}

std::shared_ptr<engine::Hook> MakeLogger(const engine::Params&) {
  return std::make_shared<SharpnessLogger>();
}

void Add(engine::Registry& registry) {
  registry.Add<engine::EpochRunner>(
      {{{.kind = "runner",
         .name = "SharpnessRunner",
         .help = "sharpness-aware minimization; one device only",
         .max_replicas = 1,
         .parameters = {{.name = "optimizer",
                         .type = "component<optimizer>",
                         .help = "experiment.optimizer by default"},
                        {.name = "rho",
                         .type = "float",
                         .default_value = 0.05,
                         .min = 0,
                         .help = "how far it climbs"}}},
        &MakeRunner}});
  registry.Add<engine::Hook>(
      {{{.kind = "hook",
         .name = "SharpnessLogger",
         .help = "train/sharpness: what the loss rises by within rho"},
        &MakeLogger}});
}

}  // namespace
}  // namespace sharpness

EPOCHD_PLUGIN(sharpness::Add);
