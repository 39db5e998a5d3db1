// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/hook/context.h"

#include <ATen/ATen.h>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

[[noreturn]] void RefuseName(std::string_view name, const char* problem) {
  throw Error(ErrorKind::kBadSpec,
              "metric \"" + std::string(name) + "\": " + problem +
                  "; a hook must add its metrics under names of their own");
}

}  // namespace

void RunnerContext::AddMetric(std::string_view name, at::Tensor value) {
  if (name.empty()) RefuseName(name, "a name without letters");
  if (name == "loss" || FindLoss(losses, name) != nullptr ||
      FindLoss(metrics, name) != nullptr) {
    RefuseName(name, "there is one of this name");
  }
  metrics.emplace_back(name, std::move(value));
}

void RunnerContext::AddMetric(std::string_view name, double value) {
  AddMetric(name, at::scalar_tensor(value, at::kDouble));
}

void TrainerContext::AddScore(std::string_view name, double value) {
  if (name.empty()) RefuseName(name, "a name without letters");
  if (FindScore(scores, name) != nullptr) {
    RefuseName(name, "there is one of this name");
  }
  scores.emplace_back(name, value);
}

}  // namespace epochd::engine
