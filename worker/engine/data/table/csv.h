// SPDX-License-Identifier: Apache-2.0
//
// Tables as text, RFC 4180: rows of cells, "quoted" where they hold the
// delimiter, quotes or line ends. Plain or gzip. Immutable; any thread.
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
  int64_t num_rows() const { return static_cast<int64_t>(lines_.size()); }
  int64_t num_columns() const { return num_columns_; }
  // Empty without a header.
  const std::vector<std::string>& names() const { return names_; }
  // By name, or by number from 0 where no column has that name. Throws
  // Error(kBadSpec) naming the file and the columns that there are.
  int64_t FindColumn(const std::string& name) const;

  std::string_view Cell(int64_t row, int64_t column) const;
  // Throws Error(kBadSpec) naming the place when it is no finite number.
  double Number(int64_t row, int64_t column) const;
  // The error to throw about a cell.
  [[noreturn]] void Fail(int64_t row, int64_t column,
                         const std::string& problem) const;

 private:
  struct Span {
    uint64_t begin = 0;
    uint64_t size = 0;
  };

  std::string path_;
  std::string text_;
  std::vector<std::string> names_;
  std::vector<Span> cells_;     // row by row
  std::vector<int64_t> lines_;  // where each row begins
  int64_t num_columns_ = 0;
};

}  // namespace epochd::engine
