// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/config_sections.h"

#include "worker/engine/core/error.h"

namespace epochd::engine {

std::vector<catalogue::Component> ConfigSections() {
  catalogue::Component monitor{
      .kind = "section",
      .name = "Monitor",
      .help =
          "the score by which epochs are compared: best checkpoint, early "
          "stopping, plateau scheduler"};
  monitor.parameters = {
      {.name = "metric",
       .type = "score",
       .help = "its name, such as val/accuracy; val/loss by default, or "
               "train/loss without validation"},
      {.name = "mode",
       .type = "string",
       .choices = {"min", "max"},
       .help = "whether less or more is better; what its metric says by "
               "default, and less for what is no metric"}};
  catalogue::Component randomness{.kind = "section",
                                  .name = "Randomness",
                                  .help = "where chance comes from"};
  randomness.parameters = {
      {.name = "seed",
       .type = "int",
       .min = 0,
       .help = "the same as experiment.seed"},
      {.name = "deterministic",
       .type = "bool",
       .default_value = false,
       .help = "only algorithms that give the same bits each time, where a "
               "device has faster ones too; an error where there is none"}};
  return {std::move(monitor), std::move(randomness)};
}

Randomness ReadRandomness(const Registry& registry,
                          const catalogue::Json& experiment,
                          const std::string& root) {
  static const catalogue::Json kNone = catalogue::Json::object();
  const auto section = experiment.find("randomness");
  const catalogue::Json given = Complete(
      *registry.Find("section", "Randomness"),
      section == experiment.end() || section->is_null() ? kNone : *section);
  Randomness randomness;
  randomness.deterministic = given.at("deterministic").get<bool>();
  const auto seed = experiment.find("seed");
  const bool has_seed = seed != experiment.end() && !seed->is_null();
  if (has_seed) randomness.seed = seed->get<uint64_t>();
  if (!given.contains("seed")) return randomness;
  const auto other = given.at("seed").get<uint64_t>();
  if (has_seed && other != randomness.seed) {
    throw Error(ErrorKind::kBadSpec,
                root + ".randomness.seed: " + std::to_string(other) +
                    " beside seed " + std::to_string(randomness.seed) +
                    ", which means the same; keep one");
  }
  randomness.seed = other;
  return randomness;
}

}  // namespace epochd::engine
