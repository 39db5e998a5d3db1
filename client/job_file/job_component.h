// SPDX-License-Identifier: Apache-2.0
//
// The service's own keys of a job file as declarations, for the page, the
// schema and `--set`; spec_builder.h reads them. A test holds the two
// together. Plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"

namespace epochd::client {

// Kind "job": its parameters are the top-level keys.
catalogue::Component JobComponent();

// Kind "section": JobResources, JobReplicas and so on. `scalar_ok` of a
// section: a number stands in (`replicas: 2`); `choices` of a duration: words
// that stand in (`hang_after: never`).
std::vector<catalogue::Component> JobSections();

// The regular expression (ECMA 262) that texts at a parameter of JobComponent()
// must match; nothing: any.
std::optional<std::string> JobPattern(const std::string& parameter);

}  // namespace epochd::client
