// SPDX-License-Identifier: Apache-2.0
//
// What a component's parameters must fulfil together: its rules, and those of
// lists. Stateless.
#pragma once

#include <string>

#include "catalogue/catalogue.h"
#include "catalogue/findings.h"

namespace epochd::catalogue {

// Reports what the list or map `value` of `parameter` has too many or too few
// of, and numbers that are out of order.
void CheckItems(const Parameter& parameter, const Json& value,
                const std::string& field, Findings& findings);

// Reports each rule of `component` that `parameters`, whose values are right by
// themselves, break. `field`: where they stand. `named`: the experiment, whose
// keys references name.
void CheckRules(const Component& component, const Json& parameters,
                const std::string& field, const Json& named,
                Findings& findings);

}  // namespace epochd::catalogue
