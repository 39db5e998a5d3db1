// SPDX-License-Identifier: Apache-2.0
//
// A record of one file, alone or as a segment: the first byte chooses the
// format and whether it is read plain, twice with a gap between, or under a
// layout; the next four shape the record, the rest are samples. Any window must
// be what the whole has there.
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

namespace {

using epochd::engine::ChecksumPolicy;
using epochd::engine::WfdbRecord;

// In memory where that can be: each run writes some files.
const std::string& Folder() {
  static const std::string folder = [] {
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
  return folder;
}

void WriteText(const std::string& name, const std::string& text) {
  std::ofstream(Folder() + "/" + name) << text;
}

// The record s of one file: `data` are the first bytes of the input.
void WriteSegment(const uint8_t* data, int signals) {
  constexpr int kFormats[] = {16, 24, 32, 61, 80, 160, 212, 310, 311};
  std::string header = "s " + std::to_string(signals) + " 100";
  if (data[2] % 2 == 1) header += " " + std::to_string(data[2] / 2);
  header += '\n';
  for (int i = 0; i < signals; ++i) {
    header += "s.dat " + std::to_string(kFormats[data[0] % 9]) + "x" +
              std::to_string(1 + (data[3] >> i) % 3) + ":" +
              std::to_string((data[4] >> i) % 4) + "+" +
              std::to_string(data[4] % 8) + " 200 16 0 0 " +
              std::to_string(data[3]) + " 0 lead " + std::to_string(i) + "\n";
  }
  WriteText("s.hea", header);
}

// The record r, whose segments are s; gives its name, or s itself.
std::string WriteRecord(const uint8_t* data, int signals) {
  const int kind = data[0] / 9 % 3;
  if (kind == 0) return "s";
  const std::string frames = std::to_string(
      WfdbRecord(Folder() + "/s", ChecksumPolicy::kIgnore).num_frames());
  const std::string gap = std::to_string(data[4]);
  if (kind == 1) {
    WriteText("r.hea", "r/3 " + std::to_string(signals) + " 100\ns " + frames +
                           "\n~ " + gap + "\ns " + frames + "\n");
    return "r";
  }
  // In another order, and one that s has not.
  std::string layout = "l " + std::to_string(signals + 1) + " 100 0\n";
  for (int i = signals; i >= 0; --i) {
    layout += "~ 0x" + std::to_string(1 + (data[3] >> i) % 3) +
              " 200 16 0 0 0 0 lead " + std::to_string(i) + "\n";
  }
  WriteText("l.hea", layout);
  WriteText("r.hea", "r/3 " + std::to_string(signals + 1) + " 100\nl 0\n~ " +
                         gap + "\ns " + frames + "\n");
  return "r";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 5) return 0;
  const int signals = 1 + data[1] % 4;
  WriteSegment(data, signals);
  std::ofstream(Folder() + "/s.dat", std::ios::binary)
      .write(reinterpret_cast<const char*>(data + 5),
             static_cast<std::streamsize>(size - 5));
  try {
    const std::string path = Folder() + "/" + WriteRecord(data, signals);
    const WfdbRecord record(path, ChecksumPolicy::kIgnore);
    const int64_t frames = record.num_frames();
    for (int i = 0; i < static_cast<int>(record.signals().size()); ++i) {
      const at::Tensor whole = record.Physical(0, frames, {i});
      const int64_t from = frames * data[1] / 256;
      const int64_t to = from + (frames - from) * data[3] / 256;
      const at::Tensor window = record.Physical(from, to, {i});
      if (!at::allclose(window, whole.slice(1, from, to), 0, 0, true)) {
        std::abort();
      }
    }
    WfdbRecord(path, ChecksumPolicy::kError).Physical(0, frames, {0});
  } catch (const epochd::engine::Error&) {
    // Refused, as it may be; anything else that is thrown is a bug.
  }
  return 0;
}
