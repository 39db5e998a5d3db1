// SPDX-License-Identifier: Apache-2.0
#include "catalogue/parameters.h"

#include <algorithm>

namespace epochd::catalogue {

const Parameter* FindParameter(const Component& component,
                               std::string_view key) {
  for (const Parameter& parameter : component.parameters) {
    if (parameter.name == key ||
        std::find(parameter.aliases.begin(), parameter.aliases.end(), key) !=
            parameter.aliases.end()) {
      return &parameter;
    }
  }
  return nullptr;
}

const Json* FindGiven(const Parameter& parameter, const Json& given) {
  const auto at = [&given](const std::string& key) -> const Json* {
    const auto found = given.find(key);
    return found == given.end() || found->is_null() ? nullptr : &*found;
  };
  if (const Json* value = at(parameter.name)) return value;
  for (const std::string& alias : parameter.aliases) {
    if (const Json* value = at(alias)) return value;
  }
  return nullptr;
}

}  // namespace epochd::catalogue
