// SPDX-License-Identifier: Apache-2.0
//
// Tables as text, RFC 4180: rows of cells, "quoted" where they hold the
// delimiter, quotes or line ends. Plain or gzip. Immutable; any thread.
//
// Held whole: its text, at most 4 GiB (of a gzip file less, file_bytes.h), and
// 8 bytes for each of at most 2^30 cells.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace epochd::engine {

struct CsvOptions {
  char delimiter = ',';
  bool has_header = true;  // the first row names the columns
};

class CsvTable {
 public:
  // Throws Error(kBadSpec) naming file, line and column: a quote that is not
  // closed or stands within a cell, a row of another length.
  static CsvTable Read(const std::string& path, const CsvOptions& options = {});
  static CsvTable Parse(std::string text, const std::string& path,
                        const CsvOptions& options = {});

  const std::string& path() const { return path_; }
  int64_t num_rows() const {
    return cells_.empty() ? 0
                          : static_cast<int64_t>(cells_.size()) / num_columns_;
  }
  int64_t num_columns() const { return num_columns_; }
  // Empty without a header.
  const std::vector<std::string>& names() const { return names_; }
  // By name, or by number from 0 where no column has that name. Throws
  // Error(kBadSpec) naming the file and the columns that there are.
  int64_t FindColumn(const std::string& name) const;

  std::string_view Cell(int64_t row, int64_t column) const;
  // Throws Error(kBadSpec) naming the place when it is no finite number.
  double Number(int64_t row, int64_t column) const;
  // The line of the file that a row begins on.
  int64_t LineOf(int64_t row) const;
  // The error to throw about a cell.
  [[noreturn]] void Fail(int64_t row, int64_t column,
                         const std::string& problem) const;

 private:
  // Of at most 4 GiB of text.
  struct Span {
    uint32_t begin = 0;
    uint32_t size = 0;
  };
  struct RowLine {
    int64_t row = 0;
    int64_t line = 0;
  };

  std::string path_;
  std::string text_;
  std::vector<std::string> names_;
  std::vector<Span> cells_;  // row by row
  // The line of the first row, and of each that is not on the next line.
  std::vector<RowLine> lines_;
  int64_t num_columns_ = 0;
};

}  // namespace epochd::engine
