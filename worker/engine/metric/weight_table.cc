// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/weight_table.h"

#include <algorithm>
#include <cstdint>

#include "worker/engine/core/error.h"
#include "worker/engine/data/table/csv.h"

namespace epochd::engine {
namespace {

constexpr int64_t kMostClasses = 4096;

[[noreturn]] void RefuseTable(const std::string& path,
                              const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, "CSV file \"" + path + "\": " + problem);
}

}  // namespace

WeightTable ReadWeightTable(const std::string& path,
                            const std::vector<std::string>& classes) {
  const CsvTable file = CsvTable::Read(path);
  const int64_t count = file.num_columns() - 1;
  if (count < 1 || count > kMostClasses || file.num_rows() != count) {
    RefuseTable(path, "has " + std::to_string(file.num_rows()) + " rows for " +
                          std::to_string(std::max<int64_t>(count, 0)) +
                          " classes; a row for each of 1 to 4096 is needed");
  }
  const std::vector<std::string> names(file.names().begin() + 1,
                                       file.names().end());
  for (int64_t row = 0; row < count; ++row) {
    if (file.Cell(row, 0) != names[row]) {
      file.Fail(row, 0,
                "\"" + names[row] +
                    "\" is needed; rows and columns are the same classes");
    }
  }
  WeightTable table{.classes = classes.empty() ? names : classes,
                    .weights = {}};
  std::vector<int64_t> places;
  for (const std::string& name : table.classes) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      RefuseTable(path, "has no class \"" + name + "\"");
    places.push_back(found - names.begin());
  }
  for (const int64_t row : places) {
    table.weights.emplace_back();
    for (const int64_t column : places) {
      table.weights.back().push_back(file.Number(row, column + 1));
    }
  }
  return table;
}

}  // namespace epochd::engine
