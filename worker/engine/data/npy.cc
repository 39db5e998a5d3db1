// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/npy.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "worker/engine/core/error.h"
#include "worker/engine/core/shape.h"
#include "worker/engine/data/file_bytes.h"
#include "worker/engine/data/mapped_file.h"
#include "worker/engine/data/random_access_file.h"

namespace epochd::engine {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeaderBytes = 64 * 1024;

[[noreturn]] void Fail(const std::string& path, const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, "npy file \"" + path + "\": " + problem);
}

// What follows `'key':` in the header, a Python dict literal; spaces skipped.
std::string_view ValueOf(std::string_view header, std::string_view key,
                         const std::string& path) {
  for (char quote : {'\'', '"'}) {
    const std::string quoted = quote + std::string(key) + quote;
    size_t at = header.find(quoted);
    if (at == std::string_view::npos) continue;
    at = header.find_first_not_of(' ', at + quoted.size());
    if (at == std::string_view::npos || header[at] != ':') continue;
    at = header.find_first_not_of(' ', at + 1);
    if (at != std::string_view::npos) return header.substr(at);
  }
  Fail(path, "header has no \"" + std::string(key) + "\"");
}

struct Type {
  at::ScalarType scalar;
  bool big_endian;
};

Type ParseType(std::string_view text, const std::string& path) {
  const size_t end =
      text.size() < 2 ? std::string_view::npos : text.find(text.front(), 1);
  if (end == std::string_view::npos ||
      (text.front() != '\'' && text.front() != '"')) {
    Fail(path, "\"descr\" is no simple type; structured arrays are not read");
  }
  const std::string_view descr = text.substr(1, end - 1);
  static constexpr std::pair<std::string_view, at::ScalarType> kTypes[] = {
      {"b1", at::kBool},  {"u1", at::kByte},  {"i1", at::kChar},
      {"i2", at::kShort}, {"i4", at::kInt},   {"i8", at::kLong},
      {"f2", at::kHalf},  {"f4", at::kFloat}, {"f8", at::kDouble}};
  for (const auto& [name, scalar] : kTypes) {
    if (descr.size() == 3 && descr.substr(1) == name &&
        std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
      return {scalar, descr[0] == '>'};
    }
  }
  Fail(path, "type is \"" + std::string(descr) +
                 "\"; b1, u1, i1, i2, i4, i8, f2, f4 or f8 is needed");
}

std::vector<int64_t> ParseShape(std::string_view text,
                                const std::string& path) {
  const size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos) {
    Fail(path, "\"shape\" is not a tuple");
  }
  std::vector<int64_t> shape;
  const char* at = text.data() + 1;
  const char* stop = text.data() + end;
  while (true) {
    while (at < stop && (*at == ' ' || *at == ',')) ++at;
    if (at == stop) break;
    int64_t size = 0;
    const auto [next, error] = std::from_chars(at, stop, size);
    if (error != std::errc() || size < 0 || shape.size() == 32) {
      Fail(path, "\"shape\" is \"" + std::string(text.substr(0, end + 1)) +
                     "\"; up to 32 whole numbers are needed");
    }
    shape.push_back(size);
    at = next;
  }
  return shape;
}

// What a header tells, checked against the size of what follows it.
struct Layout {
  Type type;
  std::vector<int64_t> shape;
  bool fortran;
  size_t begin;  // of the values
};

// `bytes`: the beginning of a file of `num_bytes`, as far as a header may go.
Layout ParseLayout(std::string_view bytes, uint64_t num_bytes,
                   const std::string& path) {
  if (bytes.size() < 10 || bytes.substr(0, kMagic.size()) != kMagic) {
    Fail(path, "does not begin with the npy magic");
  }
  const int version = static_cast<uint8_t>(bytes[6]);
  if (version < 1 || version > 3) {
    Fail(path,
         "version is " + std::to_string(version) + "; 1, 2 or 3 is needed");
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  size_t length = 0;
  for (size_t i = 0; i < length_bytes && 8 + i < bytes.size(); ++i) {
    length |= size_t{static_cast<uint8_t>(bytes[8 + i])} << (8 * i);
  }
  const size_t begin = 8 + length_bytes + length;
  if (length > kMaxHeaderBytes || begin > bytes.size()) {
    Fail(path, "header length is " + std::to_string(length) +
                   "; it must fit the file and be at most 65536");
  }
  const std::string_view header = bytes.substr(8 + length_bytes, length);
  Layout layout{
      .type = ParseType(ValueOf(header, "descr", path), path),
      .shape = ParseShape(ValueOf(header, "shape", path), path),
      .fortran = ValueOf(header, "fortran_order", path).starts_with("True"),
      .begin = begin};

  const uint64_t left = num_bytes - begin;
  const size_t item = c10::elementSize(layout.type.scalar);
  const uint64_t available = left / item;
  uint64_t count = 1;
  for (int64_t size : layout.shape) {
    if (size != 0 && count > available / static_cast<uint64_t>(size)) {
      count = available + 1;
      break;
    }
    count *= static_cast<uint64_t>(size);
  }
  if (count != available || left % item != 0 ||
      !IsPossibleShape(layout.shape, item)) {
    Fail(path, "its shape does not fit its " + std::to_string(left) +
                   " bytes of values from byte " + std::to_string(begin));
  }
  return layout;
}

// Values as `read(out)` gives them, brought to this machine's byte order and
// to C order.
template <class Read>
at::Tensor MakeArray(Layout layout, Read read) {
  std::vector<int64_t>& shape = layout.shape;
  if (layout.fortran) std::reverse(shape.begin(), shape.end());
  at::Tensor array = at::empty(shape, layout.type.scalar);
  const std::span<uint8_t> out(static_cast<uint8_t*>(array.mutable_data_ptr()),
                               array.nbytes());
  if (!out.empty()) read(out);
  const size_t item = c10::elementSize(layout.type.scalar);
  if (layout.type.big_endian && item > 1) {
    for (auto at = out.begin(); at != out.end();
         at += static_cast<std::ptrdiff_t>(item)) {
      std::reverse(at, at + static_cast<std::ptrdiff_t>(item));
    }
  }
  if (!layout.fortran) return array;
  std::vector<int64_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int64_t>(order.size() - 1 - i);
  }
  return array.permute(order).contiguous();
}

}  // namespace

at::Tensor ParseNpy(std::string_view bytes, const std::string& path) {
  Layout layout = ParseLayout(bytes, bytes.size(), path);
  const std::string_view values = bytes.substr(layout.begin);
  return MakeArray(std::move(layout), [&](std::span<uint8_t> out) {
    std::memcpy(out.data(), values.data(), values.size());
  });
}

at::Tensor ReadNpy(const std::string& path) {
  const RandomAccessFile file(path);
  std::string head(std::min<int64_t>(file.num_bytes(), kMaxHeaderBytes + 12),
                   '\0');
  file.Read(0, {reinterpret_cast<uint8_t*>(head.data()), head.size()});
  if (head.starts_with("\x1f\x8b")) {  // gzip
    return ParseNpy(ReadFileBytes(path), path);
  }
  Layout layout =
      ParseLayout(head, static_cast<uint64_t>(file.num_bytes()), path);
  const auto begin = static_cast<int64_t>(layout.begin);
  if (!layout.fortran && !layout.type.big_endian) {
    return FileTensors(file).At(begin, layout.shape, layout.type.scalar);
  }
  return MakeArray(std::move(layout),
                   [&](std::span<uint8_t> out) { file.ReadBulk(begin, out); });
}

}  // namespace epochd::engine
