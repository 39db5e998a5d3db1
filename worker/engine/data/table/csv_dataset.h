// SPDX-License-Identifier: Apache-2.0
//
// A CSV file as a data set, a sample per row, held in memory as numbers:
// `input` float32 [columns]; `target`, if asked for: int64 where it is a class,
// else float32, [] for one column and [columns] for more; further fields of
// numbers likewise. Column() also gives "group".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/data/table/csv.h"

namespace epochd::engine {

// How a target's cells are read.
enum class TargetType {
  kAuto,   // whole numbers from 0 in one column, or names: class; else number
  kClass,  // whole numbers from 0, or names
  kNumber,
};

struct CsvDatasetOptions {
  std::string file = {};
  CsvOptions csv = {};
  std::vector<std::string> inputs = {};  // empty: all that are nothing else
  std::vector<std::string> targets = {};
  TargetType target_type = TargetType::kAuto;
  std::vector<std::string> classes = {};  // names of classes, in order
  std::string group = {};                 // column of numbers or names
  // Further fields and their columns: numbers.
  std::vector<std::pair<std::string, std::vector<std::string>>> fields = {};
  std::vector<std::string> ignored = {};
  std::optional<double> missing = {};  // value of an empty cell; else an error
  // Told of what may not be meant; empty: nobody is.
  std::function<void(const std::string&)> notice = {};
};

// Throws Error(kBadSpec) naming file, line and column.
std::shared_ptr<Dataset> LoadCsvDataset(const CsvDatasetOptions& options);

}  // namespace epochd::engine
