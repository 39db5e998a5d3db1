// SPDX-License-Identifier: Apache-2.0
//
// Opens the plugins that the operator of this machine named (see
// worker/engine/registry/plugin.h).
#pragma once

#include <string>

namespace epochd::trainer {

// `paths`: of shared libraries, separated by ':'. Called once, before
// Components(). Throws std::runtime_error naming the file and what is wrong.
void OpenPlugins(const std::string& paths);

}  // namespace epochd::trainer
