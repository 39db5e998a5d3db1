// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_samples.h"

#include <array>
#include <cstring>

namespace epochd::engine {
namespace {

constexpr WfdbFormat kFormats[] = {
    {16, 1, 2, -32768}, {24, 1, 3, -8388608}, {32, 1, 4, INT32_MIN},
    {61, 1, 2, -32768}, {80, 1, 1, -128},     {160, 1, 2, -32768},
    {212, 2, 3, -2048}, {310, 3, 4, -512},    {311, 3, 4, -512},
};

// The low `bits` bits of `value` as two's complement.
template <int kBits>
constexpr int32_t SignExtended(uint32_t value) {
  return static_cast<int32_t>(value << (32 - kBits)) >> (32 - kBits);
}

uint32_t Word32(const uint8_t* at) {
  return at[0] | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 |
         uint32_t{at[3]} << 24;
}

// One block each. Two 12-bit samples: low bytes at 0 and 2, high nibbles at 1.
void Block212(const uint8_t* at, int32_t* out) {
  out[0] = SignExtended<12>(at[0] | uint32_t{at[1]} << 8);
  out[1] = SignExtended<12>(at[2] | (uint32_t{at[1]} << 4 & 0xf00u));
}

// Three 10-bit samples: two in bits 1 to 10 of two words, the third in the
// highest five bits of both.
void Block310(const uint8_t* at, int32_t* out) {
  const uint32_t word = Word32(at);
  out[0] = SignExtended<10>(word >> 1);
  out[1] = SignExtended<10>(word >> 17);
  out[2] = SignExtended<10>((word >> 11 & 0x1fu) | (word >> 22 & 0x3e0u));
}

// Three 10-bit samples, one after the other from the lowest bit.
void Block311(const uint8_t* at, int32_t* out) {
  const uint32_t word = Word32(at);
  out[0] = SignExtended<10>(word);
  out[1] = SignExtended<10>(word >> 10);
  out[2] = SignExtended<10>(word >> 20);
}

template <void (*kBlock)(const uint8_t*, int32_t*), int kSamples, int kBytes>
void DecodeBlocks(std::span<const uint8_t> bytes, int64_t skip,
                  std::span<int32_t> out) {
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  size_t done = 0;
  int first = static_cast<int>(skip);
  while (done < out.size()) {
    if (first == 0 && left >= kBytes && out.size() - done >= kSamples) {
      kBlock(at, out.data() + done);
      done += kSamples;
    } else {
      // The file may end within a block.
      std::array<uint8_t, kBytes> block{};
      std::memcpy(block.data(), at, std::min<size_t>(left, kBytes));
      std::array<int32_t, kSamples> samples;
      kBlock(block.data(), samples.data());
      for (int i = first; i < kSamples && done < out.size(); ++i) {
        out[done++] = samples[i];
      }
      first = 0;
    }
    const size_t step = std::min<size_t>(left, kBytes);
    at += step;
    left -= step;
  }
}

template <class F>
void DecodeEach(std::span<int32_t> out, F sample) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = sample(i);
}

}  // namespace

int64_t WfdbFormat::BytesOf(int64_t count) const {
  const int64_t whole = count / block_samples * block_bytes;
  const int64_t rest = count % block_samples;
  if (rest == 0) return whole;
  // What the last samples reach into; 310's third sample, and its second,
  // reach into the last byte.
  switch (code) {
    case 212:
      return whole + 2;
    case 310:
      return whole + 2 * rest;
    default:  // 311: 10 or 20 bits
      return whole + rest + 1;
  }
}

int64_t WfdbFormat::SamplesIn(int64_t bytes) const {
  int64_t samples = bytes / block_bytes * block_samples;
  for (int more = 1; more < block_samples; ++more) {
    if (BytesOf(more) <= bytes % block_bytes) ++samples;
  }
  return samples;
}

const WfdbFormat* FindWfdbFormat(int code) {
  for (const WfdbFormat& format : kFormats) {
    if (format.code == code) return &format;
  }
  return nullptr;
}

std::string KnownWfdbFormats() {
  std::string names;
  for (const WfdbFormat& format : kFormats) {
    if (!names.empty()) names += ", ";
    names += std::to_string(format.code);
  }
  return names;
}

void DecodeWfdb(const WfdbFormat& format, std::span<const uint8_t> bytes,
                int64_t skip, std::span<int32_t> out) {
  const uint8_t* at = bytes.data();
  switch (format.code) {
    case 16:
      return DecodeEach(out, [at](size_t i) {
        return SignExtended<16>(at[2 * i] | uint32_t{at[2 * i + 1]} << 8);
      });
    case 24:
      return DecodeEach(out, [at](size_t i) {
        return SignExtended<24>(at[3 * i] | uint32_t{at[3 * i + 1]} << 8 |
                                uint32_t{at[3 * i + 2]} << 16);
      });
    case 32:
      return DecodeEach(out, [at](size_t i) {
        return static_cast<int32_t>(Word32(at + 4 * i));
      });
    case 61:  // as 16, high byte first
      return DecodeEach(out, [at](size_t i) {
        return SignExtended<16>(at[2 * i + 1] | uint32_t{at[2 * i]} << 8);
      });
    case 80:  // offset binary
      return DecodeEach(out, [at](size_t i) { return at[i] - 128; });
    case 160:  // offset binary
      return DecodeEach(out, [at](size_t i) {
        return (at[2 * i] | at[2 * i + 1] << 8) - 32768;
      });
    case 212:
      return DecodeBlocks<Block212, 2, 3>(bytes, skip, out);
    case 310:
      return DecodeBlocks<Block310, 3, 4>(bytes, skip, out);
    case 311:
      return DecodeBlocks<Block311, 3, 4>(bytes, skip, out);
    default:
      return;
  }
}

}  // namespace epochd::engine
