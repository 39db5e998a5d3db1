// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/tensor_file.h"

#include <utility>

#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/npy.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {

std::shared_ptr<Dataset> LoadTensorFile(const TensorFileOptions& options) {
  Batch columns;
  if (!options.file.empty()) {
    for (auto& [name, tensor] : ReadSafetensors(options.file)) {
      columns.Set(name, std::move(tensor));
    }
  }
  if (!options.input.empty()) columns.Set("input", ReadNpy(options.input));
  if (!options.target.empty()) columns.Set("target", ReadNpy(options.target));
  if (columns.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "TensorFile: names no file; `file` (safetensors) or `input` "
                "(npy) is needed");
  }
  return std::make_shared<TensorDataset>(std::move(columns));
}

}  // namespace epochd::engine
