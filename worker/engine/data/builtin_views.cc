// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/builtin_views.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/column.h"
#include "worker/engine/data/random.h"
#include "worker/engine/data/splits.h"
#include "worker/engine/data/subset.h"

namespace epochd::engine {
namespace {

using catalogue::Component;
using catalogue::Parameter;
using catalogue::Rule;

const Parameter kDataset{.name = "dataset",
                         .type = "component<dataset>",
                         .required = true,
                         .help = "what is looked at"};
const Parameter kSeed{.name = "seed",
                      .type = "int",
                      .min = 0,
                      .aliases = {"random_state"},
                      .help = "shuffles first; the job's seed changes nothing"};
const Parameter kStratify{
    .name = "stratify",
    .type = "string",
    .help = "field of class labels: each part gets its share of every class"};
const Parameter kGroup{
    .name = "group",
    .type = "string",
    .aliases = {"groups"},
    .help =
        "field of a number, such as the patient's, that is never in two "
        "parts"};

std::shared_ptr<const Dataset> Nested(const Params& params) {
  auto dataset = params.Make<Dataset>("dataset");
  if (dataset == nullptr) params.Fail("dataset", "missing");
  return dataset;
}

SplitInput ReadInput(const Params& params, const Dataset& dataset) {
  SplitInput input{.size = dataset.Size()};
  for (const auto& [name, values] :
       {std::pair("stratify", &input.labels), {"group", &input.groups}}) {
    if (!params.Has(name)) continue;
    try {
      *values = WholeColumn(dataset, params.String(name));
    } catch (const Error& error) {
      params.Fail(name, error.what());
    }
  }
  return input;
}

Component Concat() {
  return {.kind = "dataset",
          .name = "Concat",
          .aliases = {"ConcatDataset"},
          .help = "the samples of several data sets, one after the other",
          .parameters = {{.name = "datasets",
                          .type = "list<component<dataset>>",
                          .required = true,
                          .min_items = 1,
                          .help = "data sets with the same fields"}}};
}

std::shared_ptr<Dataset> MakeConcat(const Params& params) {
  std::vector<std::shared_ptr<const Dataset>> parts;
  for (auto& part : params.MakeList<Dataset>("datasets")) {
    parts.push_back(std::move(part));
  }
  return std::make_shared<ConcatDataset>(std::move(parts));
}

Component Subset() {
  Component subset{
      .kind = "dataset",
      .name = "Subset",
      .help =
          "some samples of a data set: by indices, by range or by fraction"};
  subset.parameters = {
      kDataset,
      {.name = "indices",
       .type = "list<int>",
       .min = 0,
       .help = "places from 0, in the order in which they will come"},
      {.name = "range",
       .type = "list<int>",
       .min = 0,
       .min_items = 2,
       .max_items = 3,
       .help = "[begin, end] or [begin, end, step]; the end is not in it"},
      {.name = "fraction",
       .type = "list<float>",
       .min = 0,
       .max = 1,
       .scalar_ok = true,
       .min_items = 1,
       .max_items = 2,
       .order = Parameter::Order::kNotFalling,
       .help = "0.8: the first 80 %; [0.8, 1.0]: the rest"},
      kSeed};
  subset.rules = {
      {.check = Rule::Check::kOneOf, .of = {"indices", "range", "fraction"}}};
  return subset;
}

std::vector<int64_t> SubsetIndices(const Params& params, int64_t size) {
  if (params.Has("indices")) return params.Ints("indices");
  int64_t begin = 0;
  int64_t end = size;
  int64_t step = 1;
  if (params.Has("range")) {
    const std::vector<int64_t> range = params.Ints("range");
    if (range[0] > range[1] || range[1] > size || range.back() < 1) {
      params.Fail("range",
                  params.Raw("range").dump() +
                      "; [begin, end] or [begin, end, step] within the " +
                      std::to_string(size) + " samples is accepted");
    }
    begin = range[0];
    end = range[1];
    if (range.size() == 3) step = range[2];
  } else {
    std::vector<double> fraction = params.Floats("fraction");
    if (fraction.size() == 1) fraction.insert(fraction.begin(), 0.0);
    begin = std::llround(fraction[0] * static_cast<double>(size));
    end = std::llround(fraction[1] * static_cast<double>(size));
  }
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  if (params.Has("seed")) {
    Random random({static_cast<uint64_t>(Stream::kSplit),
                   static_cast<uint64_t>(params.Int("seed"))});
    random.Shuffle(order);
  }
  std::vector<int64_t> indices;
  for (int64_t i = begin; i < end; i += step) {
    indices.push_back(order[static_cast<size_t>(i)]);
  }
  return indices;
}

std::shared_ptr<Dataset> MakeSubset(const Params& params) {
  const auto dataset = Nested(params);
  return std::make_shared<SubsetDataset>(
      dataset, SubsetIndices(params, dataset->Size()));
}

// The samples that are in `part`, or those that are not (`inside` false).
std::vector<int64_t> RowsOf(const std::vector<int>& part_of, int part,
                            bool inside) {
  std::vector<int64_t> rows;
  for (size_t i = 0; i < part_of.size(); ++i) {
    if ((part_of[i] == part) == inside) {
      rows.push_back(static_cast<int64_t>(i));
    }
  }
  return rows;
}

Component KFold() {
  Component fold{.kind = "dataset",
                 .name = "KFold",
                 .help = "one side of one fold of a cross-validation"};
  fold.parameters = {kDataset,
                     {.name = "folds",
                      .type = "int",
                      .default_value = 5,
                      .min = 2,
                      .aliases = {"k", "n_splits"},
                      .help = "how many there are"},
                     {.name = "fold",
                      .type = "int",
                      .required = true,
                      .min = 0,
                      .help = "which one is held out, from 0"},
                     {.name = "part",
                      .type = "string",
                      .required = true,
                      .choices = {"train", "val"},
                      .help = "val: what is held out; train: the rest"},
                     kSeed,
                     kStratify,
                     kGroup};
  fold.rules = {
      {.check = Rule::Check::kLess, .of = {"fold", "folds"}},
      {.check = Rule::Check::kAlike,
       .of = {"dataset", "folds", "fold", "seed", "stratify", "group"},
       .values = {"transforms"}}};
  return fold;
}

std::shared_ptr<Dataset> MakeKFold(const Params& params) {
  const auto dataset = Nested(params);
  const int64_t folds = params.Int("folds");
  const int64_t fold = params.Int("fold");
  std::optional<uint64_t> seed;
  if (params.Has("seed")) seed = static_cast<uint64_t>(params.Int("seed"));
  const SplitInput input = ReadInput(params, *dataset);
  const std::vector<int> fold_of = SplitIntoFolds(input, folds, seed);
  return std::make_shared<SubsetDataset>(
      dataset,
      RowsOf(fold_of, static_cast<int>(fold), params.String("part") == "val"));
}

Component Split() {
  Component split{.kind = "dataset",
                  .name = "Split",
                  .aliases = {"RandomSplit"},
                  .help =
                      "one part of a random split: plain, stratified by class, "
                      "or by group (patient)"};
  split.parameters = {
      kDataset,
      {.name = "part",
       .type = "string",
       .required = true,
       .choices = {"train", "val", "test"},
       .help = "which part"},
      {.name = "fractions",
       .type = "list<float>",
       .default_value = {0.8, 0.2},
       .min = 0,
       .max = 1,
       .min_items = 1,
       .max_items = 3,
       .help = "of train, val and, where there are three, test"},
      {.name = "seed",
       .type = "int",
       .default_value = 0,
       .min = 0,
       .aliases = {"split_seed", "random_state"},
       .help = "of the split; the job's seed changes nothing"},
      kStratify,
      kGroup};
  split.rules = {
      {.check = Rule::Check::kSumAtMost, .of = {"fractions"}, .values = {1}},
      {.check = Rule::Check::kAlike,
       .of = {"dataset", "fractions", "seed", "stratify", "group"},
       .values = {"transforms"}}};
  return split;
}

std::shared_ptr<Dataset> MakeSplit(const Params& params) {
  const auto dataset = Nested(params);
  const std::vector<double> fractions = params.Floats("fractions");
  const std::string part = params.String("part");
  const int number = part == "train" ? 0 : part == "val" ? 1 : 2;
  if (number >= static_cast<int>(fractions.size())) {
    params.Fail("fractions", std::to_string(fractions.size()) +
                                 " numbers, and part: " + part +
                                 "; those of train, val and test, in this "
                                 "order, are accepted");
  }
  const SplitInput input = ReadInput(params, *dataset);
  std::vector<int64_t> rows =
      RowsOf(SplitByFractions(input, fractions,
                              static_cast<uint64_t>(params.Int("seed"))),
             number, true);
  if (rows.empty() && fractions[static_cast<size_t>(number)] > 0) {
    params.Fail("part", part + " has no sample: the data set has " +
                            std::to_string(input.size) +
                            (input.groups.empty() ? "" : ", in few groups") +
                            "; another seed or other fractions are needed");
  }
  return std::make_shared<SubsetDataset>(dataset, std::move(rows));
}

}  // namespace

std::vector<Entry<Dataset>> BuiltinViews() {
  return {{Concat(), MakeConcat},
          {Subset(), MakeSubset},
          {KFold(), MakeKFold},
          {Split(), MakeSplit}};
}

}  // namespace epochd::engine
