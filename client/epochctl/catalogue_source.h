// SPDX-License-Identifier: Apache-2.0
//
// Where the component catalogue comes from: the file that the build installed,
// or a coordinator.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "catalogue/catalogue.h"
#include "client/epochctl/command.h"
#include "client/epochctl/context.h"

namespace epochd::epochctl {

// Reads `path`; empty: EPOCHD_CATALOGUE, else share/epochd/catalogue.json
// beside the folder of this program. NOT_FOUND names the file.
absl::StatusOr<catalogue::Catalogue> InstalledCatalogue(
    const Context& context, const std::string& path = "");

// What the coordinator's fleet can build.
absl::StatusOr<catalogue::Catalogue> ServerCatalogue(client::Client& client);

// What commands about the catalogue itself take.
struct CatalogueFlags {
  std::string catalogue;
  bool offline = false;
};
std::vector<Option> CatalogueOptions(CatalogueFlags& flags);

// The coordinator's, unless the flags say otherwise; the installed one, with a
// warning, where no coordinator answers.
absl::StatusOr<catalogue::Catalogue> FindCatalogue(const Context& context,
                                                   const CatalogueFlags& flags);

}  // namespace epochd::epochctl
