// SPDX-License-Identifier: Apache-2.0
//
// The check of one value that holds no others. Stateless.
#pragma once

#include <optional>
#include <string>

#include "catalogue/catalogue.h"
#include "catalogue/type.h"

namespace epochd::catalogue {

// Says what is wrong with `value` as a `type` (none of any, map, list, section
// and component) within the bounds of `parameter`; nothing: it is accepted.
std::optional<std::string> CheckScalar(const Parameter& parameter,
                                       const Type& type, const Json& value);

}  // namespace epochd::catalogue
