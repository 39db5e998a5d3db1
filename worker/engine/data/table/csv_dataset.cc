// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/table/csv_dataset.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/parse_number.h"
#include "worker/engine/data/column.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

// Columns as fields, and groups that are no field.
class CsvDataset : public Dataset {
 public:
  CsvDataset(Batch columns, at::Tensor group, at::Tensor group_names,
             at::Tensor class_names)
      : rows_(std::move(columns)),
        group_(std::move(group)),
        group_names_(std::move(group_names)),
        class_names_(std::move(class_names)) {}
  int64_t Size() const override { return rows_.Size(); }
  Batch Get(int64_t index, const SampleSeed& seed) const override {
    return rows_.Get(index, seed);
  }
  bool GathersBatches() const override { return true; }
  Batch GetBatch(std::span<const int64_t> indices,
                 const SampleSeed& seed) const override {
    return rows_.GetBatch(indices, seed);
  }
  at::Tensor Column(std::string_view field) const override {
    if (field == NamesOf("group")) return group_names_;
    if (field == kClassNames) return class_names_;
    return field == "group" ? group_ : rows_.Column(field);
  }

 private:
  const TensorDataset rows_;
  const at::Tensor group_;
  const at::Tensor group_names_;
  const at::Tensor class_names_;
};

std::vector<int64_t> FindAll(const CsvTable& table,
                             const std::vector<std::string>& names) {
  std::vector<int64_t> columns;
  for (const std::string& name : names) {
    columns.push_back(table.FindColumn(name));
  }
  return columns;
}

at::Tensor Numbers(const CsvTable& table, const std::vector<int64_t>& columns,
                   const std::optional<double>& missing) {
  const auto count = static_cast<int64_t>(columns.size());
  at::Tensor values = at::empty({table.num_rows(), count}, at::kFloat);
  auto* out = values.mutable_data_ptr<float>();
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    for (int64_t column : columns) {
      *out++ = static_cast<float>(missing && table.Cell(row, column).empty()
                                      ? *missing
                                      : table.Number(row, column));
    }
  }
  return values;
}

// [rows] of one column, [rows, columns] of more.
at::Tensor NumberField(const CsvTable& table,
                       const std::vector<int64_t>& columns,
                       const std::optional<double>& missing) {
  at::Tensor values = Numbers(table, columns, missing);
  return columns.size() == 1 ? values.select(1, 0) : values;
}

// A whole number from 0; -1: it is none.
int64_t ClassNumber(std::string_view cell) {
  const int64_t value = ParseNumber<int64_t>(cell).value_or(-1);
  return value <= 1000000 ? value : -1;
}

at::Tensor Classes(const CsvTable& table, int64_t column,
                   const std::vector<std::string>& names) {
  at::Tensor labels = at::empty({table.num_rows()}, at::kLong);
  auto* out = labels.mutable_data_ptr<int64_t>();
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    const std::string_view cell = table.Cell(row, column);
    if (names.empty()) {
      *out = ClassNumber(cell);
      if (*out < 0) {
        table.Fail(row, column,
                   "a class, a whole number from 0, is needed, or `classes` "
                   "with the names");
      }
    } else {
      const auto found = std::find(names.begin(), names.end(), cell);
      if (found == names.end()) {
        std::string known;
        for (const std::string& name : names) {
          known += (known.empty() ? "" : ", ") + name;
        }
        table.Fail(row, column, "one of " + known + " is needed");
      }
      *out = found - names.begin();
    }
    ++out;
  }
  return labels;
}

// A number for each different cell, by first appearance.
at::Tensor Groups(const CsvTable& table, int64_t column) {
  at::Tensor groups = at::empty({table.num_rows()}, at::kLong);
  auto* out = groups.mutable_data_ptr<int64_t>();
  std::map<std::string_view, int64_t> places;
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    const auto next = static_cast<int64_t>(places.size());
    *out++ = places.emplace(table.Cell(row, column), next).first->second;
  }
  return groups;
}

