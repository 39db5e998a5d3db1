// SPDX-License-Identifier: Apache-2.0
//
// `--set a.b=c`: changes to a job file from the command line. Stateless.
#pragma once

#include <string>

#include "client/job_file/document.h"

namespace epochd::client {

// Puts the YAML value behind '=' at the field before it; null takes the field
// away. Mappings on the way are made. List elements are fields too
// (`hooks.0.max_norm=2`), the index behind the last adds one. A field whose
// first key is none of the job file's own is taken below `experiment`:
// `optimizer.lr=0.1`.
void ApplyOverride(Document& document, const std::string& text);

}  // namespace epochd::client
