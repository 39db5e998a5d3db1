// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/points/builtin.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "worker/engine/core/seed.h"
#include "worker/engine/data/points/collocation_points.h"
#include "worker/engine/data/points/point_sets.h"
#include "worker/engine/expression/expression_parameters.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Json;
using catalogue::Parameter;
using catalogue::Rule;

// The same on every machine, unlike std::hash.
uint64_t HashText(const std::string& text) {
  uint64_t hash = 0;
  for (const char c : text) {
    hash = HashSeed({hash, static_cast<unsigned char>(c)});
  }
  return hash;
}

std::vector<CollocationOptions::Axis> ReadDomain(const Params& params) {
  std::vector<CollocationOptions::Axis> domain;
  for (const auto& [name, range] : params.Raw("domain").items()) {
    const bool is_list = range.is_array();
    const Json& lower = is_list ? range.front() : range;
    const Json& upper = is_list ? range.back() : range;
    domain.push_back({name, ReadNumber(params, "domain", lower),
                      ReadNumber(params, "domain", upper)});
  }
  return domain;
}

std::shared_ptr<Dataset> BuildCollocationPoints(const Params& params) {
  CollocationOptions options;
  options.domain = ReadDomain(params);
  options.faces = params.Strings("faces");
  options.resample = params.Bool("resample");
  options.values = ReadExpressions(params, "values");
  options.constants = ReadConstants(params, "parameters");
  for (const auto& [name, value] : options.constants) {
    const bool is_axis = std::any_of(
        options.domain.begin(), options.domain.end(),
        [&name = name](const auto& axis) { return axis.name == name; });
    if (is_axis || name == "pi") {
      params.Fail(
          "parameters",
          name + (is_axis ? " is a coordinate, too" : " is known already") +
              "; another name is accepted");
    }
  }
  const std::string sampling = params.String("sampling");
  const std::vector<int64_t> points = params.Ints("points");
  if (sampling == "grid") {
    options.grid = points;
  } else {
    if (points.size() != 1) {
      params.Fail("points", std::to_string(points.size()) +
                                " numbers; only a grid takes several");
    }
    options.points = points.front();
  }
  options.sampling = sampling == "sobol"             ? Sampling::kSobol
                     : sampling == "latin_hypercube" ? Sampling::kLatinHypercube
                                                     : Sampling::kUniform;
  // Sets of other boxes are drawn apart from each other unless told not to.
  options.stream =
      params.Has("stream")
          ? static_cast<uint64_t>(params.Int("stream"))
          : HashText(params.Raw("domain").dump() + params.Raw("faces").dump());
  return MakeCollocationPoints(options);
}

Component CollocationComponent() {
  return {
      .kind = "dataset",
      .name = "CollocationPoints",
      .aliases = {"collocation_points"},
      .help =
          "points of a box, for differential equations: `input` has their "
          "coordinates, `target` the values given for them",
      .parameters =
          {{.name = "domain",
            .type = "map<list<constant>>",
            .required = true,
            .scalar_ok = true,
            .min_items = 1,
            .max_items = 2,
            .order = Parameter::Order::kNotFalling,
            .help = "axes in order: `[from, to]`, or one number where the "
                    "points do not go along it; `{t: [0, 1], x: [-1, 1]}`"},
           {.name = "points",
            .type = "list<int>",
            .required = true,
            .min = 1,
            .scalar_ok = true,
            .min_items = 1,
            .help = "how many; of a grid, along each axis"},
           {.name = "sampling",
            .type = "string",
            .default_value = "uniform",
            .choices = {"uniform", "sobol", "latin_hypercube", "grid"},
            .help = "independent points, a shifted Sobol sequence, a Latin "
                    "hypercube, or a grid with both ends"},
           {.name = "faces",
            .type = "list<string>",
            .default_value = Json::array(),
            .scalar_ok = true,
            .help = "axes on whose two ends the points lie; inside the box "
                    "when empty"},
           {.name = "resample",
            .type = "bool",
            .default_value = false,
            .help = "other points each epoch"},
           {.name = "stream",
            .type = "int",
            .min = 0,
            .help = "points are drawn apart from those of other boxes; sets "
                    "with the same number here share their coordinates along "
                    "common axes, as periodic boundaries need"},
           {.name = "values",
            .type = "list<expression>",
            .scalar_ok = true,
            .help = "what `target` holds: an expression over the coordinates "
                    "such as `-sin(pi*x)`, a number, or a list of them"},
           ConstantsParameter()},
      .rules = {{.check = Rule::Check::kIs,
                 .of = {"resample"},
                 .values = {false},
                 .when = {{"sampling", {"grid"}}}},
                {.check = Rule::Check::kAmong, .of = {"faces", "domain"}},
                {.check = Rule::Check::kVariables,
                 .of = {"values", "domain", "parameters"}}}};
}

std::shared_ptr<Dataset> BuildPointSets(const Params& params) {
  std::vector<PointSet> sets;
  for (auto& [name, datasets] : params.MakeListMap<Dataset>("sets")) {
    sets.push_back({name, datasets.front()});
  }
  const Json& per_sample = params.Raw("per_sample");
  for (PointSet& set : sets) {
    if (per_sample.contains(set.name)) {
      set.per_sample = per_sample.at(set.name).get<int64_t>();
    }
  }
  return MakePointSets(std::move(sets));
}

Component PointSetsComponent() {
  return {
      .kind = "dataset",
      .name = "PointSets",
      .aliases = {"point_sets"},
      .help =
          "data sets side by side: of set `s` the field `input` is called `s`, "
          "`target` `s_target`; shorter sets begin again",
      .parameters = {{.name = "sets",
                      .type = "map<component<dataset>>",
                      .required = true,
                      .help =
                          "by name, such as interior, initial and boundary"},
                     {.name = "per_sample",
                      .type = "map<int>",
                      .min = 1,
                      .max = 65536,
                      .help = "how many of a set one sample holds, as [n, "
                              "...]; one without such a dimension by default"}},
      .rules = {{.check = Rule::Check::kAmong, .of = {"per_sample", "sets"}}}};
}

}  // namespace

std::vector<Entry<Dataset>> BuiltinPointDatasets() {
  return {{CollocationComponent(), &BuildCollocationPoints},
          {PointSetsComponent(), &BuildPointSets}};
}

}  // namespace epochd::engine
