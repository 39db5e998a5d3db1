// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/npy.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "worker/engine/core/shape.h"
#include "worker/engine/data/file_bytes.h"
#include "worker/engine/data/mapped_file.h"
#include "worker/engine/data/random_access_file.h"
#include "worker/engine/data/refuse_file.h"
#include "worker/engine/data/widen_unsigned.h"

namespace epochd::engine {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeaderBytes = 64 * 1024;
constexpr size_t kMaxDims = 32;

[[noreturn]] void FailNpy(const std::string& path, uint64_t byte,
                          const std::string& problem) {
  RefuseFile("npy file", path, byte, problem);
}

struct Type {
  at::ScalarType scalar;  // as stored; of unsigned ones the signed of its width
  bool is_unsigned;       // and to be widened
  bool big_endian;
};

// The header, a literal of a Python dict, read from left to right.
class NpyHeader {
 public:
  // `begin`: the byte of the file at which `text` begins.
  NpyHeader(std::string_view text, size_t begin, const std::string& path)
      : text_(text), begin_(begin), path_(path) {}

  [[noreturn]] void Fail(size_t at, const std::string& problem) const {
    FailNpy(path_, begin_ + at, "the header " + problem);
  }
  // Blanks are skipped before what is read.
  size_t Place() {
    at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size());
    return at_;
  }
  bool Take(std::string_view token) {
    if (text_.substr(Place(), token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void Need(std::string_view token) {
    if (!Take(token)) {
      Fail(at_, "has " + Next() + ", where \"" + std::string(token) +
                    "\" is needed");
    }
  }
  // What stands within quotes.
  std::string_view Quoted(const std::string& what) {
    const size_t begin = Place();
    const char quote = begin < text_.size() ? text_[begin] : '\0';
    const size_t end = text_.find(quote, begin + 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) {
      Fail(begin, "has " + Next() + ", where " + what + " is needed");
    }
    at_ = end + 1;
    return text_.substr(begin + 1, end - begin - 1);
  }
  int64_t Whole() {
    int64_t value = 0;
    const char* begin = text_.data() + Place();
    const auto [next, error] =
        std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) {
      Fail(at_, "has the size " + Next() + "; a whole number is needed");
    }
    at_ += static_cast<size_t>(next - begin);
    return value;
  }
  std::string Next() const {
    if (at_ >= text_.size()) return "its end";
    return "\"" + std::string(text_.substr(at_, 20)) + "\"";
  }

 private:
  const std::string_view text_;
  const size_t begin_;
  const std::string& path_;
  size_t at_ = 0;
};

Type ParseType(NpyHeader& header) {
  if (const size_t place = header.Place(); header.Take("[")) {
    header.Fail(place, "tells of fields; structured arrays are not read");
  }
  const size_t place = header.Place();
  const std::string_view descr = header.Quoted("a type");
  struct Known {
    std::string_view name;
    at::ScalarType scalar;
    bool is_unsigned = false;
  };
  static constexpr Known kTypes[] = {
      {"b1", at::kBool},      {"u1", at::kByte},
      {"i1", at::kChar},      {"i2", at::kShort},
      {"i4", at::kInt},       {"i8", at::kLong},
      {"f2", at::kHalf},      {"f4", at::kFloat},
      {"f8", at::kDouble},    {"u2", at::kShort, true},
      {"u4", at::kInt, true}, {"u8", at::kLong, true}};
  for (const Known& known : kTypes) {
    if (descr.size() == 3 && descr.substr(1) == known.name &&
        std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
      return {known.scalar, known.is_unsigned, descr[0] == '>'};
    }
  }
  header.Fail(place, "has the type \"" + std::string(descr) +
                         "\"; b1, u1, u2, u4, u8, i1, i2, i4, i8, f2, f4 or "
                         "f8 is needed");
}

std::vector<int64_t> ParseShape(NpyHeader& header) {
  std::vector<int64_t> shape;
  header.Need("(");
  while (!header.Take(")")) {
    const size_t place = header.Place();
    shape.push_back(header.Whole());
    header.Take("L");  // of Python 2
    if (shape.size() > kMaxDims) {
      header.Fail(place, "has more than 32 dimensions");
    }
    // (3) is no tuple, but (3,) is; (3, 4) may end without a comma.
    if (header.Take(",")) continue;
    if (shape.size() == 1) header.Need(",");
    header.Need(")");
    break;
  }
  return shape;
}

// What a header tells.
struct Layout {
  Type type;
  std::vector<int64_t> shape;
  bool fortran;
  size_t begin;        // of the values
  uint64_t num_bytes;  // of the values
};

// `bytes`: the beginning of a file, as far as a header may go. `num_bytes`: of
// the file, at most.
Layout ParseLayout(std::string_view bytes, uint64_t num_bytes,
                   const std::string& path) {
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    FailNpy(path, 0, "does not begin with the npy magic");
  }
  const int version = bytes.size() > 6 ? static_cast<uint8_t>(bytes[6]) : 1;
  if (version < 1 || version > 3) {
    FailNpy(
        path, 6,
        "the version is " + std::to_string(version) + "; 1, 2 or 3 is needed");
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) {
    FailNpy(path, bytes.size(), "ends before its header");
  }
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= size_t{static_cast<uint8_t>(bytes[8 + i])} << (8 * i);
  }
  const size_t first = 8 + length_bytes;
  if (length > kMaxHeaderBytes || length > bytes.size() - first) {
    FailNpy(path, 8,
            "a header of " + std::to_string(length) +
                " bytes; at most 65536, and no more than the file, "
                "are accepted");
  }
  NpyHeader header(bytes.substr(first, length), first, path);
  std::optional<Type> type;
  std::optional<std::vector<int64_t>> shape;
  std::optional<bool> fortran;
  size_t shape_place = 0;
  header.Need("{");
  while (!header.Take("}")) {
    const size_t place = header.Place();
    const std::string_view key = header.Quoted("a key");
    header.Need(":");
    if (key == "descr" && !type) {
      type = ParseType(header);
    } else if (key == "shape" && !shape) {
      shape_place = first + header.Place();
      shape = ParseShape(header);
    } else if (key == "fortran_order" && !fortran) {
      fortran = header.Take("True");
      if (!*fortran) header.Need("False");
    } else {
      header.Fail(place, "has the key \"" + std::string(key) +
                             "\"; descr, fortran_order and shape, each once, "
                             "are needed");
    }
    if (header.Take(",")) continue;
    header.Need("}");
    break;
  }
  if (const size_t end = header.Place(); end < length) {
    header.Fail(end, "goes on with " + header.Next());
  }
  if (!type || !shape || !fortran) {
    header.Fail(0, std::string("has no \"") +
                       (!type    ? "descr"
                        : !shape ? "shape"
                                 : "fortran_order") +
                       "\"");
  }
  const size_t item = c10::elementSize(type->scalar);
  const uint64_t most = (num_bytes - first - length) / item;
  int64_t count = 1;
  for (int64_t size : *shape) {
    if (__builtin_mul_overflow(count, size, &count)) {
      count = std::numeric_limits<int64_t>::max();
    }
  }
  if (static_cast<uint64_t>(count) > most || !IsPossibleShape(*shape, item)) {
    FailNpy(path, shape_place,
            "the shape " + c10::str(at::IntArrayRef(*shape)) +
                " has more values than the " +
                std::to_string(num_bytes - first - length) +
                " bytes that follow the header hold");
  }
  return {.type = *type,
          .shape = std::move(*shape),
          .fortran = *fortran,
          .begin = first + length,
          .num_bytes = static_cast<uint64_t>(count) * item};
}

