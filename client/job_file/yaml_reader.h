// SPDX-License-Identifier: Apache-2.0
//
// The YAML half of ReadDocument(); reads events, builds no YAML::Node (which
// takes 85 times the text in memory and keeps the first of duplicate keys).
#pragma once

#include <string_view>

#include "client/job_file/document.h"

namespace epochd::client {

void ReadYaml(std::string_view text, Document& document);

}  // namespace epochd::client
