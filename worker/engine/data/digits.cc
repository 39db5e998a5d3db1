// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/digits.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "worker/engine/core/error.h"
#include "worker/engine/data/random.h"
#include "worker/engine/data/table/csv.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

// The last column: whole numbers from 0.
at::Tensor Labels(const CsvTable& table) {
  const int64_t column = table.num_columns() - 1;
  at::Tensor labels = at::empty({table.num_rows()}, at::kLong);
  auto* out = labels.mutable_data_ptr<int64_t>();
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    const double label = table.Number(row, column);
    if (label < 0 || label != std::floor(label) || label > 1e6) {
      table.Fail(row, column, "a label, a whole number from 0, is needed");
    }
    *out++ = static_cast<int64_t>(label);
  }
  return labels;
}

// All columns but the last.
at::Tensor Greys(const CsvTable& table) {
  const int64_t columns = table.num_columns() - 1;
  at::Tensor greys = at::empty({table.num_rows(), columns}, at::kFloat);
  auto* out = greys.mutable_data_ptr<float>();
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      *out++ = static_cast<float>(table.Number(row, column));
    }
  }
  return greys;
}

// Rows of the wanted part, ascending. Each class gives round(n * fraction) of
// its rows, drawn by `split_seed`, to the validation part.
std::vector<int64_t> SplitRows(const at::Tensor& labels,
                               const DigitsOptions& options) {
  std::map<int64_t, std::vector<int64_t>> by_class;
  const auto* number = labels.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < labels.numel(); ++i) by_class[number[i]].push_back(i);
  std::vector<int64_t> rows;
  for (auto& [label, members] : by_class) {
    Random random({static_cast<uint64_t>(Stream::kSplit), options.split_seed,
                   static_cast<uint64_t>(label)});
    random.Shuffle(members);
    const auto border =
        members.begin() +
        std::lround(static_cast<double>(members.size()) * options.val_fraction);
    if (options.split == "val") {
      rows.insert(rows.end(), members.begin(), border);
    } else {
      rows.insert(rows.end(), border, members.end());
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

std::shared_ptr<Dataset> LoadDigits(const DigitsOptions& options) {
  const CsvTable table = CsvTable::Read(options.file, {.has_header = false});
  const auto refuse = [&options](const std::string& problem) {
    throw Error(ErrorKind::kBadSpec,
                "CSV file \"" + options.file + "\": " + problem);
  };
  if (table.num_rows() == 0) refuse("has no rows");
  const int64_t pixels = table.num_columns() - 1;
  const int64_t side = std::lround(std::sqrt(pixels));
  if (pixels < 1) refuse("has one column; grey levels and a label are needed");
  if (options.image && side * side != pixels) {
    refuse("has " + std::to_string(pixels) +
           " grey levels in a row, not a square; image: false is needed");
  }
  at::Tensor input = Greys(table);
  at::Tensor target = Labels(table);
  if (options.image) input = input.view({table.num_rows(), 1, side, side});
  if (options.split != "all") {
    const at::Tensor rows = at::tensor(SplitRows(target, options), at::kLong);
    input = input.index_select(0, rows);
    target = target.index_select(0, rows);
  }
  return std::make_shared<TensorDataset>(
      Batch{{"input", input}, {"target", target}});
}

}  // namespace epochd::engine
