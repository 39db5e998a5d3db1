// SPDX-License-Identifier: Apache-2.0
//
// Trainer's hooks: their order, their beginning and their end.
#include <algorithm>
#include <utility>

#include "worker/engine/loop/trainer.h"

namespace epochd::engine {

Trainer::~Trainer() {
  // Of a run that was set up and never ran.
  EndHooks(RunResult::kFailed, nullptr);
}

void Trainer::AdoptHook(std::shared_ptr<Hook> hook) {
  std::string name = hook->name();
  int number = 1;
  for (const NamedHook& each : hooks_) {
    if (each.hook == hook) return;
    if (each.name == name || each.name.starts_with(name + "#")) ++number;
  }
  if (number > 1) name += "#" + std::to_string(number);
  const auto place =
      std::upper_bound(hooks_.begin(), hooks_.end(), hook->priority(),
                       [](int priority, const NamedHook& other) {
                         return priority < other.hook->priority();
                       });
  hooks_.insert(place, {std::move(name), std::move(hook)});
}

void Trainer::AddHook(std::shared_ptr<Hook> hook) {
  {
    const BindingPriority priority(hook->priority());
    hook->AttachToTrainer(*this);
  }
  if (hook->IsInScope("train")) parts_.training_runner->Attach(*hook);
  if (hook->IsInScope("val")) parts_.validation_runner->Attach(*hook);
  if (hook->IsInScope("predict")) parts_.prediction_runner->Attach(*hook);
  AdoptHook(std::move(hook));
}

void Trainer::SetUpHooks() {
  for (const NamedHook& each : hooks_) {
    each.hook->Setup(*this);
    set_up_.push_back(each.hook);
  }
}

void Trainer::EndHooks(RunResult result, const std::exception* cause) {
  const auto hooks = std::exchange(set_up_, {});
  // One hook's trouble does not keep the others from closing what they have.
  const auto each = [&](const auto& call) {
    for (const std::shared_ptr<Hook>& hook : hooks) {
      try {
        call(*hook);
      } catch (const std::exception& error) {
        environment_.events->Notice(
            "warning", std::string(hook->name()) +
                           ": at the end of the run: " + error.what());
      }
    }
  };
  if (cause != nullptr) {
    each([&](Hook& hook) { hook.OnException(context_, *cause); });
  }
  each([&](Hook& hook) { hook.Finalize(context_, result); });
  each([&](Hook& hook) { hook.Teardown(*this); });
}

void Trainer::Guard(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    EndHooks(RunResult::kFailed, &error);
    throw;
  }
}

bool Trainer::HasHook(std::string_view name) const {
  for (const NamedHook& each : hooks_) {
    if (each.name == name) return true;
  }
  return false;
}

}  // namespace epochd::engine
