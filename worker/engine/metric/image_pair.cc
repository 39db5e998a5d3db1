// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/image_pair.h"

#include <ATen/ATen.h>

#include <sstream>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

at::Tensor LumaOf(const at::Tensor& rgb, double range) {
  const std::vector<at::Tensor> channel = rgb.unbind(1);
  return (channel[0] * 65.481 + channel[1] * 128.553 + channel[2] * 24.966)
      .add(16.0 * range)
      .div(255.0)
      .unsqueeze(1);
}

}  // namespace

ImagePair ReadImages(const Batch& batch, const ImagePairOptions& options) {
  const auto [output, target] = SameShape(batch, options.fields);
  ImagePair pair{output, target,
                 WeightsOf(batch, {.mask = options.weighing.mask},
                           output.sizes(), output.scalar_type()),
                 SampleWeights(batch, options.weighing, output.sizes())};
  const int64_t border = options.crop_border;
  if (border > 0 || options.luma) {
    const bool fits = output.dim() == 4 && output.size(2) > 2 * border &&
                      output.size(3) > 2 * border &&
                      (!options.luma || output.size(1) == 3);
    if (!fits) {
      std::ostringstream message;
      message << "batch field \"" << options.fields.output << "\": shape "
              << output.sizes() << "; images "
              << (options.luma ? "[B, 3, H, W]" : "[B, C, H, W]")
              << " of more than " << 2 * border
              << " pixels each way are accepted with crop_border or y_channel";
      throw Error(ErrorKind::kTraining, message.str());
    }
  }
  if (border > 0) {
    const auto inner = [border](const at::Tensor& image) {
      at::Tensor cut = image;
      for (const int64_t dim : {2, 3}) {
        // What is stretched stays so.
        if (cut.size(dim) == 1) continue;
        cut = cut.slice(dim, border, cut.size(dim) - border);
      }
      return cut;
    };
    pair.output = inner(pair.output);
    pair.target = inner(pair.target);
    if (pair.weights.defined()) pair.weights = inner(pair.weights);
  }
  if (options.luma) {
    pair.output = LumaOf(pair.output.to(at::kDouble), options.data_range);
    pair.target = LumaOf(pair.target.to(at::kDouble), options.data_range);
    // A pixel counts as the least of its channels does.
    if (pair.weights.defined()) {
      pair.weights = pair.weights.amin({1}, /*keepdim=*/true).to(at::kDouble);
    }
  }
  return pair;
}

}  // namespace epochd::engine
