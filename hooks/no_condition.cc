// SPDX-License-Identifier: Apache-2.0
#include "hooks/no_condition.h"

namespace epochd::hooks {
namespace {

class NoCondition : public engine::Hook {
 public:
  const char* name() const override { return "NoCondition"; }
};

}  // namespace

engine::Entry<engine::Hook> NoConditionEntry() {
  return {{.kind = "hook",
           .name = "NoCondition",
           .help = "a stop condition that never stops"},
          [](const engine::Params&) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<NoCondition>();
          }};
}

}  // namespace epochd::hooks
