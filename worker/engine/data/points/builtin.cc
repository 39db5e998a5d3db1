// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/points/builtin.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/seed.h"
#include "worker/engine/data/points/collocation_points.h"
#include "worker/engine/data/points/point_sets.h"
#include "worker/engine/expression/expression_parameters.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Json;

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
    if (is_list && range.size() != 2 && range.size() != 1) {
      params.Fail("domain", name + ": " + range.dump() +
                                "; [from, to] or one number is accepted");
    }
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
  const std::string sampling = params.String("sampling");
  const std::vector<int64_t> points = params.Ints("points");
  if (sampling == "grid") {
    options.grid = points;
    if (options.resample) {
      params.Fail("resample", "a grid stays; another sampling changes");
    }
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
  try {
    return MakeCollocationPoints(options);
  } catch (const Error& error) {
    throw Error(error.kind(), params.path() + "." + error.what());
  }
}

Component CollocationComponent() {
  return {
      .kind = "dataset",
      .name = "CollocationPoints",
      .aliases = {"collocation_points"},
      .help =
          "Points of a box, for differential equations: `input` has their "
          "coordinates, `target` the values given for them.",
      .parameters = {
          {.name = "domain",
           .type = "map<any>",
           .required = true,
           .help = "Axes in order: `[from, to]`, or one number where the "
                   "points do not go along it; `{t: [0, 1], x: [-1, 1]}`."},
          {.name = "points",
           .type = "list<int>",
           .required = true,
           .min = 1,
           .scalar_ok = true,
           .help = "How many; of a grid, along each axis."},
          {.name = "sampling",
           .type = "string",
           .default_value = "uniform",
           .choices = {"uniform", "sobol", "latin_hypercube", "grid"},
           .help = "Independent points, a shifted Sobol sequence, a Latin "
                   "hypercube, or a grid with both ends."},
          {.name = "faces",
           .type = "list<string>",
           .default_value = Json::array(),
           .scalar_ok = true,
           .help = "Axes on whose two ends the points lie; inside the box when "
                   "empty."},
          {.name = "resample",
           .type = "bool",
           .default_value = false,
           .help = "Other points each epoch."},
          {.name = "stream",
           .type = "int",
           .min = 0,
           .help = "Points are drawn apart from those of other boxes; sets "
                   "with the same number here share their coordinates along "
                   "common axes, as periodic boundaries need."},
          {.name = "values",
           .type = "any",
           .help = "What `target` holds: an expression over the coordinates "
                   "such as `-sin(pi*x)`, a number, or a list of them."},
          ConstantsParameter()}};
}

std::shared_ptr<Dataset> BuildPointSets(const Params& params) {
  std::vector<PointSet> sets;
  for (auto& [name, datasets] : params.MakeListMap<Dataset>("sets")) {
    if (datasets.size() != 1) {
      params.Fail("sets", name + ": one data set is accepted");
    }
    sets.push_back({name, datasets.front()});
  }
  const Json& per_sample = params.Raw("per_sample");
  if (!per_sample.is_null()) {
    for (const auto& [name, count] : per_sample.items()) {
      bool is_known = false;
      for (PointSet& set : sets) {
        if (set.name != name) continue;
        set.per_sample = count.get<int64_t>();
        is_known = true;
      }
      if (!is_known) params.Fail("per_sample", "no set \"" + name + "\"");
    }
  }
  try {
    return MakePointSets(std::move(sets));
  } catch (const Error& error) {
    throw Error(error.kind(), params.path() + "." + error.what());
  }
}

Component PointSetsComponent() {
  return {.kind = "dataset",
          .name = "PointSets",
          .aliases = {"point_sets"},
          .help =
              "Data sets side by side: of set `s` the field `input` is "
              "called `s`, `target` `s_target`. Shorter sets begin again.",
          .parameters = {
              {.name = "sets",
               .type = "map<component<dataset>>",
               .required = true,
               .help = "By name, such as interior, initial and boundary."},
              {.name = "per_sample",
               .type = "map<int>",
               .min = 1,
               .max = 65536,
               .help = "How many of a set one sample holds, as [n, ...]; one "
                       "without such a dimension by default."}}};
}

}  // namespace

std::vector<Entry<Dataset>> BuiltinPointDatasets() {
  return {{CollocationComponent(), &BuildCollocationPoints},
          {PointSetsComponent(), &BuildPointSets}};
}

}  // namespace epochd::engine
