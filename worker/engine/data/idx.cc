// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/idx.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "worker/engine/core/shape.h"
#include "worker/engine/data/file_bytes.h"
#include "worker/engine/data/refuse_file.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

constexpr size_t kIdxPrefix = 4;
constexpr size_t kMaxIdxDims = 8;

[[noreturn]] void FailIdx(const std::string& path, uint64_t byte,
                          const std::string& problem) {
  RefuseFile("IDX file", path, byte, problem);
}

at::ScalarType IdxType(const std::string& path, uint8_t code) {
  switch (code) {
    case 0x08:
      return at::kByte;
    case 0x09:
      return at::kChar;
    case 0x0B:
      return at::kShort;
    case 0x0C:
      return at::kInt;
    case 0x0D:
      return at::kFloat;
    case 0x0E:
      return at::kDouble;
    default:
      FailIdx(path, 2,
              "the type is " + std::to_string(code) +
                  "; 8, 9, 11, 12, 13 or 14 is needed");
  }
}

// Fills `out` or refuses.
void ReadAll(SequentialFile& file, std::span<uint8_t> out, const char* what) {
  const int64_t begin = file.position();
  const size_t got = file.Read(out);
  if (got < out.size()) {
    FailIdx(file.path(), static_cast<uint64_t>(begin) + got,
            std::to_string(out.size() - got) + " bytes more of " + what +
                " are needed");
  }
}

// Reads `sizes`; their product, or the greatest number where it is beyond.
int64_t ParseSizes(std::span<const uint8_t> bytes,
                   std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (size_t i = 0; i < bytes.size(); i += 4) {
    sizes.push_back(int64_t{bytes[i]} << 24 | bytes[i + 1] << 16 |
                    bytes[i + 2] << 8 | bytes[i + 3]);
    if (__builtin_mul_overflow(count, sizes.back(), &count)) {
      count = std::numeric_limits<int64_t>::max();
    }
  }
  return count;
}

}  // namespace

at::Tensor ReadIdx(const std::string& path) {
  SequentialFile file(path);
  std::array<uint8_t, kIdxPrefix> prefix{};
  ReadAll(file, prefix, "header");
  if (prefix[0] != 0 || prefix[1] != 0) {
    FailIdx(path, 0, "does not begin with two zero bytes");
  }
  const at::ScalarType type = IdxType(path, prefix[2]);
  const size_t num_dims = prefix[3];
  if (num_dims < 1 || num_dims > kMaxIdxDims) {
    FailIdx(
        path, 3,
        "has " + std::to_string(num_dims) + " dimensions; 1 to 8 are needed");
  }
  std::array<uint8_t, 4 * kMaxIdxDims> of_sizes{};
  const std::span<uint8_t> size_bytes(of_sizes.data(), 4 * num_dims);
  ReadAll(file, size_bytes, "header");
  const auto item = static_cast<int64_t>(c10::elementSize(type));
  const int64_t most = (file.most_bytes() - file.position()) / item;
  std::vector<int64_t> sizes;
  const int64_t count = ParseSizes(size_bytes, sizes);
  const std::string shape = c10::str(at::IntArrayRef(sizes));
  if (count > most || !IsPossibleShape(sizes, c10::elementSize(type))) {
    FailIdx(path, kIdxPrefix,
            "the dimensions " + shape + " have more than the " +
                std::to_string(most) + " values that " +
                (file.is_gzip() ? "so short a gzip file may hold" : "follow"));
  }
  at::Tensor values = at::empty(sizes, type);
  const std::span<uint8_t> out(static_cast<uint8_t*>(values.mutable_data_ptr()),
                               values.nbytes());
  ReadAll(file, out, "values");
  std::array<uint8_t, 1> beyond{};
  const int64_t end = file.position();
  if (file.Read(beyond) > 0) {
    FailIdx(path, static_cast<uint64_t>(end),
            "goes on after the values of its dimensions " + shape);
  }
  if (item > 1) {
    for (size_t i = 0; i < out.size(); i += static_cast<size_t>(item)) {
      std::reverse(out.data() + i, out.data() + i + item);
    }
  }
  return values;
}

std::shared_ptr<Dataset> LoadIdx(const IdxOptions& options) {
  at::Tensor images = ReadIdx(options.images);
  if (images.dim() != 3) {
    FailIdx(
        options.images, 3,
        "has " + std::to_string(images.dim()) + " dimensions; images need 3");
  }
  images = images.to(at::kFloat).unsqueeze(1);
  if (options.scale) images.div_(255);
  Batch columns{{"input", images}};
  if (!options.labels.empty()) {
    at::Tensor labels = ReadIdx(options.labels);
    if (labels.dim() != 1 || labels.size(0) != images.size(0)) {
      FailIdx(options.labels, kIdxPrefix,
              "has " + std::to_string(labels.numel()) + " labels, \"" +
                  options.images + "\" " + std::to_string(images.size(0)) +
                  " images; one label per image is needed");
    }
    columns.Set("target", labels.to(at::kLong));
  }
  return std::make_shared<TensorDataset>(std::move(columns));
}

}  // namespace epochd::engine
