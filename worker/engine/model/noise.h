// SPDX-License-Identifier: Apache-2.0
//
// NoiseFed: a generator that is fed with noise rather than with a field of the
// data set. GanModel asks for it to generate any number of samples.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace epochd::engine {

class NoiseFed {
 public:
  virtual ~NoiseFed() = default;

  // Draws `n` rows from the default generator, on the model's device.
  virtual at::Tensor DrawNoise(int64_t n) const = 0;
  // Field in which the model reads noise.
  virtual const std::string& noise_field() const = 0;
};

}  // namespace epochd::engine
