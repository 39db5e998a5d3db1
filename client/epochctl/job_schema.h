// SPDX-License-Identifier: Apache-2.0
//
// Everything that a job file can say as a JSON Schema (draft 2020-12), for
// editors: the service's own keys, the experiment, and each component in each
// of its forms. Stateless.
#pragma once

#include "catalogue/catalogue.h"

namespace epochd::epochctl {

// Accepts what the catalogue's checks accept, as far as a schema can tell:
// references are not followed, and texts with `${a.b}` stand for any value.
catalogue::Json JobSchema(const catalogue::Catalogue& catalogue);

}  // namespace epochd::epochctl
