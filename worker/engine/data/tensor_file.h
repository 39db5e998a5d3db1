// SPDX-License-Identifier: Apache-2.0
//
// A data set of arrays in files: one safetensors or npz file whose arrays
// are the fields, or one npy file per field. First dimensions must agree. Big
// arrays are mapped (mapped_file.h): such a file must not change while it is
// used.
#pragma once

#include <memory>
#include <string>

#include "worker/engine/core/dataset.h"

namespace epochd::engine {

struct TensorFileOptions {
  std::string file = {};    // safetensors or .npz; each array is a field
  std::string input = {};   // npy
  std::string target = {};  // npy
};

// Throws Error(kBadSpec) naming the file, and when nothing is given.
std::shared_ptr<Dataset> LoadTensorFile(const TensorFileOptions& options);

}  // namespace epochd::engine
