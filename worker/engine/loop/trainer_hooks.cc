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

Trainer::NamedHook& Trainer::AttachToSelf(const std::shared_ptr<Hook>& hook) {
  for (NamedHook& each : hooks_) {
    if (each.hook == hook) return each;
  }
  {
    const BindingPriority priority(hook->priority());
    hook->AttachToTrainer(*this);
  }
  std::string name = hook->name();
  int number = 1;
  for (const NamedHook& each : hooks_) {
    if (each.name == name || each.name.starts_with(name + "#")) ++number;
  }
  if (number > 1) name += "#" + std::to_string(number);
  const auto place =
      std::upper_bound(hooks_.begin(), hooks_.end(), hook->priority(),
                       [](int priority, const NamedHook& other) {
                         return priority < other.hook->priority();
                       });
  return *hooks_.insert(place, {std::move(name), hook});
}

void Trainer::AddHook(const std::shared_ptr<Hook>& hook) {
  AttachToSelf(hook);
  for (const char* pass : {"train", "val", "predict"}) {
    if (hook->IsInScope(pass)) AddHook(hook, pass);
  }
}

void Trainer::AddHook(const std::shared_ptr<Hook>& hook,
                      std::string_view pass) {
  std::vector<std::string>& passes = AttachToSelf(hook).passes;
  if (std::find(passes.begin(), passes.end(), pass) != passes.end()) return;
  passes.emplace_back(pass);
  if (pass == "train") {
    parts_.training_runner->Attach(*hook);
  } else if (pass == "val") {
    parts_.validation_runner->Attach(*hook);
  } else {
    parts_.prediction_runner->Attach(*hook);
  }
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

std::shared_ptr<Hook> Trainer::FindHook(std::string_view name) const {
  for (const NamedHook& each : hooks_) {
    if (each.name == name) return each.hook;
  }
  return nullptr;
}

}  // namespace epochd::engine
