// SPDX-License-Identifier: Apache-2.0
//
// torch_ecg's ECG_CRNN with the backbone "resnet_nature_comm" (four residual
// blocks that each keep one of `subsample` samples), then optionally LSTMs in
// both directions and squeeze-and-excitation, pooling over time, and an MLP.
// Names and order of parameters are torch_ecg's. Reads signals
// [B, leads, samples], returns logits [B, num_classes].
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/model/module_model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

struct EcgCrnnOptions {
  ModelFields fields;
  int64_t in_channels = 12;
  int64_t num_classes = 2;
  // Channels of the stem; the blocks have 2, 3, 4 and 5 times as many.
  int64_t width = 64;
  int64_t kernel = 17;  // odd
  int64_t subsample = 4;
  double dropout = 0.2;
  // Units of each LSTM, per direction; empty: none.
  std::vector<int64_t> lstm = {};
  // se, or none.
  std::string attention = "se";
  int64_t reduction = 8;  // of squeeze-and-excitation
  // max or avg.
  std::string pool = "max";
  std::vector<int64_t> hidden = {1024};  // of the MLP
};

// Throws Error(kBadSpec) for an even kernel or an unknown name.
std::shared_ptr<Model> MakeEcgCrnn(const EcgCrnnOptions& options);

Entry<Model> EcgCrnnEntry();

}  // namespace epochd::engine
