// SPDX-License-Identifier: Apache-2.0
//
// WFDB sample formats, as signal(5) of the WFDB Applications Guide defines
// them: how samples are packed into bytes. Each can be entered at any sample,
// since samples come in blocks of a fixed number of bytes. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace epochd::engine {

struct WfdbFormat {
  int code;           // 16, 24, 32, 61, 80, 160, 212, 310, 311
  int block_samples;  // in a block
  int block_bytes;
  int32_t invalid;  // stands for "no sample"

  // Bytes of `count` samples from the beginning of a block.
  int64_t BytesOf(int64_t count) const;
  // Samples that `bytes` hold, from the beginning of a block.
  int64_t SamplesIn(int64_t bytes) const;
};

// nullptr: this code is not known.
const WfdbFormat* FindWfdbFormat(int code);
// For messages.
std::string KnownWfdbFormats();

// Decodes `out.size()` samples after the first `skip` of a block. `bytes`
// begins with that block and holds BytesOf(skip + out.size()) bytes.
void DecodeWfdb(const WfdbFormat& format, std::span<const uint8_t> bytes,
                int64_t skip, std::span<int32_t> out);

}  // namespace epochd::engine
