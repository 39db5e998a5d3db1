// SPDX-License-Identifier: Apache-2.0
//
// `--set a.b=c`: changes to a job file from the command line. Stateless.
#pragma once

#include <string>

#include "client/job_file/document.h"

namespace epochd::client {

// Puts the YAML value behind '=' at the field before it. Mappings on the way
// are made, list elements must exist. A field whose first key is none of the
// job file's own is taken below `experiment`: `optimizer.lr=0.1`.
void ApplyOverride(Document& document, const std::string& text);

}  // namespace epochd::client
