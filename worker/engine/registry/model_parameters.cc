// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/model_parameters.h"

#include <memory>
#include <string>
#include <utility>

#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/core/name_pattern.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/model/initializer.h"
#include "worker/engine/registry/registry.h"

namespace epochd::engine {
namespace {

using catalogue::AppendKey;
using catalogue::Json;

[[noreturn]] void RefuseWeights(const std::string& path,
                                const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, path + ": " + problem);
}

// Tensors whose names begin with `prefix`, without it, their beginnings
// replaced by what `renames` maps them to; the first that fits counts.
std::vector<NamedTensor> Renamed(std::vector<NamedTensor> tensors,
                                 const std::string& prefix,
                                 const Json& renames) {
  std::vector<NamedTensor> renamed;
  for (NamedTensor& each : tensors) {
    if (!each.name.starts_with(prefix)) continue;
    std::string name = each.name.substr(prefix.size());
    for (const auto& [from, to] : renames.items()) {
      if (!name.starts_with(from)) continue;
      name = to.get<std::string>() + name.substr(from.size());
      break;
    }
    renamed.push_back({std::move(name), std::move(each.tensor)});
  }
  return renamed;
}

void Load(const Params& params, Model& model) {
  const std::string path = AppendKey(params.path(), "weights");
  const Json given = Complete(WeightsSection(), params.Raw("weights"));
  const std::string file = given.at("file").get<std::string>();
  const std::string prefix = given.at("prefix").get<std::string>();
  std::vector<NamedTensor> saved;
  try {
    saved = ReadSafetensors(file);
  } catch (const Error& error) {
    // A broken file of the user's stays broken, however often it is read.
    RefuseWeights(AppendKey(path, "file"), error.what());
  }
  const size_t num_saved = saved.size();
  saved = Renamed(std::move(saved), prefix, given.at("rename"));
  if (saved.empty()) {
    RefuseWeights(
        AppendKey(path, "prefix"),
        "no tensor of \"" + file + "\" is called \"" + prefix + "...\"");
  }
  LoadReport report;
  try {
    report = LoadModel(model, saved, given.at("strict").get<bool>(),
                       AppendKey(path, "strict"));
  } catch (const Error& error) {
    RefuseWeights(path, "\"" + file + "\": " + error.what());
  }
  std::string text = path + ": " + std::to_string(report.loaded) + " of " +
                     std::to_string(num_saved) + " tensors were taken";
  if (saved.size() < num_saved) {
    text += "; " + std::to_string(num_saved - saved.size()) +
            " do not begin with \"" + prefix + "\"";
  }
  if (!report.fits()) text += "; " + report.Text();
  params.Notice(report.fits() ? "info" : "warning", text);
}

void Freeze(const Params& params, Model& model) {
  std::vector<std::string> names;
  const std::vector<NamedTensor> parameters = model.Parameters();
  for (const std::string& pattern : params.Strings("freeze")) {
    const size_t before = names.size();
    for (const NamedTensor& each : parameters) {
      if (PatternFits(pattern, each.name)) names.push_back(each.name);
    }
    if (names.size() > before) continue;
    params.Fail("freeze",
                "\"" + pattern + "\" fits no parameter of the model; the " +
                    "first is called \"" +
                    (parameters.empty() ? "" : parameters.front().name) + "\"");
  }
  if (!names.empty()) model.Freeze(names);
}

}  // namespace

std::vector<catalogue::Parameter> ModelParameters() {
  return {{.name = "init",
           .type = "list<component<initializer>>",
           .scalar_ok = true,
           .help = "initial weights, in order, over those of the model's own"},
          {.name = "weights",
           .type = "section<Weights>",
           .help = "weights to start from"},
          {.name = "freeze",
           .type = "list<string>",
           .default_value = Json::array(),
           .scalar_ok = true,
           .help = "patterns of parameters that are not trained; "
                   "normalizations among them keep their statistics too"}};
}

catalogue::Component WeightsSection() {
  catalogue::Component section{.kind = "section",
                               .name = "Weights",
                               .help = "weights that a model starts from"};
  section.parameters = {
      {.name = "file",
       .type = "path",
       .required = true,
       .help = "a safetensors file, such as a checkpoint's model.safetensors"},
      {.name = "strict",
       .type = "bool",
       .default_value = true,
       .help = "names and shapes must agree in all; false: what fits is taken "
               "and the rest said"},
      {.name = "prefix",
       .type = "string",
       .default_value = "",
       .help = "take the tensors whose names begin so, without it, such as "
               "`generator.`"},
      {.name = "rename",
       .type = "map<string>",
       .default_value = Json::object(),
       .help = "beginnings of names to what they become, behind the prefix"}};
  return section;
}

void ApplyModelParameters(const Params& params, Model& model) {
  for (const auto& initializer : params.MakeList<Initializer>("init")) {
    try {
      initializer->Apply(model);
    } catch (const Error& error) {
      params.Fail("init", error.what());
    }
  }
  if (params.Has("weights")) Load(params, model);
  Freeze(params, model);
}

}  // namespace epochd::engine
