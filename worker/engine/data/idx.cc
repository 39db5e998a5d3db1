// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/idx.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "worker/engine/core/error.h"
#include "worker/engine/core/shape.h"
#include "worker/engine/data/file_bytes.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

[[noreturn]] void FailIdx(const std::string& path, const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, "IDX file \"" + path + "\": " + problem);
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
      FailIdx(path, "type byte is " + std::to_string(code) +
                        "; 8, 9, 11, 12, 13 or 14 is needed");
  }
}

}  // namespace

at::Tensor ParseIdx(std::string_view bytes, const std::string& path) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  if (bytes.size() < 4 || data[0] != 0 || data[1] != 0) {
    FailIdx(path, "does not begin with two zero bytes");
  }
  const at::ScalarType type = IdxType(path, data[2]);
  const size_t num_dims = data[3];
  const size_t header = 4 + 4 * num_dims;
  if (num_dims < 1 || num_dims > 8 || bytes.size() < header) {
    FailIdx(path, "has " + std::to_string(num_dims) + " dimensions in " +
                      std::to_string(bytes.size()) +
                      " bytes; 1 to 8 dimensions are needed");
  }
  std::vector<int64_t> sizes;
  const size_t item = c10::elementSize(type);
  const uint64_t available = (bytes.size() - header) / item;
  uint64_t count = 1;
  for (size_t i = 0; i < num_dims; ++i) {
    const uint8_t* at = data + 4 + 4 * i;
    const uint64_t size =
        uint64_t{at[0]} << 24 | at[1] << 16 | at[2] << 8 | at[3];
    sizes.push_back(static_cast<int64_t>(size));
    // Each factor fits 32 bits and count never passes available: no overflow.
    count *= size;
    if (count > available) break;
  }
  if (count != available || (bytes.size() - header) % item != 0 ||
      !IsPossibleShape(sizes, item)) {
    FailIdx(path, "its dimensions do not fit its " +
                      std::to_string(bytes.size() - header) +
                      " bytes of values");
  }
  at::Tensor values = at::empty(sizes, type);
  auto* out = static_cast<char*>(values.mutable_data_ptr());
  const std::string_view given = bytes.substr(header);
  if (!given.empty()) std::memcpy(out, given.data(), given.size());
  if (item > 1) {
    for (size_t i = 0; i < given.size(); i += item) {
      std::reverse(out + i, out + i + item);
    }
  }
  return values;
}

at::Tensor ReadIdx(const std::string& path) {
  return ParseIdx(ReadFileBytes(path), path);
}

std::shared_ptr<Dataset> LoadIdx(const IdxOptions& options) {
  at::Tensor images = ReadIdx(options.images);
  if (images.dim() != 3) {
    FailIdx(options.images, "has " + std::to_string(images.dim()) +
                                " dimensions; images need 3");
  }
  images = images.to(at::kFloat).unsqueeze(1);
  if (options.scale) images.div_(255);
  Batch columns{{"input", images}};
  if (!options.labels.empty()) {
    at::Tensor labels = ReadIdx(options.labels);
    if (labels.dim() != 1 || labels.size(0) != images.size(0)) {
      FailIdx(options.labels, "holds " + std::to_string(labels.numel()) +
                                  " labels, \"" + options.images + "\" " +
                                  std::to_string(images.size(0)) +
                                  " images; one label per image is needed");
    }
    columns.Set("target", labels.to(at::kLong));
  }
  return std::make_shared<TensorDataset>(std::move(columns));
}

}  // namespace epochd::engine
