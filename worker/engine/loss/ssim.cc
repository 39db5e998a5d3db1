// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/ssim.h"

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "worker/engine/core/error.h"
#include "worker/engine/loss/weighing.h"

namespace epochd::engine {
namespace {

using Padding = SsimOptions::Padding;

// [window], sums to 1.
at::Tensor Window(const SsimOptions& options, const at::Tensor& like) {
  if (options.sigma == 0) {
    return at::full({options.window}, 1.0 / static_cast<double>(options.window),
                    like.options());
  }
  const at::Tensor distance = at::arange(options.window, at::kDouble) -
                              static_cast<double>(options.window / 2);
  const at::Tensor gauss =
      (distance.square() / (-2 * options.sigma * options.sigma)).exp();
  return (gauss / gauss.sum()).to(like.options());
}

void CheckImages(const at::Tensor& x, const SsimOptions& options,
                 int64_t scales) {
  const int64_t least = options.window << (scales - 1);
  if (x.dim() == 4 && x.size(2) >= least && x.size(3) >= least) return;
  std::ostringstream message;
  message << "ssim: shape " << x.sizes() << "; images [B, C, H, W] of at least "
          << least << " x " << least << " pixels are accepted (window "
          << options.window;
  if (scales > 1) message << ", " << scales << " scales";
  message << ")";
  throw Error(ErrorKind::kTraining, message.str());
}

struct Maps {
  at::Tensor ssim;  // [B, C, h, w]
  at::Tensor contrast;
};

Maps ComputeMaps(const at::Tensor& x, const at::Tensor& y,
                 const SsimOptions& options) {
  const int64_t batch = x.size(0);
  const int64_t channels = x.size(1);
  const int64_t margin = options.window / 2;
  // Each channel is an image of its own; all five means in one go.
  at::Tensor all =
      at::cat({x, y, x * x, y * y, x * y})
          .reshape({5 * batch * channels, 1, x.size(2), x.size(3)});
  if (options.padding == Padding::kReflect) {
    all = at::reflection_pad2d(all, {margin, margin, margin, margin});
  } else if (options.padding == Padding::kZero) {
    all = at::constant_pad_nd(all, {margin, margin, margin, margin});
  }
  const at::Tensor window = Window(options, x);
  all = at::conv2d(all, window.reshape({1, 1, -1, 1}));
  all = at::conv2d(all, window.reshape({1, 1, 1, -1}));
  const std::vector<at::Tensor> means =
      all.reshape({5, batch, channels, all.size(2), all.size(3)}).unbind(0);
  const at::Tensor both = means[0] * means[1];
  const at::Tensor x_square = means[0].square();
  const at::Tensor y_square = means[1].square();
  const at::Tensor variances =
      (means[2] - x_square).clamp_min(0) + (means[3] - y_square).clamp_min(0);
  const double c1 =
      options.k1 * options.data_range * options.k1 * options.data_range;
  const double c2 =
      options.k2 * options.data_range * options.k2 * options.data_range;
  Maps maps;
  maps.contrast = (2 * (means[4] - both) + c2) / (variances + c2);
  maps.ssim = (2 * both + c1) / (x_square + y_square + c1) * maps.contrast;
  return maps;
}

// Without the windows that reach over the edge.
at::Tensor Inside(const at::Tensor& map, const SsimOptions& options) {
  if (options.padding != Padding::kReflect) return map;
  const int64_t margin = options.window / 2;
  return map.slice(2, margin, map.size(2) - margin)
      .slice(3, margin, map.size(3) - margin);
}

ImageScores MeanOfImages(const at::Tensor& map, const at::Tensor& weights) {
  if (!weights.defined()) return {map.flatten(1).mean(1), {}};
  const at::Tensor of_windows = weights.expand(map.sizes());
  const at::Tensor total = of_windows.flatten(1).sum(1);
  return {SafeRatio((map * of_windows).flatten(1).sum(1), total),
          total / static_cast<double>(std::max<int64_t>(map[0].numel(), 1))};
}

// Of every pixel, so that a window sees both dimensions.
at::Tensor WholeWeights(const at::Tensor& weights, const at::Tensor& image) {
  if (!weights.defined()) return weights;
  return weights.expand(
      {weights.size(0), weights.size(1), image.size(2), image.size(3)});
}

ImageScores MeanOf(const at::Tensor& map, const at::Tensor& weights,
                   const SsimOptions& options, bool inside) {
  const at::Tensor of_windows =
      weights.defined()
          ? ErodedWeights(weights, options.window,
                          options.padding != Padding::kNone && !inside)
          : weights;
  return MeanOfImages(inside ? Inside(map, options) : map, of_windows);
}

// Powers of 0 would have an infinite gradient.
at::Tensor PowerOfPositive(const at::Tensor& value, double exponent) {
  const at::Tensor rest = value.le(0);
  return value.masked_fill(rest, 1).pow(exponent).masked_fill(rest, 0);
}

}  // namespace

SsimOptions::Padding SsimPaddingOf(const std::string& name) {
  if (name == "none") return Padding::kNone;
  if (name == "reflect") return Padding::kReflect;
  if (name == "zero") return Padding::kZero;
  throw std::logic_error("padding: " + name);
}

at::Tensor ErodedWeights(const at::Tensor& weights, int64_t window, bool pad) {
  const int64_t margin = pad ? window / 2 : 0;
  return -at::max_pool2d(-weights, {window, window}, {1, 1}, {margin, margin});
}

ImageScores Ssim(const at::Tensor& x, const at::Tensor& y,
                 const at::Tensor& weights, const SsimOptions& options) {
  CheckImages(x, options, 1);
  // Convolutions in half precision would drown the variances.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(
      c10::autocast_dispatch_keyset);
  const Maps maps =
      ComputeMaps(Blanked(x, weights), Blanked(y, weights), options);
  return MeanOf(maps.ssim, WholeWeights(weights, x), options,
                /*inside=*/false);
}

ImageScores MultiScaleSsim(const at::Tensor& x, const at::Tensor& y,
                           const at::Tensor& weights,
                           const SsimOptions& options) {
  const auto scales = static_cast<int64_t>(options.betas.size());
  CheckImages(x, options, scales);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(
      c10::autocast_dispatch_keyset);
  at::Tensor left = Blanked(x, weights);
  at::Tensor right = Blanked(y, weights);
  at::Tensor counts = WholeWeights(weights, x);
  ImageScores product;
  for (int64_t scale = 0; scale < scales; ++scale) {
    const bool is_last = scale + 1 == scales;
    const Maps maps = ComputeMaps(left, right, options);
    const ImageScores mean =
        is_last ? MeanOf(maps.ssim, counts, options, /*inside=*/false)
                : MeanOf(maps.contrast, counts, options, /*inside=*/true);
    const at::Tensor factor =
        PowerOfPositive(mean.values, options.betas[static_cast<size_t>(scale)]);
    product.values =
        product.values.defined() ? product.values * factor : factor;
    // An image counts by its smallest scale, which asks for the most.
    product.weights = mean.weights;
    if (is_last) break;
    left = at::avg_pool2d(left, {2, 2});
    right = at::avg_pool2d(right, {2, 2});
    if (counts.defined()) counts = -at::max_pool2d(-counts, {2, 2});
  }
  return product;
}

}  // namespace epochd::engine
