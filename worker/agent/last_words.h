// SPDX-License-Identifier: Apache-2.0
//
// What a rank last had to say for itself. Reads files; any thread.
#pragma once

#include <string>

namespace epochd::agent {

// The last error in events.jsonl, else, said to be that, the last line of the
// log; one line of printable UTF-8, short enough for a message. Empty: none.
std::string LastWords(const std::string& rank_dir);

}  // namespace epochd::agent
