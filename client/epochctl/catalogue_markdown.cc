// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/catalogue_markdown.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace epochd::epochctl {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;

constexpr const char* kHead =
    "# What a job file may say\n\n"
    "<!-- Made by `epochctl catalogue --markdown`; do not edit. -->\n\n"
    "The service's own keys, with their defaults:\n\n"
    "| key | type | default | what |\n"
    "| --- | --- | --- | --- |\n"
    "| `name` | string | the file's | shown to people; `a-z`, `0-9`, `-` |\n"
    "| `project` | string | `default` | access and quota |\n"
    "| `priority` | int | 50 | 0 to 100 |\n"
    "| `labels` | map of string | | for filters |\n"
    "| `resources.replicas` | int or `{min, max}` | 1 | ranks, one device each "
    "|\n"
    "| `resources.device` | `cpu` or `gpu` | `cpu` | |\n"
    "| `resources.cpus` | int | 1 | cores and threads of a rank |\n"
    "| `resources.memory` | size | no limit | of a rank |\n"
    "| `resources.model` | string or list | any | accepted device models |\n"
    "| `resources.nodes.labels` | map of string | | labels a worker must have "
    "|\n"
    "| `resources.same_node` | `preferred` or `required` | | |\n"
    "| `restart.max` | int | 3 | restarts after failures |\n"
    "| `restart.reasons` | list | worker_lost, rank_lost, hang, oom_host | |\n"
    "| `restart.backoff` | duration | 1s | wait before a restart |\n"
    "| `restart.worker_lost_after` | duration | 2m | silence that is a loss "
    "|\n"
    "| `limits.max_time` | duration | none | run time over all attempts |\n"
    "| `limits.hang_after` | duration | 30m; of a `command` never | without a "
    "sign of life for so long an attempt hangs and is ended, or `never` |\n"
    "| `storage` | path | the worker's | checkpoints, logs, outputs |\n"
    "| `checkpoints.every` | `1 epoch`, `100 steps`, `10m` | `1 epoch` | |\n"
    "| `checkpoints.keep_last` | int | 3 | |\n"
    "| `checkpoints.keep_best` | int | 1 | |\n"
    "| `experiment` | mapping | | what the engine builds, see below |\n"
    "| `command` | list of string | | in place of `experiment`: any program "
    "|\n"
    "| `files` | list of path | | carried along, by content |\n"
    "| `env` | map of string | | variables of the ranks |\n\n"
    "Durations are `90s`, `10m`, `2h`; sizes `512MiB`, `2GiB`. `${a.b}` stands "
    "for another value of the experiment, `${ref:name}` for a named object. A "
    "component is `{type: Name, ...}` or `{_target: some.path.Name, params: "
    "{...}}`.\n";

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
    const std::string fallback = parameter.required ? "required"
                                 : parameter.default_value.is_null()
                                     ? ""
                                     : Code(parameter.default_value.dump());
    std::string help = parameter.help;
    if (!parameter.aliases.empty()) {
      help += (help.empty() ? "" : ". ") + std::string("Also ") +
              Names(parameter.aliases);
    }
    out += "| " + Code(parameter.name) + " | " +
           Escaped(AcceptedText(parameter)) + " | " + Escaped(fallback) +
           " | " + Escaped(help) + " |\n";
  }
}

std::string Bound(double value) {
  constexpr double kExact = 1e15;
  return value == std::floor(value) && std::abs(value) < kExact
             ? std::to_string(static_cast<int64_t>(value))
             : Json(value).dump();
}

}  // namespace

std::string AcceptedText(const Parameter& parameter) {
  std::string text = Code(parameter.type);
  if (parameter.scalar_ok) text += " or a single one";
  if (!parameter.choices.empty()) {
    text = "one of " + Names(parameter.choices);
  }
  if (parameter.min) {
    text += std::string(", ") +
            (parameter.exclusive_min ? "more than " : "at least ") +
            Bound(*parameter.min);
  }
  if (parameter.max) text += ", at most " + Bound(*parameter.max);
  return text;
}

std::string CatalogueMarkdown(const catalogue::Catalogue& catalogue) {
  std::string out = kHead;
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
