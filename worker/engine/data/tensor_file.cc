// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/tensor_file.h"

#include <string>
#include <utility>
#include <vector>

#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/npy.h"
#include "worker/engine/data/table/npz.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {

std::shared_ptr<Dataset> LoadTensorFile(const TensorFileOptions& options) {
  Batch columns;
  if (!options.file.empty()) {
    std::vector<NamedTensor> tensors;
    try {
      tensors = options.file.ends_with(".npz") ? ReadNpz(options.file)
                                               : MapSafetensors(options.file);
    } catch (const Error& error) {
      // A broken file of the user's stays broken, however often it is read.
      throw Error(ErrorKind::kBadSpec,
                  std::string("TensorFile: file: ") + error.what());
    }
    for (auto& [name, tensor] : tensors) columns.Set(name, std::move(tensor));
  }
  if (!options.input.empty()) columns.Set("input", ReadNpy(options.input));
  if (!options.target.empty()) columns.Set("target", ReadNpy(options.target));
  if (columns.empty()) {
    throw Error(
        ErrorKind::kBadSpec,
        "TensorFile: names no file; `file` (safetensors, npz) or `input` "
        "(npy) is needed");
  }
  return std::make_shared<TensorDataset>(std::move(columns));
}

}  // namespace epochd::engine
