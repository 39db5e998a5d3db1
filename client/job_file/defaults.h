// SPDX-License-Identifier: Apache-2.0
//
// `defaults: [base.yaml, ...]`: a job file that builds on others. They are laid
// over one another in order, each after its own defaults, and the file itself
// over all of them:
//
//   mappings  are merged key by key
//   lists     and single values are replaced
//   null      takes away what the defaults say
//   a mapping that names another component (`type: SGD` over `type: AdamW`)
//             replaces the whole, as its parameters mean something else
//
// Paths in a file, of defaults too, start at that file's folder.
#pragma once

#include <string>
#include <vector>

#include "client/job_file/document.h"

namespace epochd::client {

inline constexpr size_t kMaxDefaultsFiles = 32;

// A file that was read: what messages call it, and where its paths start.
struct Source {
  std::string name;
  std::string folder;
};

// Takes `defaults` out of `document`, which was read from sources[0], and lays
// it over what they name. Files read are added to `sources`; what is wrong
// with them is reported in `document`, at its place in them.
void ApplyDefaults(Document& document, std::vector<Source>& sources);

}  // namespace epochd::client
