// SPDX-License-Identifier: Apache-2.0
#include "catalogue/catalogue.h"

#include <memory>
#include <utility>

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
  CatalogueFlags source;
  bool markdown = false;
};

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
    std::string help = HelpText(parameter);
    std::erase(help, '`');
    const std::string fallback = parameter.required ? "required"
                                 : parameter.default_value.is_null()
                                     ? "-"
                                     : parameter.default_value.dump();
    table.Add({{Safe(parameter.name)},
               {Safe(accepts)},
               {Safe(fallback)},
               {Safe(help)}});
  }
  context.out << table.Render(context.out_style, !context.no_headers);
}

void PrintAll(const Context& context, const catalogue::Catalogue& catalogue) {
  if (context.format == Format::kJson || context.format == Format::kYaml) {
    context.out << Render(catalogue::ToJson(catalogue), context.format);
    return;
  }
  terminal::Table table({"KIND", "NAME", "WHAT"});
  for (const catalogue::Component& component : catalogue.components) {
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
}

int Run(Context& context, const Flags& flags) {
  CatalogueFlags source = flags.source;
  source.offline = source.offline || flags.markdown;
  auto catalogue = FindCatalogue(context, source);
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
    if (context.format == Format::kTable || context.format == Format::kWide) {
      for (const catalogue::Component* component : found) {
        PrintComponent(context, *component);
      }
      return kOk;
    }
    std::vector<catalogue::Component> components;
    for (const catalogue::Component* component : found) {
      components.push_back(*component);
    }
    catalogue->components = std::move(components);
  }
  PrintAll(context, *catalogue);
  return kOk;
}

}  // namespace

Command CatalogueCommand() {
  const auto flags = std::make_shared<Flags>();
  std::vector<Option> options = CatalogueOptions(flags->source);
  options.insert(
      options.begin(),
      {{"name", &flags->name, "Only this component, with its parameters"},
       {"--markdown", &flags->markdown, "The installed one as a page"}});
  return {"catalogue",
          "",
          "Show what a job file may name: models, losses, hooks, ...",
          {"epochctl catalogue", "epochctl catalogue AdamW",
           "epochctl catalogue AdamW -o json",
           "epochctl catalogue --markdown > docs/job-spec.md"},
          std::move(options),
          [flags](Context& context) { return Run(context, *flags); }};
}

}  // namespace epochd::epochctl
