// SPDX-License-Identifier: Apache-2.0
//
// A record of one file: the first byte chooses the format, the next four shape
// the record, the rest are samples. Any window must be what the whole has
// there.
#include <ATen/ATen.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "worker/engine/core/error.h"
#include "worker/engine/data/signal/wfdb_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using epochd::engine::ChecksumPolicy;
  using epochd::engine::WfdbRecord;
  static const std::string folder = [] {
    // In memory where that can be: each run writes two files.
    const std::filesystem::path memory = "/dev/shm";
    const bool has_memory = access(memory.c_str(), W_OK) == 0;
    std::string pattern =
        ((has_memory ? memory : std::filesystem::temp_directory_path()) /
         "wfdb-fuzz-XXXXXX")
            .string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    // Empties it at the end of the process.
    static struct Remover {
      std::string path;
      ~Remover() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
      }
    } remover{pattern};
    return pattern;
  }();
  if (size < 5) return 0;
  constexpr int kFormats[] = {16, 24, 32, 61, 80, 160, 212, 310, 311};
  const int signals = 1 + data[1] % 4;
  std::string header = "r " + std::to_string(signals) + " 100";
  if (data[2] % 2 == 1) header += " " + std::to_string(data[2] / 2);
  header += '\n';
  for (int i = 0; i < signals; ++i) {
    header += "r.dat " + std::to_string(kFormats[data[0] % 9]) + "x" +
              std::to_string(1 + (data[3] >> i) % 3) + ":" +
              std::to_string((data[4] >> i) % 4) + "+" +
              std::to_string(data[4] % 8) + " 200 16 0 0 " +
              std::to_string(data[3]) + "\n";
  }
  std::ofstream(folder + "/r.hea") << header;
  std::ofstream(folder + "/r.dat", std::ios::binary)
      .write(reinterpret_cast<const char*>(data + 5),
             static_cast<std::streamsize>(size - 5));
  try {
    const WfdbRecord record(folder + "/r", ChecksumPolicy::kIgnore);
    const int64_t frames = record.num_frames();
    for (int i = 0; i < signals; ++i) {
      const at::Tensor whole = record.Physical(0, frames, {i});
      const int64_t from = frames * data[1] / 256;
      const int64_t to = from + (frames - from) * data[3] / 256;
      const at::Tensor window = record.Physical(from, to, {i});
      if (!at::allclose(window, whole.slice(1, from, to), 0, 0, true)) {
        std::abort();
      }
    }
    WfdbRecord(folder + "/r", ChecksumPolicy::kError).Physical(0, frames, {0});
  } catch (const epochd::engine::Error&) {
    // Refused, as it may be; anything else that is thrown is a bug.
  }
  return 0;
}
