// SPDX-License-Identifier: Apache-2.0
//
// argv -> the command that it names, run. Used by main() and tests.
#pragma once

#include <string>
#include <vector>

#include "client/epochctl/context.h"

namespace epochd::epochctl {

// `arguments` without the program's name. Gives the exit code; kUsage after
// arguments that make no sense, which were explained on `context.err`.
int RunCommandLine(const std::vector<std::string>& arguments, Context& context);

}  // namespace epochd::epochctl
