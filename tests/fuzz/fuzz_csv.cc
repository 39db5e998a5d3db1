// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "worker/engine/core/error.h"
#include "worker/engine/data/table/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using epochd::engine::CsvTable;
  try {
    const CsvTable table = CsvTable::Parse(
        std::string(reinterpret_cast<const char*>(data), size), "fuzz");
    for (int64_t row = 0; row < table.num_rows(); ++row) {
      for (int64_t column = 0; column < table.num_columns(); ++column) {
        table.Number(row, column);
      }
    }
  } catch (const epochd::engine::Error&) {
    // Refused, as it may be; anything else that is thrown is a bug.
  }
  return 0;
}
