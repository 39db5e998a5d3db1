// SPDX-License-Identifier: Apache-2.0
//
// The JSON half of ReadDocument().
#pragma once

#include <string_view>

#include "client/job_file/document.h"

namespace epochd::client {

void ReadJson(std::string_view text, Document& document);

}  // namespace epochd::client
