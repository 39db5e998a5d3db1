// SPDX-License-Identifier: Apache-2.0
//
// TorchScriptModel: a module that Python saved by torch.jit.save. Its archive
// holds code, which LibTorch's interpreter runs in this process, so it is only
// built where the registry allows it (Registry::AllowTorchScript). Parameters
// and buffers carry the module's own names and are trained like any other.
//
//   model: {type: TorchScript, file: net.pt, inputs: [image, age],
//           outputs: [logits, features]}
//
// A scripted module's dropout and normalization follow training and
// evaluation; a traced one keeps the mode that it was traced in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

struct TorchScriptOptions {
  std::string file;
  // Fields that its forward method takes, in order.
  std::vector<std::string> inputs = {"input"};
  // Fields that it returns: of a tensor one, of a tuple or list of tensors as
  // many, of a dictionary the keys of these names.
  std::vector<std::string> outputs = {"output"};
};

// Throws Error(kBadSpec): the file cannot be read or is no such archive.
std::shared_ptr<Model> LoadTorchScript(const TorchScriptOptions& options);

Entry<Model> TorchScriptEntry();

}  // namespace epochd::engine
