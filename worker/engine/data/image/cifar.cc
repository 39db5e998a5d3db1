// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/cifar.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/file_bytes.h"
#include "worker/engine/data/refuse_file.h"

namespace epochd::engine {
namespace {

constexpr int64_t kPixelBytes = 3 * 32 * 32;

struct Layout {
  size_t label_bytes;  // of a record
  size_t label_at;     // which of them
  int classes;
};

Layout LayoutOf(CifarKind kind) {
  switch (kind) {
    case CifarKind::k10:
      return {1, 0, 10};
    case CifarKind::k100Fine:
      return {2, 1, 100};
    default:
      return {2, 0, 20};
  }
}

class CifarDataset : public Dataset {
 public:
  CifarDataset(CifarImages data, bool as_float)
      : data_(std::move(data)), as_float_(as_float) {}

  int64_t Size() const override { return data_.labels.size(0); }
  Batch Get(int64_t index, const SampleSeed& /*seed*/) const override {
    const at::Tensor image = data_.images.select(0, index);
    return {
        {"input", as_float_ ? image.to(at::kFloat).div_(255) : image.clone()},
        {"target", data_.labels.select(0, index)}};
  }
  bool GathersBatches() const override { return true; }
  Batch GetBatch(std::span<const int64_t> indices,
                 const SampleSeed& /*seed*/) const override {
    at::Tensor rows =
        at::empty({static_cast<int64_t>(indices.size())}, at::kLong);
    std::copy(indices.begin(), indices.end(), rows.mutable_data_ptr<int64_t>());
    const at::Tensor images = data_.images.index_select(0, rows);
    return {{"input", as_float_ ? images.to(at::kFloat).div_(255) : images},
            {"target", data_.labels.index_select(0, rows)}};
  }
  at::Tensor Column(std::string_view field) const override {
    return field == "target" ? data_.labels : at::Tensor();
  }

 private:
  const CifarImages data_;
  const bool as_float_;
};

}  // namespace

CifarImages ParseCifar(std::string_view bytes, const std::string& path,
                       CifarKind kind) {
  const Layout layout = LayoutOf(kind);
  const size_t record = layout.label_bytes + kPixelBytes;
  const size_t count = bytes.size() / record;
  if (count == 0 || bytes.size() % record != 0) {
    RefuseFile("CIFAR file", path, count * record,
               std::to_string(bytes.size() % record) +
                   " bytes of a record; whole records of " +
                   std::to_string(record) +
                   " bytes, at least one, are "
                   "needed");
  }
  CifarImages data{
      at::empty({static_cast<int64_t>(count), 3, 32, 32}, at::kByte),
      at::empty({static_cast<int64_t>(count)}, at::kLong)};
  auto* pixels = data.images.mutable_data_ptr<uint8_t>();
  auto* labels = data.labels.mutable_data_ptr<int64_t>();
  for (size_t i = 0; i < count; ++i) {
    const char* at = bytes.data() + i * record;
    labels[i] = static_cast<uint8_t>(at[layout.label_at]);
    if (labels[i] >= layout.classes) {
      RefuseFile("CIFAR file", path, i * record + layout.label_at,
                 "label is " + std::to_string(labels[i]) + "; 0 to " +
                     std::to_string(layout.classes - 1) + " are accepted");
    }
    std::memcpy(pixels + i * kPixelBytes, at + layout.label_bytes, kPixelBytes);
  }
  return data;
}

std::shared_ptr<Dataset> LoadCifar(const std::vector<std::string>& files,
                                   CifarKind kind, bool as_float) {
  std::vector<at::Tensor> images;
  std::vector<at::Tensor> labels;
  for (const std::string& file : files) {
    CifarImages part = ParseCifar(ReadFileBytes(file), file, kind);
    images.push_back(std::move(part.images));
    labels.push_back(std::move(part.labels));
  }
  if (files.empty()) {
    throw Error(ErrorKind::kBadSpec, "CIFAR: no files; one at least is needed");
  }
  return std::make_shared<CifarDataset>(
      CifarImages{at::cat(images), at::cat(labels)}, as_float);
}

std::vector<std::string> CifarFiles(CifarKind kind, std::string_view split) {
  const bool is_train = split == "train";
  if (kind != CifarKind::k10) return {is_train ? "train.bin" : "test.bin"};
  if (!is_train) return {"test_batch.bin"};
  std::vector<std::string> files;
  for (int i = 1; i <= 5; ++i) {
    files.push_back("data_batch_" + std::to_string(i) + ".bin");
  }
  return files;
}

}  // namespace epochd::engine
