// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/image_losses.h"

#include <ATen/ATen.h>

#include <sstream>
#include <vector>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

// Differences of neighbours along a dimension.
at::Tensor Neighbours(const at::Tensor& values, int64_t dim) {
  return values.slice(dim, 1) - values.slice(dim, 0, values.size(dim) - 1);
}

// Both neighbours must count; stretched weights stay so.
at::Tensor NeighbourWeights(const at::Tensor& weights, int64_t dim) {
  if (!weights.defined() || weights.size(dim) == 1) return weights;
  return weights.slice(dim, 1) * weights.slice(dim, 0, weights.size(dim) - 1);
}

// The first size - 1 along a dimension.
at::Tensor Shortened(const at::Tensor& values, int64_t dim) {
  if (!values.defined() || values.size(dim) == 1) return values;
  return values.slice(dim, 0, values.size(dim) - 1);
}

at::Tensor MeanOrZero(const at::Tensor& elements, const at::Tensor& weights) {
  if (elements.numel() == 0) return elements.sum();
  return Reduce(elements, weights, Reduction::kMean);
}

// Dimensions that lie in space: H and W, or N.
std::vector<int64_t> SpaceOf(const at::Tensor& values, const std::string& loss,
                             bool images_only) {
  if (values.dim() == 4) return {2, 3};
  if (values.dim() == 3 && !images_only) return {2};
  std::ostringstream message;
  message << loss << ": shape " << values.sizes() << "; images [B, C, H, W]"
          << (images_only ? "" : " or signals [B, C, N]") << " are accepted";
  throw Error(ErrorKind::kTraining, message.str());
}

struct Derivative {
  at::Tensor output;
  at::Tensor target;
  at::Tensor weights;
};

// d/dy and d/dx by Sobel, as slices: no convolution that autocast would change.
at::Tensor Sobel(const at::Tensor& padded, int64_t along) {
  const int64_t across = along == 2 ? 3 : 2;
  const int64_t size = padded.size(across);
  const at::Tensor smooth = padded.slice(across, 0, size - 2) +
                            2 * padded.slice(across, 1, size - 1) +
                            padded.slice(across, 2);
  return smooth.slice(along, 2) -
         smooth.slice(along, 0, smooth.size(along) - 2);
}

at::Tensor Reflected(const at::Tensor& image) {
  return at::reflection_pad2d(image, {1, 1, 1, 1});
}

}  // namespace

at::Tensor SsimLoss::Compute(const Batch& batch) const {
  const auto [output, target] = SameShape(batch, options_.fields);
  const at::Tensor weights =
      WeightsOf(batch, options_.weighing, output.sizes(), output.scalar_type());
  const auto [values, of_images] =
      options_.multi_scale
          ? MultiScaleSsim(output, target, weights, options_.ssim)
          : Ssim(output, target, weights, options_.ssim);
  const at::Tensor apart = Reduce(1 - values, of_images, Reduction::kMean);
  if (options_.alpha == 1) return apart;
  const at::Tensor absolute =
      Reduce(at::l1_loss(Blanked(output, weights), Blanked(target, weights),
                         at::Reduction::None),
             weights, Reduction::kMean);
  return apart * options_.alpha + absolute * (1 - options_.alpha);
}

at::Tensor TotalVariationLoss::Compute(const Batch& batch) const {
  const at::Tensor given = AtLeastFloat(batch.At(options_.output));
  const std::vector<int64_t> space =
      SpaceOf(given, "total_variation", /*images_only=*/false);
  const at::Tensor weights =
      WeightsOf(batch, options_.weighing, given.sizes(), given.scalar_type());
  const at::Tensor values = Blanked(given, weights);
  if (options_.isotropic && space.size() == 2) {
    const at::Tensor dy = Shortened(Neighbours(values, 2), 3);
    const at::Tensor dx = Neighbours(values.slice(2, 0, values.size(2) - 1), 3);
    at::Tensor both;
    if (weights.defined()) {
      both = Shortened(NeighbourWeights(weights, 2), 3) *
             Shortened(NeighbourWeights(weights, 3), 2);
    }
    return MeanOrZero((dx.square() + dy.square())
                          .add(options_.epsilon * options_.epsilon)
                          .sqrt(),
                      both);
  }
  at::Tensor total;
  for (const int64_t dim : space) {
    const at::Tensor part = MeanOrZero(Neighbours(values, dim).abs(),
                                       NeighbourWeights(weights, dim));
    total = total.defined() ? total + part : part;
  }
  return total;
}

at::Tensor GradientLoss::Compute(const Batch& batch) const {
  const auto [given, truth] = SameShape(batch, options_.fields);
  const std::vector<int64_t> space =
      SpaceOf(given, "gradient", /*images_only=*/options_.sobel);
  const at::Tensor weights =
      WeightsOf(batch, options_.weighing, given.sizes(), given.scalar_type());
  const at::Tensor output = Blanked(given, weights);
  const at::Tensor target = Blanked(truth, weights);
  std::vector<Derivative> derivatives;
  if (options_.sobel) {
    if (output.size(2) < 2 || output.size(3) < 2) {
      std::ostringstream message;
      message << "gradient: shape " << output.sizes()
              << "; images of at least 2 x 2 pixels are accepted";
      throw Error(ErrorKind::kTraining, message.str());
    }
    at::Tensor eroded;
    if (weights.defined()) {
      eroded = ErodedWeights(weights.expand({weights.size(0), weights.size(1),
                                             output.size(2), output.size(3)}),
                             3, /*pad=*/true);
    }
    const at::Tensor left = Reflected(output);
    const at::Tensor right = Reflected(target);
    for (const int64_t dim : space) {
      derivatives.push_back({Sobel(left, dim), Sobel(right, dim), eroded});
    }
  } else {
    for (const int64_t dim : space) {
      derivatives.push_back({Neighbours(output, dim), Neighbours(target, dim),
                             NeighbourWeights(weights, dim)});
    }
  }
  if (options_.magnitude && space.size() == 2) {
    Derivative& dy = derivatives[0];
    Derivative& dx = derivatives[1];
    if (!options_.sobel) {
      // On the grid that both have.
      dy = {Shortened(dy.output, 3), Shortened(dy.target, 3),
            Shortened(dy.weights, 3)};
      dx = {Shortened(dx.output, 2), Shortened(dx.target, 2),
            Shortened(dx.weights, 2)};
      if (dy.weights.defined()) dy.weights = dy.weights * dx.weights;
    }
    const auto magnitude = [this](const at::Tensor& y, const at::Tensor& x) {
      return (x.square() + y.square())
          .add(options_.epsilon * options_.epsilon)
          .sqrt();
    };
    derivatives = {{magnitude(dy.output, dx.output),
                    magnitude(dy.target, dx.target), dy.weights}};
  }
  at::Tensor total;
  for (const Derivative& each : derivatives) {
    const at::Tensor apart = each.output - each.target;
    const at::Tensor part = MeanOrZero(
        options_.squared ? apart.square() : apart.abs(), each.weights);
    total = total.defined() ? total + part : part;
  }
  return total;
}

}  // namespace epochd::engine