at::Tensor NameHashes(const CsvTable& table, int64_t column) {
  at::Tensor names = at::empty({table.num_rows()}, at::kLong);
  auto* out = names.mutable_data_ptr<int64_t>();
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    *out++ = HashOf(table.Cell(row, column));
  }
  return names;
}

at::Tensor Target(const CsvTable& table, const std::vector<int64_t>& columns,
                  const CsvDatasetOptions& options) {
  TargetType type = options.target_type;
  if (type == TargetType::kAuto) {
    bool is_class = columns.size() == 1;
    for (int64_t row = 0; is_class && row < table.num_rows(); ++row) {
      is_class = ClassNumber(table.Cell(row, columns[0])) >= 0;
    }
    is_class = is_class || !options.classes.empty();
    type = is_class ? TargetType::kClass : TargetType::kNumber;
  }
  if (type == TargetType::kClass) {
    if (columns.size() != 1) {
      throw Error(ErrorKind::kBadSpec, "Csv: target has " +
                                           std::to_string(columns.size()) +
                                           " columns; a class is one");
    }
    return Classes(table, columns[0], options.classes);
  }
  return NumberField(table, columns, options.missing);
}

// Whether the names are numbers, but those of places.
bool LooksLikeData(const std::vector<std::string>& names) {
  bool are_places = true;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!ParseNumber<double>(names[i])) return false;
    are_places &= names[i] == std::to_string(i);
  }
  return !names.empty() && !are_places;
}

}  // namespace

std::shared_ptr<Dataset> LoadCsvDataset(const CsvDatasetOptions& options) {
  const CsvTable table = CsvTable::Read(options.file, options.csv);
  if (table.num_rows() == 0) {
    throw Error(ErrorKind::kBadSpec,
                "CSV file \"" + options.file + "\": has no rows");
  }
  if (options.notice && LooksLikeData(table.names())) {
    options.notice("\"" + options.file +
                   "\": the first row, taken for names of columns, holds "
                   "numbers alone; header: false takes it for data");
  }
  const std::vector<int64_t> targets = FindAll(table, options.targets);
  std::vector<int64_t> inputs = FindAll(table, options.inputs);
  const int64_t group =
      options.group.empty() ? -1 : table.FindColumn(options.group);
  Batch further;
  std::set<int64_t> other(targets.begin(), targets.end());
  for (const auto& [field, names] : options.fields) {
    if (field == "input" || field == "target" || field == "group") {
      throw Error(ErrorKind::kBadSpec,
                  "Csv: fields: \"" + field +
                      "\" has a parameter of its own, which is to be used");
    }
    const std::vector<int64_t> columns = FindAll(table, names);
    if (columns.empty()) {
      throw Error(ErrorKind::kBadSpec, "Csv: fields: \"" + field +
                                           "\" has no column; one or more are "
                                           "needed");
    }
    further.Set(field, NumberField(table, columns, options.missing));
    other.insert(columns.begin(), columns.end());
  }
  if (inputs.empty()) {
    const std::vector<int64_t> ignored = FindAll(table, options.ignored);
    other.insert(ignored.begin(), ignored.end());
    other.insert(group);
    for (int64_t i = 0; i < table.num_columns(); ++i) {
      if (!other.contains(i)) inputs.push_back(i);
    }
  }
  Batch columns{{"input", Numbers(table, inputs, options.missing)}};
  if (!targets.empty()) columns.Set("target", Target(table, targets, options));
  columns.Merge(std::move(further));
  return std::make_shared<CsvDataset>(
      std::move(columns), group < 0 ? at::Tensor() : Groups(table, group),
      group < 0 ? at::Tensor() : NameHashes(table, group),
      // Listed classes are those of one column.
      options.classes.empty() || targets.size() != 1
          ? at::Tensor()
          : NameHashes(table, targets[0]));
}

}  // namespace epochd::engine
