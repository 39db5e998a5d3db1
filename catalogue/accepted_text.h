// SPDX-License-Identifier: Apache-2.0
//
// What a parameter accepts beside its type, in words; messages and documents
// share them. Pure functions.
#pragma once

#include <string>

#include "catalogue/catalogue.h"

namespace epochd::catalogue {

// "at least 1", "at least 0, less than 1", "2, 3 or 4"; empty: any number.
std::string RangeText(const Parameter& parameter);
// "1 to 3 values", "at least 1 value"; empty: any.
std::string ItemsText(const Parameter& parameter);
// "rising", "not falling"; empty: in any order.
std::string OrderText(const Parameter& parameter);
// What one writes: "an integer, at least 1", "a model such as {type: MLP,
// ...}".
std::string ValueText(const Catalogue& catalogue, const Parameter& parameter);
// "a model such as {type: MLP, ...}"; "a GAN such as ..." for that role.
std::string ExampleText(const Catalogue& catalogue, const std::string& kind,
                        const std::string& role = "");
// "exactly one of a, b", "a less than b".
std::string RuleText(const Rule& rule);
// "a, b or c".
std::string OrList(const std::vector<std::string>& words);
// " with rule: mmengine", " with sampler"; empty: always.
std::string ConditionText(const std::vector<Condition>& when);

}  // namespace epochd::catalogue
