// SPDX-License-Identifier: Apache-2.0
//
// What a model does with a batch, told by watching LibTorch's operations: no
// model needs to describe itself, and plugins and TorchScript archives are
// seen like ours. One thread.
//
//   std::cerr << Summarize(model, batch).Table();
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/core/batch.h"
#include "worker/engine/core/model.h"

namespace epochd::engine {

struct ModelSummary {
  // An operation that read parameters or multiplied matrices, in the order in
  // which they ran.
  struct Row {
    // What its parameters' names have in common, such as layer1.0.conv1;
    // empty: it read none.
    std::string layer;
    std::string operation;              // such as conv2d
    std::vector<int64_t> output_shape;  // of its first output
    // Values of the parameters that no row before it read.
    int64_t parameters = 0;
    // Multiplications of convolutions, matrix products, attention and
    // recurrent layers, each with its addition; 0 for all else.
    int64_t multiply_adds = 0;
  };

  std::vector<Row> rows;
  int64_t parameters = 0;  // of the model, also those that nothing read
  int64_t trained = 0;     // of those, the ones that are not frozen
  int64_t buffers = 0;
  int64_t samples = 0;  // of the batch
  int64_t multiply_adds = 0;

  // A table for people, with the totals below it.
  std::string Table() const;
  // Such as "1,234 parameters (1,000 trained), 5.68 M multiply-adds for 1
  // sample".
  std::string Totals() const;
};

// Runs the model on `batch` in evaluation mode, without gradients, and leaves
// it in training mode if `training`. An AdversarialModel generates, then
// scores what it made. Draws from the default generators, whose state is put
// back. Throws what the model throws.
ModelSummary Summarize(Model& model, const Batch& batch, bool training = false);

}  // namespace epochd::engine
