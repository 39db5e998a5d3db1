// SPDX-License-Identifier: Apache-2.0
//
// JSON from outside, read with limits: an object, valid UTF-8, no key twice,
// bounded depth and size, so that nothing later overflows a stack or takes
// long. Stateless.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "proto/wire/status.h"

namespace epochd::api {

struct JsonLimits {
  int max_depth = 64;
  int max_values = 10000;
  int max_keys_per_object = 1000;
};

// Returns the object, or nothing after adding to `violations`: all keys that
// are doubled, else the first thing that is wrong. Field paths start at `root`.
std::optional<nlohmann::ordered_json> ParseLimitedJson(
    const std::string& input, const std::string& root, const JsonLimits& limits,
    std::vector<wire::FieldViolation>& violations);

}  // namespace epochd::api
