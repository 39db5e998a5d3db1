// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/decode_any_image.h"

namespace {

uint32_t Number(const std::string& bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) {
    number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  }
  return number;
}

uint32_t Crc(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

// Nearly no mutation would get past the checksums of chunks.
void RepairChecksums(std::string& png) {
  for (size_t at = 8; at + 12 <= png.size();) {
    const size_t length = Number(png, at);
    if (length > png.size() - at - 12) return;
    const uint32_t crc = Crc(std::string_view(png).substr(at + 4, length + 4));
    for (size_t i = 0; i < 4; ++i) {
      png[at + 8 + length + i] = static_cast<char>(crc >> (24 - 8 * i));
    }
    at += length + 12;
  }
}

}  // namespace

// The first byte chooses the mode, whether the image is turned, and whether
// checksums stay as they are, so that each is met; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data + 1), size - 1);
  if ((data[0] & 8) == 0) RepairChecksums(file);
  // A copy of the exact size: reading past it is then seen by sanitizers.
  const std::vector<char> bytes_of_file(file.begin(), file.end());
  const std::string_view bytes(bytes_of_file.data(), bytes_of_file.size());
  epochd::engine::DecodeAnyImage(bytes, data[0]);
  return 0;
}
