// SPDX-License-Identifier: Apache-2.0
#include "catalogue/catalogue.h"

#include <memory>

#include "client/epochctl/catalogue_markdown.h"
#include "client/epochctl/catalogue_source.h"
#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"
#include "client/terminal/table.h"

namespace epochd::epochctl {
namespace {

struct Flags {
  std::string name;
  std::string catalogue;
  bool markdown = false;
  bool offline = false;
};

absl::StatusOr<catalogue::Catalogue> Source(const Context& context,
                                            const Flags& flags) {
  if (flags.offline || flags.markdown || !flags.catalogue.empty()) {
    return InstalledCatalogue(context, flags.catalogue);
  }
  auto client = context.Connect();
  if (!client.ok()) return client.status();
  absl::StatusOr<catalogue::Catalogue> catalogue = ServerCatalogue(**client);
  if (!absl::IsUnavailable(catalogue.status())) return catalogue;
  absl::StatusOr<catalogue::Catalogue> installed = InstalledCatalogue(context);
  if (installed.ok()) {
    context.Warn("no coordinator answers, showing what is installed here");
    return installed;
  }
  return catalogue.status();
}

void PrintComponent(const Context& context,
                    const catalogue::Component& component) {
  context.out << component.kind << " " << Safe(component.name);
  for (const std::string& alias : component.aliases) {
    context.out << ", " << Safe(alias);
  }
  context.out << "\n";
  if (!component.help.empty()) context.out << Safe(component.help) << "\n";
  terminal::Table table({"PARAMETER", "ACCEPTS", "DEFAULT", "WHAT"});
  for (const catalogue::Parameter& parameter : component.parameters) {
    std::string accepts = AcceptedText(parameter);
    std::erase(accepts, '`');
    const std::string fallback = parameter.required ? "required"
                                 : parameter.default_value.is_null()
                                     ? "-"
                                     : parameter.default_value.dump();
    table.Add({{Safe(parameter.name)},
               {Safe(accepts)},
               {Safe(fallback)},
               {Safe(parameter.help)}});
  }
  context.out << table.Render(context.out_style, !context.no_headers);
}

int Run(Context& context, const Flags& flags) {
  const auto catalogue = Source(context, flags);
  if (!catalogue.ok()) return context.Fail(catalogue.status());
  if (flags.markdown) {
    context.out << CatalogueMarkdown(*catalogue);
    return kOk;
  }
  if (!flags.name.empty()) {
    const auto found = catalogue->FindAll(flags.name);
    if (found.empty()) {
      std::vector<std::string> names;
      for (const auto& component : catalogue->components) {
        names.push_back(component.name);
      }
      const auto nearest = catalogue::Nearest(flags.name, names);
      return context.Fail(absl::NotFoundError(
          "no component '" + flags.name + "'" +
          (nearest ? ", did you mean '" + *nearest + "'?" : "")));
    }
    for (const catalogue::Component* component : found) {
      PrintComponent(context, *component);
    }
    return kOk;
  }
  if (context.format == Format::kJson || context.format == Format::kYaml) {
    context.out << Render(catalogue::ToJson(*catalogue), context.format);
    return kOk;
  }
  terminal::Table table({"KIND", "NAME", "WHAT"});
  for (const catalogue::Component& component : catalogue->components) {
    if (context.format == Format::kName) {
      context.out << component.kind << "/" << Safe(component.name) << "\n";
    }
    table.Add({{Safe(component.kind)},
               {Safe(component.name)},
               {Safe(component.help)}});
  }
  if (context.format != Format::kName) {
    context.out << table.Render(context.out_style, !context.no_headers);
  }
  return kOk;
}

}  // namespace

Command CatalogueCommand() {
  const auto flags = std::make_shared<Flags>();
  return {"catalogue",
          "",
          "Show what a job file may name: models, losses, hooks, ...",
          {"epochctl catalogue", "epochctl catalogue AdamW",
           "epochctl catalogue --markdown > docs/job-spec.md"},
          {{"name", &flags->name, "Only this component, with its parameters"},
           {"--markdown", &flags->markdown, "The installed one as a page"},
           {"--offline", &flags->offline, "The installed one"},
           {"--catalogue",
            &flags->catalogue,
            "This file (EPOCHD_CATALOGUE, the installed one)",
            {},
            false,
            true}},
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
