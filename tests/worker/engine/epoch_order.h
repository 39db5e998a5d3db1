// SPDX-License-Identifier: Apache-2.0
//
// The order that a loader gives a rank's samples in. For tests.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/engine/data/loader.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {

// Of a data set of `size` samples, in `epoch`.
inline std::vector<int64_t> EpochOrder(int64_t size, int64_t epoch,
                                       const LoaderOptions& options) {
  const auto source = MakeLoader(
      std::make_shared<TensorDataset>(Batch{{"input", at::arange(size)}}),
      options);
  std::vector<int64_t> order;
  source->StartEpoch(epoch, 0);
  for (Batch batch; source->Next(batch);) {
    const at::Tensor& places = batch.At("input");
    order.insert(order.end(), places.const_data_ptr<int64_t>(),
                 places.const_data_ptr<int64_t>() + places.numel());
  }
  return order;
}

}  // namespace epochd::engine
