// SPDX-License-Identifier: Apache-2.0
//
// `${a.b}`: a value standing in for another one of the same section. As the
// whole of a text it keeps the other's type; inside a text it is written out.
// `${ref:name}` is left for the trainer. Stateless.
#pragma once

#include <string>

#include "client/job_file/document.h"

namespace epochd::client {

// Substitutes within the value at `section` (a top-level key) of the document,
// reports what can't be, and gives what was copied the place of its original.
void Substitute(Document& document, const std::string& section);

}  // namespace epochd::client
