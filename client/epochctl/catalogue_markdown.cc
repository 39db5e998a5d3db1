// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/catalogue_markdown.h"

#include <algorithm>
#include <vector>

#include "catalogue/accepted_text.h"
#include "catalogue/type.h"
#include "client/job_file/job_component.h"

namespace epochd::epochctl {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;

constexpr const char* kHead =
    "# What a job file may say\n\n"
    "<!-- Made by `epochctl catalogue --markdown`; do not edit. -->\n\n"
    "`docs/config.md` says how files, references and overrides work together; "
    "`epochctl schema` prints the same as a JSON Schema. The service's own "
    "keys, with their defaults:\n\n"
    "| key | accepts | default | what |\n"
    "| --- | --- | --- | --- |\n";

constexpr const char* kForms =
    "\nDurations are `90s`, `10m`, `2h`; sizes `512MiB`, `2GiB`. `${a.b}` "
    "stands for another value of the experiment, `${ref:name}` for a named "
    "object. A component is `{type: Name, ...}`, `{_target: some.path.Name, "
    "params: {...}}` or `{_target_: some.path.Name, ...}`.\n";

std::string Escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string Code(const std::string& text) { return "`" + text + "`"; }

std::string Names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + Code(name);
  }
  return text;
}

std::string Default(const Parameter& parameter) {
  if (parameter.required) return "required";
  return parameter.default_value.is_null()
             ? ""
             : Code(parameter.default_value.dump());
}

// Adds a line for each key below `prefix`, those of sections in place.
void AddJobKeys(const Component& component, const std::string& prefix,
                std::string& out) {
  for (const Parameter& parameter : component.parameters) {
    const std::string key = prefix + parameter.name;
    const catalogue::Type type = catalogue::ParseType(parameter.type);
    const Component* inner = nullptr;
    const std::vector<Component> sections = client::JobSections();
    for (const Component& section : sections) {
      if (type.kind == catalogue::Type::Kind::kSection &&
          section.name == type.argument) {
        inner = &section;
      }
    }
    if (inner != nullptr && !parameter.scalar_ok) {
      AddJobKeys(*inner, key + ".", out);
      continue;
    }
    std::string accepts = AcceptedText(parameter);
    if (inner != nullptr) accepts = "`int` or `{min, max}`";
    if (parameter.name == "experiment") accepts = "mapping";
    out += "| " + Code(key) + " | " + Escaped(accepts) + " | " +
           Escaped(Default(parameter)) + " | " + Escaped(parameter.help) +
           " |\n";
  }
}

void AddComponent(const Component& component, std::string& out) {
  out += "\n### " + component.name + "\n\n";
  if (!component.help.empty()) out += component.help + "\n\n";
  if (!component.aliases.empty()) {
    out += "Also called " + Names(component.aliases) + ".\n\n";
  }
  if (component.max_replicas) {
    out += "At most " + std::to_string(*component.max_replicas) +
           (*component.max_replicas == 1 ? " replica" : " replicas") + ".\n\n";
  }
  if (component.parameters.empty()) {
    out += "No parameters.\n";
    return;
  }
  out +=
      "| parameter | accepts | default | what |\n"
      "| --- | --- | --- | --- |\n";
  for (const Parameter& parameter : component.parameters) {
    out += "| " + Code(parameter.name) + " | " +
           Escaped(AcceptedText(parameter)) + " | " +
           Escaped(Default(parameter)) + " | " + Escaped(HelpText(parameter)) +
           " |\n";
  }
  for (size_t i = 0; i < component.rules.size(); ++i) {
    out += (i == 0 ? "\nChecked: " : "; ") +
           catalogue::RuleText(component.rules[i]);
  }
  if (!component.rules.empty()) out += ".\n";
}

}  // namespace

std::string AcceptedText(const Parameter& parameter) {
  std::string text = Code(parameter.type);
  if (parameter.scalar_ok) text += " or a single one";
  if (!parameter.choices.empty()) {
    switch (catalogue::ParseType(parameter.type).kind) {
      case catalogue::Type::Kind::kMap:
        text += " with the keys " + Names(parameter.choices);
        break;
      case catalogue::Type::Kind::kDuration:
        text += " or " + Names(parameter.choices);
        break;
      case catalogue::Type::Kind::kEvery:
        text += " in " + Names(parameter.choices);
        break;
      case catalogue::Type::Kind::kList:
        text = "list of " + Names(parameter.choices);
        break;
      default:
        text = "one of " + Names(parameter.choices);
    }
  }
  for (const std::string& part :
       {catalogue::RangeText(parameter), catalogue::ItemsText(parameter),
        catalogue::OrderText(parameter)}) {
    if (!part.empty()) text += ", " + part;
  }
  return text;
}

std::string HelpText(const Parameter& parameter) {
  std::string text = parameter.help;
  if (!parameter.aliases.empty()) {
    text += (text.empty() ? "" : ". ") + std::string("Also ") +
            Names(parameter.aliases);
  }
  return text;
}

std::string CatalogueMarkdown(const catalogue::Catalogue& catalogue) {
  std::string out = kHead;
  AddJobKeys(client::JobComponent(), "", out);
  out += kForms;
  std::vector<std::string> kinds;
  for (const Component& component : catalogue.components) {
    if (std::find(kinds.begin(), kinds.end(), component.kind) == kinds.end()) {
      kinds.push_back(component.kind);
    }
  }
  // The experiment says what all the others are for.
  std::stable_partition(kinds.begin(), kinds.end(),
                        [](const auto& kind) { return kind == "experiment"; });
  for (const std::string& kind : kinds) {
    out += "\n## " + kind + "\n";
    for (const Component& component : catalogue.components) {
      if (component.kind == kind) AddComponent(component, out);
    }
  }
  return out;
}

}  // namespace epochd::epochctl
