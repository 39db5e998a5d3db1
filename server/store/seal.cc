// SPDX-License-Identifier: Apache-2.0
#include "server/store/seal.h"

#include <zlib.h>

#include <cstdint>

namespace epochd::store {
namespace {

constexpr std::size_t kSealSize = 4;

std::uint32_t Checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::string Seal(std::string bytes) {
  const std::uint32_t checksum = Checksum(bytes);
  for (std::size_t i = 0; i < kSealSize; ++i) {
    bytes.push_back(static_cast<char>(checksum >> (8 * i)));
  }
  return bytes;
}

std::optional<std::string_view> Unseal(std::string_view record) {
  if (record.size() < kSealSize) return std::nullopt;
  const std::string_view bytes = record.substr(0, record.size() - kSealSize);
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < kSealSize; ++i) {
    expected |= static_cast<std::uint32_t>(
                    static_cast<unsigned char>(record[bytes.size() + i]))
                << (8 * i);
  }
  if (Checksum(bytes) != expected) return std::nullopt;
  return bytes;
}

}  // namespace epochd::store
