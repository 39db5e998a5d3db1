// SPDX-License-Identifier: Apache-2.0
//
// Which epochd this is. Constants; any thread.
#pragma once

#include <string>

namespace epochd::program {

// Such as "0.1.0".
std::string Version();

// Twelve hex digits of the git commit at configure time, or "unknown".
std::string Commit();

// What --version prints: "epochd 0.1.0 (0123456789ab)".
std::string VersionLine(const std::string& program);

}  // namespace epochd::program
