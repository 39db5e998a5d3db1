// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/hook_parameters.h"

#include <optional>
#include <string>

namespace epochd::engine {

std::vector<catalogue::Parameter> HookParameters() {
  return {{.name = "priority",
           .type = "any",
           .default_value = "NORMAL",
           .help = "HIGHEST, VERY_HIGH, HIGH, ABOVE_NORMAL, NORMAL, "
                   "BELOW_NORMAL, LOW, VERY_LOW, LOWEST, or 0 to 100; lower "
                   "numbers run first, equal ones as listed"},
          {.name = "scope",
           .type = "list<string>",
           .choices = {"train", "val", "predict"},
           .scalar_ok = true,
           .help = "passes that it takes part in; all by default"}};
}

void ApplyHookParameters(const Params& params, Hook& hook) {
  if (params.Has("priority")) {
    const catalogue::Json& given = params.Raw("priority");
    std::optional<int> priority;
    if (given.is_string()) {
      priority = PriorityByName(given.get<std::string>());
    } else if (given.is_number_integer() && given >= kHighestPriority &&
               given <= kLowestPriority) {
      priority = given.get<int>();
    }
    if (!priority) {
      params.Fail("priority", given.dump() +
                                  "; a name such as HIGH, or a whole number "
                                  "from 0 to 100, is accepted");
    }
    hook.set_priority(*priority);
  }
  if (params.Has("scope")) hook.set_scope(params.Strings("scope"));
}

}  // namespace epochd::engine
