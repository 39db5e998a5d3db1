// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/table/csv.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/parse_number.h"
#include "worker/engine/data/file_bytes.h"

namespace epochd::engine {
namespace {

constexpr int64_t kMaxCsvBytes = (int64_t{4} << 30) - 1;
constexpr size_t kMaxCells = size_t{1} << 30;
constexpr int64_t kMaxColumns = 1000000;

[[noreturn]] void RefuseCsv(const std::string& path, int64_t line,
                            const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, "CSV file \"" + path + "\" line " +
                                       std::to_string(line) + ": " + problem);
}

}  // namespace

CsvTable CsvTable::Read(const std::string& path, const CsvOptions& options) {
  return Parse(ReadFileBytes(path, kMaxCsvBytes), path, options);
}

CsvTable CsvTable::Parse(std::string text, const std::string& path,
                         const CsvOptions& options) {
  CsvTable table;
  table.path_ = path;
  table.text_ = std::move(text);
  std::string& bytes = table.text_;
  const size_t size = bytes.size();
  size_t at = bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  int64_t line = 1;
  // As many at most; taken at once, so that growing takes no more than they do.
  const auto ends =
      std::count_if(bytes.begin(), bytes.end(), [&options](char byte) {
        return byte == options.delimiter || byte == '\n' || byte == '\r';
      });
  table.cells_.reserve(std::min(static_cast<size_t>(ends) + 1, kMaxCells));
  std::vector<Span> row;
  bool needs_header = options.has_header;
  while (at < size) {
    // An empty line is no row.
    if (bytes[at] == '\n' || bytes[at] == '\r') {
      line += bytes[at] == '\n';
      ++at;
      continue;
    }
    row.clear();
    const int64_t first_line = line;
    while (true) {
      Span cell{.begin = static_cast<uint32_t>(at)};
      if (at < size && bytes[at] == '"') {
        // Unquoted in place: what is kept is never longer.
        size_t out = at;
        ++at;
        while (true) {
          if (at >= size) {
            RefuseCsv(path, first_line,
                      "column " + std::to_string(row.size() + 1) +
                          " begins with a quote that is not closed");
          }
          if (bytes[at] == '"') {
            if (at + 1 >= size || bytes[at + 1] != '"') break;
            ++at;
          }
          line += bytes[at] == '\n';
          bytes[out++] = bytes[at++];
        }
        ++at;
        cell.size = static_cast<uint32_t>(out - cell.begin);
        if (at < size && bytes[at] != options.delimiter && bytes[at] != '\n' &&
            bytes[at] != '\r') {
          RefuseCsv(path, line,
                    "column " + std::to_string(row.size() + 1) +
                        " goes on after its closing quote");
        }
      } else {
        while (at < size && bytes[at] != options.delimiter &&
               bytes[at] != '\n' && bytes[at] != '\r') {
          ++at;
        }
        cell.size = static_cast<uint32_t>(at - cell.begin);
      }
      row.push_back(cell);
      if (at >= size || bytes[at] != options.delimiter) break;
      ++at;
      if (static_cast<int64_t>(row.size()) >= kMaxColumns) {
        RefuseCsv(path, line, "has more than 1000000 columns");
      }
    }
    if (table.num_columns_ == 0) {
      table.num_columns_ = static_cast<int64_t>(row.size());
    }
    if (static_cast<int64_t>(row.size()) != table.num_columns_) {
      RefuseCsv(path, first_line,
                "has " + std::to_string(row.size()) + " columns; " +
                    std::to_string(table.num_columns_) +
                    " are needed, as in the first row");
    }
    if (needs_header) {
      needs_header = false;
      for (const Span& cell : row) {
        table.names_.push_back(bytes.substr(cell.begin, cell.size));
      }
      continue;
    }
    if (table.cells_.size() + row.size() > kMaxCells) {
      RefuseCsv(path, first_line,
                "brings the table to more than " + std::to_string(kMaxCells) +
                    " cells, the most accepted");
    }
    const int64_t number = table.num_rows();
    if (number == 0 || table.LineOf(number) != first_line) {
      table.lines_.push_back({number, first_line});
    }
    table.cells_.insert(table.cells_.end(), row.begin(), row.end());
  }
  return table;
}

int64_t CsvTable::FindColumn(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) {
    if (std::count(found, names_.end(), name) == 1) {
      return found - names_.begin();
    }
    throw Error(ErrorKind::kBadSpec,
                "CSV file \"" + path_ + "\": has two columns \"" + name +
                    "\"; the number of one, from 0, is accepted");
  }
  const auto number = ParseNumber<int64_t>(name);
  if (number && *number >= 0 && *number < num_columns_) return *number;
  std::string known = "0 to " + std::to_string(num_columns_ - 1);
  for (size_t i = 0; i < std::min<size_t>(names_.size(), 20); ++i) {
    known += ", " + names_[i];
  }
  throw Error(ErrorKind::kBadSpec, "CSV file \"" + path_ +
                                       "\": has no column \"" + name +
                                       "\"; it has " + known);
}

int64_t CsvTable::LineOf(int64_t row) const {
  const auto after = std::upper_bound(
      lines_.begin(), lines_.end(), row,
      [](int64_t wanted, const RowLine& each) { return wanted < each.row; });
  return std::prev(after)->line + row - std::prev(after)->row;
}

std::string_view CsvTable::Cell(int64_t row, int64_t column) const {
  const Span& cell = cells_[row * num_columns_ + column];
  return std::string_view(text_).substr(cell.begin, cell.size);
}

double CsvTable::Number(int64_t row, int64_t column) const {
  std::string_view cell = Cell(row, column);
  while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
  while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
  if (cell.size() > 1 && cell.front() == '+') cell.remove_prefix(1);
  const auto value = ParseNumber<double>(cell);
  if (!value) Fail(row, column, "a number is needed");
  return *value;
}

void CsvTable::Fail(int64_t row, int64_t column,
                    const std::string& problem) const {
  std::string_view cell = Cell(row, column);
  std::string name = std::to_string(column);
  if (!names_.empty()) name += " (\"" + names_[column] + "\")";
  RefuseCsv(path_, LineOf(row),
            "column " + name + " is \"" + std::string(cell.substr(0, 80)) +
                "\"; " + problem);
}

}  // namespace epochd::engine
