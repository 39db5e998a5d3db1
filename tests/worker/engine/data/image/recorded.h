// SPDX-License-Identifier: Apache-2.0
//
// What tests/golden/record_images.py recorded, and folders to write images in.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/dataset.h"

namespace epochd::engine {

// Path of a file in tests/golden.
std::string GoldenPath(const std::string& file);
std::string ReadBytes(const std::string& path);
// Tensors of images.safetensors by name; read once.
const std::map<std::string, at::Tensor>& RecordedImages();
// Throws std::out_of_range.
const at::Tensor& Recorded(const std::string& name);

// The data set that a job file's mapping describes.
std::shared_ptr<Dataset> BuildDataset(const std::string& json);

// A folder that vanishes with it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string path() const { return path_; }
  // Creates folders on the way.
  std::string Write(const std::string& name, const std::string& bytes) const;
  // Copies tests/golden/images/`image`.
  std::string Copy(const std::string& image, const std::string& name) const;

 private:
  std::filesystem::path path_;
};

}  // namespace epochd::engine
