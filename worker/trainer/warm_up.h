// SPDX-License-Identifier: Apache-2.0
//
// Touches what a rank's first step will need, in the process that ranks are
// forked from: code pages, operator tables, the registry.
#pragma once

namespace epochd::trainer {

// Starts no thread. Throws std::runtime_error if there is one afterwards: a
// process with threads must not fork ranks.
void WarmUp();

}  // namespace epochd::trainer
