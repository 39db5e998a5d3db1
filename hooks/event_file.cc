// SPDX-License-Identifier: Apache-2.0
#include "hooks/event_file.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <filesystem>

namespace epochd::hooks {
namespace {

// Wire types of the protocol buffer encoding.
enum WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
    }
    table[i] = crc;
  }
  return table;
}

template <class Int>
void AppendFixed(Int value, std::string& out) {
  for (size_t i = 0; i < sizeof(Int); ++i) {
    out += static_cast<char>((value >> (8 * i)) & 0xff);
  }
}

void AppendVarint(uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out += static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void AppendKey(int field, WireType type, std::string& out) {
  AppendVarint(static_cast<uint64_t>(field) << 3 | type, out);
}

void AppendBytes(int field, std::string_view bytes, std::string& out) {
  AppendKey(field, kBytes, out);
  AppendVarint(bytes.size(), out);
  out += bytes;
}

void AppendInt(int field, int64_t value, std::string& out) {
  AppendKey(field, kVarint, out);
  AppendVarint(static_cast<uint64_t>(value), out);
}

uint32_t Masked(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

constexpr int kFileVersionField = 3;
constexpr int kSummaryField = 5;

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = MakeCrcTable();
  uint32_t crc = 0xffffffffu;
  for (char byte : bytes) {
    crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ (crc >> 8);
  }
  return ~crc;
}

bool EventFile::Open(double time) {
  if (file_) return true;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const std::string path = folder_ + "/events.out.tfevents." +
                           std::to_string(static_cast<int64_t>(time)) +
                           ".epochd." + std::to_string(getpid()) + suffix_;
  file_.reset(std::fopen(path.c_str(), "ab"));
  return file_ && AddEvent(time, 0, kFileVersionField, "brain.Event:2");
}

bool EventFile::AddEvent(double time, int64_t step, int field,
                         std::string_view payload) {
  std::string event;
  AppendKey(1, kFixed64, event);
  AppendFixed(std::bit_cast<uint64_t>(time), event);
  AppendInt(2, step, event);
  AppendBytes(field, payload, event);
  std::string record;
  AppendFixed(uint64_t{event.size()}, record);
  AppendFixed(Masked(Crc32c(record)), record);
  record += event;
  AppendFixed(Masked(Crc32c(event)), record);
  return std::fwrite(record.data(), 1, record.size(), file_.get()) ==
             record.size() &&
         std::fflush(file_.get()) == 0;
}

bool EventFile::AddScalars(
    double time, int64_t step,
    const std::vector<std::pair<std::string, double>>& scalars) {
  if (!Open(time)) return false;
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    AppendBytes(1, tag, value);
    AppendKey(2, kFixed32, value);
    AppendFixed(std::bit_cast<uint32_t>(static_cast<float>(number)), value);
    AppendBytes(1, value, summary);
  }
  return AddEvent(time, step, kSummaryField, summary);
}

bool EventFile::AddImage(double time, int64_t step, const std::string& tag,
                         int64_t height, int64_t width, int64_t channels,
                         const std::string& png) {
  if (!Open(time)) return false;
  std::string image;
  AppendInt(1, height, image);
  AppendInt(2, width, image);
  AppendInt(3, channels, image);
  AppendBytes(4, png, image);
  std::string value;
  AppendBytes(1, tag, value);
  AppendBytes(4, image, value);
  std::string summary;
  AppendBytes(1, value, summary);
  return AddEvent(time, step, kSummaryField, summary);
}

}  // namespace epochd::hooks
