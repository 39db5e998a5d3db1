// SPDX-License-Identifier: Apache-2.0
//
// The table, and what is made of one.
#include <ATen/ATen.h>

#include <cstdint>
#include <string>

#include "tests/fuzz/memory_file.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/digits.h"
#include "worker/engine/data/table/csv.h"
#include "worker/engine/metric/weight_table.h"

namespace {

template <class Read>
void Try(Read read) {
  try {
    read();
  } catch (const epochd::engine::Error&) {
    // Refused, as it may be; anything else that is thrown is a bug.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using epochd::engine::CsvTable;
  Try([&] {
    const CsvTable table = CsvTable::Parse(
        std::string(reinterpret_cast<const char*>(data), size), "fuzz");
    for (int64_t row = 0; row < table.num_rows(); ++row) {
      for (int64_t column = 0; column < table.num_columns(); ++column) {
        table.Number(row, column);
      }
    }
  });
  const epochd::engine::MemoryFile file(data, size);
  Try([&] { epochd::engine::LoadDigits({.file = file.path()}); });
  Try([&] {
    epochd::engine::LoadDigits(
        {.file = file.path(), .split = "all", .image = true});
  });
  Try([&] { epochd::engine::ReadWeightTable(file.path(), {}); });
  return 0;
}
