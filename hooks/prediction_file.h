// SPDX-License-Identifier: Apache-2.0
//
// PredictionFile: writes predictions batch by batch, each sample at its place
// in the data set, so that memory stays that of a batch and several ranks can
// write at once into one folder that they share. Fields are known from the
// first batch; afterwards every batch must have the same ones.
//
//   npy          <folder>/<field>.npy for each field
//   safetensors  <folder>/predictions.safetensors with all fields
//   csv          <folder>/predictions.csv: a row for each sample, a column for
//                each number
//
// Samples that were not predicted are left out. npy and safetensors then have a
// field sample_index, too: the places of the rows in the data set.
//
// While predicting, <folder>/<field>.rows holds the numbers alone, and
// .predicted.rows which are there. One thread in each rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/batch.h"

namespace epochd::hooks {

class PredictionFile {
 public:
  enum class Format { kNpy, kSafetensors, kCsv };
  PredictionFile(std::string folder, Format format)
      : folder_(std::move(folder)), format_(format) {}
  ~PredictionFile();
  PredictionFile(const PredictionFile&) = delete;
  PredictionFile& operator=(const PredictionFile&) = delete;

  // `outputs`: [n, ...] for each field, n = indices.size(). Throws
  // Error(kInfrastructure) naming the file that cannot be written, and
  // Error(kBadSpec) when fields or shapes change.
  void Add(const engine::Batch& outputs, const std::vector<int64_t>& indices);
  // One past the greatest index so far.
  int64_t rows() const { return rows_; }
  // Turns the rows of all ranks into the files above; on one rank, after all
  // are done. `rows`: the most of all ranks.
  void Finish(int64_t rows);
  // The files that Finish() made.
  const std::vector<std::string>& files() const { return files_; }

 private:
  struct Field {
    std::string name;
    at::ScalarType type = at::kFloat;
    std::vector<int64_t> shape{};  // of a sample
    int64_t row_bytes = 0;
    std::string path{};
    int fd = -1;
  };
  // Rows from the first to before the second.
  using Runs = std::vector<std::pair<int64_t, int64_t>>;

  static void OpenRows(Field& field);
  void Open(const engine::Batch& outputs);
  static void WriteRows(const Field& field, const char* bytes,
                        const std::vector<int64_t>& indices);
  // Those of the first `rows` that were predicted.
  Runs FindRuns(int64_t rows) const;
  // A field that names them.
  void AddIndex(const Runs& runs, int64_t count);
  void WriteNpy(const Runs& runs, int64_t count);
  void WriteSafetensors(const Runs& runs, int64_t count);
  void WriteCsv(const Runs& runs);
  [[noreturn]] static void Fail(const std::string& path);
  static void Append(int to, const std::string& path, const void* bytes,
                     size_t size);
  // Copies a field's rows to the end of `to`.
  static void AppendRows(int to, const std::string& path, const Field& field,
                         const Runs& runs);

  const std::string folder_;
  const Format format_;
  std::vector<Field> fields_;
  Field predicted_;  // a byte for each row
  std::vector<std::string> files_;
  int64_t rows_ = 0;
};

}  // namespace epochd::hooks
