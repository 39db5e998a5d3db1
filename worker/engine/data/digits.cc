// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/digits.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "worker/engine/core/error.h"
#include "worker/engine/data/file_bytes.h"
#include "worker/engine/data/random.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

[[noreturn]] void Fail(const std::string& file, size_t line,
                       const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, "file \"" + file + "\" line " +
                                       std::to_string(line) + ": " + problem);
}

struct Table {
  std::vector<float> values;  // rows x columns
  std::vector<int64_t> labels;
  int64_t num_columns = 0;
};

// Parses one line into `table`; all lines must have as many fields.
void ParseLine(std::string_view text, const std::string& file, size_t line,
               Table& table) {
  std::vector<double> row;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    double value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || !std::isfinite(value)) {
      Fail(file, line,
           "column " + std::to_string(row.size() + 1) + " is \"" +
               std::string(at, std::find(at, end, ',')) +
               "\"; a number is needed");
    }
    row.push_back(value);
    if (next == end) break;
    if (*next != ',') {
      Fail(file, line,
           "column " + std::to_string(row.size()) +
               " is not followed by a comma");
    }
    at = next + 1;
  }
  const int64_t num_columns = static_cast<int64_t>(row.size()) - 1;
  if (table.num_columns == 0) table.num_columns = num_columns;
  if (num_columns < 1 || num_columns != table.num_columns) {
    Fail(file, line,
         "has " + std::to_string(row.size()) + " columns; " +
             std::to_string(table.num_columns + 1) + " are needed");
  }
  const double label = row.back();
  if (label < 0 || label != std::floor(label) || label > 1e6) {
    Fail(file, line,
         "label is " + std::to_string(label) +
             "; a whole number from 0 is needed");
  }
  table.labels.push_back(static_cast<int64_t>(label));
  table.values.insert(table.values.end(), row.begin(), row.end() - 1);
}

Table Parse(const std::string& file) {
  const std::string text = ReadFileBytes(file, int64_t{1} << 30);
  Table table;
  size_t line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t newline = std::min(text.find('\n', begin), text.size());
    std::string_view row(text.data() + begin, newline - begin);
    ++line;
    if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
    if (!row.empty()) ParseLine(row, file, line, table);
    begin = newline + 1;
  }
  if (table.labels.empty()) {
    throw Error(ErrorKind::kBadSpec, "file \"" + file + "\": has no rows");
  }
  return table;
}

// Rows of the wanted part, ascending. Each class gives round(n * fraction) of
// its rows, drawn by `split_seed`, to the validation part.
std::vector<int64_t> SplitRows(const std::vector<int64_t>& labels,
                               const DigitsOptions& options) {
  std::map<int64_t, std::vector<int64_t>> by_class;
  for (size_t i = 0; i < labels.size(); ++i) {
    by_class[labels[i]].push_back(static_cast<int64_t>(i));
  }
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
  const Table table = Parse(options.file);
  const int64_t n = static_cast<int64_t>(table.labels.size());
  at::Tensor input =
      at::tensor(table.values, at::kFloat).view({n, table.num_columns});
  at::Tensor target = at::tensor(table.labels, at::kLong);
  if (options.image) {
    const int64_t side = std::lround(std::sqrt(table.num_columns));
    if (side * side != table.num_columns) {
      Fail(options.file, 1,
           "has " + std::to_string(table.num_columns) +
               " grey levels, not a square; image: false is needed");
    }
    input = input.view({n, 1, side, side});
  }
  if (options.split != "all") {
    const at::Tensor rows =
        at::tensor(SplitRows(table.labels, options), at::kLong);
    input = input.index_select(0, rows);
    target = target.index_select(0, rows);
  }
  return std::make_shared<TensorDataset>(
      Batch{{"input", input}, {"target", target}});
}

}  // namespace epochd::engine
