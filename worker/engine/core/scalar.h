// SPDX-License-Identifier: Apache-2.0
//
// Cheap reads of what a step makes: kernels of ATen cost more in their calls
// than the few numbers that a small step has to look at. Pure functions, any
// thread.
#pragma once

#include <ATen/core/Tensor.h>

namespace epochd::engine {

// The number in a tensor of one element, as Tensor::item<double>(). Waits for
// the device that it is on.
double ReadScalar(const at::Tensor& tensor);

// Whether no element is infinite or NaN. Waits for the device.
bool IsFinite(const at::Tensor& tensor);

// The same values without the graph that made them; not a view, and so less
// work than Tensor::detach(). To change one in place is not noticed by the
// other's graph.
at::Tensor WithoutGraph(const at::Tensor& tensor);

}  // namespace epochd::engine
