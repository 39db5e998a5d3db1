// SPDX-License-Identifier: Apache-2.0
//
// Completion scripts for shells, made from the commands. Stateless.
#pragma once

#include <string>

namespace epochd::epochctl {

// `shell`: bash, zsh or fish.
std::string CompletionScript(const std::string& shell);

}  // namespace epochd::epochctl