[[noreturn]] void RefuseMore(const Layout& layout, const std::string& path) {
  FailNpy(path, layout.begin + layout.num_bytes,
          "goes on after the values of its shape " +
              c10::str(at::IntArrayRef(layout.shape)));
}

// Values as `read(out)` gives them, brought to this machine's byte order and
// to C order, unsigned ones in a wider type.
template <class Read>
at::Tensor MakeArray(Layout layout, const std::string& path, Read read) {
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
  if (layout.type.is_unsigned) {
    array = WidenUnsigned(array);
    if (!array.defined()) {
      FailNpy(path, layout.begin,
              "the values of type u8 are not all below 2^63");
    }
  }
  if (!layout.fortran) return array;
  std::vector<int64_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int64_t>(order.size() - 1 - i);
  }
  return array.permute(order).contiguous();
}

// Of a gzip file: from its beginning on.
at::Tensor InflateNpy(const std::string& path) {
  SequentialFile file(path);
  std::string head(kMaxHeaderBytes + 12, '\0');
  head.resize(
      file.Read({reinterpret_cast<uint8_t*>(head.data()), head.size()}));
  Layout layout =
      ParseLayout(head, static_cast<uint64_t>(file.most_bytes()), path);
  const std::string_view values = std::string_view(head).substr(layout.begin);
  const Layout told = layout;
  at::Tensor array =
      MakeArray(std::move(layout), path, [&](std::span<uint8_t> out) {
        const size_t ready = std::min(values.size(), out.size());
        std::copy_n(values.begin(), ready, out.begin());
        const size_t left = out.size() - ready;
        if (file.Read(out.subspan(ready)) < left) {
          FailNpy(path, static_cast<uint64_t>(file.position()),
                  "ends before the values of its shape " +
                      c10::str(at::IntArrayRef(told.shape)));
        }
      });
  std::array<uint8_t, 1> beyond{};
  if (values.size() > told.num_bytes || file.Read(beyond) > 0) {
    RefuseMore(told, path);
  }
  return array;
}

}  // namespace

at::Tensor ParseNpy(std::string_view bytes, const std::string& path) {
  Layout layout = ParseLayout(bytes, bytes.size(), path);
  const std::string_view values = bytes.substr(layout.begin);
  if (values.size() > layout.num_bytes) RefuseMore(layout, path);
  return MakeArray(std::move(layout), path, [&](std::span<uint8_t> out) {
    std::memcpy(out.data(), values.data(), values.size());
  });
}

at::Tensor ReadNpy(const std::string& path) {
  const RandomAccessFile file(path);
  std::string head(std::min<int64_t>(file.num_bytes(), kMaxHeaderBytes + 12),
                   '\0');
  file.Read(0, {reinterpret_cast<uint8_t*>(head.data()), head.size()});
  if (head.starts_with("\x1f\x8b")) return InflateNpy(path);
  const auto num_bytes = static_cast<uint64_t>(file.num_bytes());
  Layout layout = ParseLayout(head, num_bytes, path);
  if (num_bytes - layout.begin > layout.num_bytes) RefuseMore(layout, path);
  const auto begin = static_cast<int64_t>(layout.begin);
  if (!layout.fortran && !layout.type.big_endian && !layout.type.is_unsigned) {
    return FileTensors(file).At(begin, layout.shape, layout.type.scalar);
  }
  return MakeArray(std::move(layout), path,
                   [&](std::span<uint8_t> out) { file.ReadBulk(begin, out); });
}

}  // namespace epochd::engine
