// SPDX-License-Identifier: Apache-2.0
//
// The catalogue as a page to read: docs/job-spec.md. Stateless.
#pragma once

#include <string>

#include "catalogue/catalogue.h"

namespace epochd::epochctl {

std::string CatalogueMarkdown(const catalogue::Catalogue& catalogue);

// What a parameter accepts, in words: "list<int>, at least 1".
std::string AcceptedText(const catalogue::Parameter& parameter);
// What it is for and what else it is called: "step size. Also `lr`".
std::string HelpText(const catalogue::Parameter& parameter);

}  // namespace epochd::epochctl
