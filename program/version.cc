// SPDX-License-Identifier: Apache-2.0
#include "program/version.h"

#include "absl/strings/str_cat.h"

namespace epochd::program {

std::string Version() { return EPOCHD_VERSION; }

std::string Commit() { return EPOCHD_COMMIT; }

std::string VersionLine(const std::string& program) {
  return absl::StrCat(program, " ", Version(), " (", Commit(), ")");
}

}  // namespace epochd::program
