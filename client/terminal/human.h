// SPDX-License-Identifier: Apache-2.0
//
// Quantities as people read them. Stateless.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace epochd::terminal {

// "850ms", "12s", "3m12s", "2h05m", "4d03h"; "-" when negative or infinite.
std::string HumanDuration(absl::Duration duration);

// "17B", "1.5KiB", "64MiB".
std::string HumanBytes(int64_t bytes);

// Four significant digits, or so many more: "0.9750", "1.234e-05", "12.35",
// "1234567".
std::string HumanNumber(double value, int more_digits = 0);

// "950", "12.3k", "4.57M".
std::string HumanCount(double value);

}  // namespace epochd::terminal
