// SPDX-License-Identifier: Apache-2.0
//
// CIFAR-10 and CIFAR-100 as their binary versions come: records of one label
// byte (CIFAR-100: the coarse one, then the fine one) and 3 x 32 x 32 bytes,
// red, green, blue, row by row. Kept in memory as bytes. Fields: `input`,
// [3, 32, 32], float in [0, 1] or uint8, and `target`, int64 scalar.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "worker/engine/core/dataset.h"

namespace epochd::engine {

enum class CifarKind { k10, k100Fine, k100Coarse };

struct CifarImages {
  at::Tensor images;  // uint8 [N, 3, 32, 32]
  at::Tensor labels;  // int64 [N]
};

// Throws Error(kBadSpec) naming file and byte: no record, part of one, or a
// label out of range. `path` only serves messages.
CifarImages ParseCifar(std::string_view bytes, const std::string& path,
                       CifarKind kind);

// The files (plain or gzip) one after the other.
std::shared_ptr<Dataset> LoadCifar(const std::vector<std::string>& files,
                                   CifarKind kind, bool as_float);

// Names of the files of a split, "train" or "test", as they are published.
std::vector<std::string> CifarFiles(CifarKind kind, std::string_view split);

}  // namespace epochd::engine
