// SPDX-License-Identifier: Apache-2.0
//
// What tests/golden/record_images.py recorded.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>

#include "tests/temp_folder.h"
#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/dataset.h"
#include "worker/engine/data/transform.h"

namespace epochd::engine {

// Path of a file in tests/golden.
std::string GoldenPath(const std::string& file);
std::string ReadBytes(const std::string& path);
// Tensors of images.safetensors by name; read once.
const std::map<std::string, at::Tensor>& RecordedImages();
// Throws std::out_of_range.
const at::Tensor& Recorded(const std::string& name);

// What a job file's mapping describes. `notices`: told while it is built.
std::shared_ptr<Dataset> BuildDataset(
    const std::string& json, std::vector<std::string>* notices = nullptr);
std::shared_ptr<Transform> BuildTransform(const std::string& json);

// Copies tests/golden/images/`image` into the folder; gives its path.
std::string CopyImage(const TempFolder& folder, const std::string& image,
                      const std::string& name);

}  // namespace epochd::engine
