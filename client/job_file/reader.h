// SPDX-License-Identifier: Apache-2.0
//
// Text of a job file -> Document. YAML 1.2 or JSON, with the limits of both
// the same; duplicate keys, anchors, aliases, tags and further documents are
// refused with their place. Never throws; any bytes are safe to give.
// Stateless.
#pragma once

#include <cstddef>
#include <string_view>

#include "client/job_file/document.h"

namespace epochd::client {

inline constexpr size_t kMaxFileBytes = 256 * 1024;
inline constexpr size_t kMaxDepth = 64;
inline constexpr size_t kMaxValues = 10000;

// `is_json`: the text is JSON by its name. Otherwise it is YAML, unless all of
// it is a JSON object.
Document ReadDocument(std::string_view text, bool is_json = false);

}  // namespace epochd::client
