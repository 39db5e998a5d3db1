// SPDX-License-Identifier: Apache-2.0
//
// What a plain scalar of YAML means under the core schema of YAML 1.2:
// `true` and `false` are the only booleans, `2e-4` is a number, `on`, `no` and
// `1_000` are text. Stateless.
#pragma once

#include <string>
#include <string_view>

#include "client/job_file/document.h"

namespace epochd::client {

struct Scalar {
  Json value;
  // Why it can't be taken; empty: it can.
  std::string problem;
};

Scalar ResolvePlain(std::string_view text);

}  // namespace epochd::client
