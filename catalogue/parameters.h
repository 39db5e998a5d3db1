// SPDX-License-Identifier: Apache-2.0
//
// A component's parameters by name or alias. Stateless.
#pragma once

#include <string_view>

#include "catalogue/catalogue.h"

namespace epochd::catalogue {

// The declaration that `key` answers to; nullptr: there is none.
const Parameter* FindParameter(const Component& component,
                               std::string_view key);

// What the mapping `given` says for a parameter, under whichever of its names;
// nullptr: nothing, or null.
const Json* FindGiven(const Parameter& parameter, const Json& given);

}  // namespace epochd::catalogue
