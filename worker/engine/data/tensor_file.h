// SPDX-License-Identifier: Apache-2.0
//
// A data set of arrays in files: one safetensors or npz file whose arrays,
// all or some under other names, are the fields; or one npy file per field; or
// both. First dimensions must agree. Big
// arrays are mapped (mapped_file.h): such a file must not change while it is
// used.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/dataset.h"

namespace epochd::engine {

struct TensorFileOptions {
  // Field and what it is taken from.
  using Sources = std::vector<std::pair<std::string, std::string>>;

  std::string file = {};    // safetensors or .npz
  std::string input = {};   // npy
  std::string target = {};  // npy
  Sources fields = {};      // arrays of `file`; empty: all, by their own names
  Sources files = {};       // npy, of further fields
};

// Throws Error(kBadSpec) naming the file, and when nothing is given.
std::shared_ptr<Dataset> LoadTensorFile(const TensorFileOptions& options);

}  // namespace epochd::engine
