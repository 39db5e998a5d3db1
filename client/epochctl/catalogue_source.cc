// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/catalogue_source.h"

#include <exception>
#include <filesystem>

#include "program/file.h"

namespace epochd::epochctl {
namespace {

// Hundreds of components take a tenth of it.
constexpr size_t kMostBytes = 8 * 1024 * 1024;

absl::StatusOr<catalogue::Catalogue> Parse(const std::string& text,
                                           const std::string& source) {
  try {
    return catalogue::FromJson(catalogue::Json::parse(text));
  } catch (const std::exception& error) {
    return absl::InternalError(source + ": " + error.what());
  }
}

}  // namespace

absl::StatusOr<catalogue::Catalogue> InstalledCatalogue(
    const Context& context, const std::string& path) {
  std::string file = path;
  if (file.empty()) {
    const char* variable = context.environment("EPOCHD_CATALOGUE");
    if (variable != nullptr) file = variable;
  }
  if (file.empty()) {
    file = (std::filesystem::path(context.bin_dir) / ".." / "share" / "epochd" /
            "catalogue.json")
               .lexically_normal()
               .string();
  }
  absl::StatusOr<std::string> text = program::ReadFile(file, kMostBytes);
  if (!text.ok()) return text.status();
  return Parse(*text, file);
}

absl::StatusOr<catalogue::Catalogue> ServerCatalogue(client::Client& client) {
  const absl::StatusOr<v1::Catalogue> answer = client.GetCatalogue();
  if (!answer.ok()) return answer.status();
  return Parse(answer->json(), "the coordinator's catalogue");
}

std::vector<Option> CatalogueOptions(CatalogueFlags& flags) {
  return {{"--offline", &flags.offline, "The installed one"},
          {"--catalogue",
           &flags.catalogue,
           "This file (EPOCHD_CATALOGUE, the installed one)",
           {},
           false,
           true}};
}

absl::StatusOr<catalogue::Catalogue> FindCatalogue(
    const Context& context, const CatalogueFlags& flags) {
  if (flags.offline || !flags.catalogue.empty()) {
    return InstalledCatalogue(context, flags.catalogue);
  }
  auto client = context.Connect();
  if (!client.ok()) return client.status();
  auto catalogue = ServerCatalogue(**client);
  if (!absl::IsUnavailable(catalogue.status())) return catalogue;
  auto installed = InstalledCatalogue(context);
  if (!installed.ok()) return catalogue;
  context.Warn("no coordinator answers, showing what is installed here");
  return installed;
}

}  // namespace epochd::epochctl
