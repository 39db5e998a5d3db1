// SPDX-License-Identifier: Apache-2.0
//
// Multi-layer perceptron. Names, order and initial weights (from the same
// seed) are those of
//
//   class MLP(nn.Module):
//       def __init__(self, in_features, hidden, out_features, dropout):
//           super().__init__()
//           layers = []
//           for width in hidden:
//               layers += [nn.Linear(in_features, width), nn.ReLU()]
//               if dropout > 0: layers += [nn.Dropout(dropout)]
//               in_features = width
//           layers += [nn.Linear(in_features, out_features)]
//           self.net = nn.Sequential(*layers)
//
// so parameters are net.0.weight, net.0.bias, net.2.weight (net.3 with
// dropout), ...
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/model/module_model.h"

namespace epochd::engine {

struct MlpOptions {
  ModelFields fields;
  int64_t in_features = 0;
  std::vector<int64_t> hidden;
  int64_t out_features = 0;
  // relu, gelu, silu, tanh, sigmoid or leaky_relu.
  std::string activation = "relu";
  double dropout = 0.0;
  // Takes [B, ...] as [B, in_features]; false: layers work on the last
  // dimension.
  bool flatten = true;
};

// Names of the activations.
std::vector<std::string> MlpActivations();

// Throws Error(kBadSpec) for an unknown activation.
std::shared_ptr<Model> MakeMlp(const MlpOptions& options);

}  // namespace epochd::engine
