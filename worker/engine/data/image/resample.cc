// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/resample.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>
#include <vector>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

// Of Pillow's fixed-point weights; 8 bits of pixel, 2 of headroom are left.
constexpr int kFractionBits = 32 - 8 - 2;

struct Kernel {
  double (*at)(double x);
  double support;
};

double Linear(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

double PillowCubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double MatlabCubic(double x) {
  x = std::abs(x);
  const double x2 = x * x;
  const double x3 = x2 * x;
  if (x <= 1.0) return 1.5 * x3 - 2.5 * x2 + 1.0;
  if (x <= 2.0) return -0.5 * x3 + 2.5 * x2 - 4.0 * x + 2.0;
  return 0.0;
}

double Sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double Lanczos(double x) {
  return -3.0 <= x && x < 3.0 ? Sinc(x) * Sinc(x / 3) : 0.0;
}

Kernel KernelOf(Resampling resampling) {
  switch (resampling) {
    case Resampling::kPillowBilinear:
      return {Linear, 1.0};
    case Resampling::kPillowBicubic:
      return {PillowCubic, 2.0};
    case Resampling::kPillowLanczos:
      return {Lanczos, 3.0};
    default:
      return {MatlabCubic, 2.0};
  }
}

// The taps of places [first, first + count) of an axis of `out` places over one
// of `in`. Tap t of place i reads index[i * taps + t]; unused taps weigh 0.
template <class Weight>
struct Axis {
  int64_t taps = 0;
  std::vector<int64_t> index;
  std::vector<Weight> weight;

  int64_t size() const { return static_cast<int64_t>(index.size()) / taps; }
  int64_t first() const {
    return *std::min_element(index.begin(), index.end());
  }
  int64_t end() const {
    return *std::max_element(index.begin(), index.end()) + 1;
  }
  void Shift(int64_t by) {
    for (int64_t& each : index) each -= by;
  }
};

Axis<int32_t> PillowAxis(const Kernel& kernel, int64_t in, int64_t out,
                         int64_t first, int64_t count) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double stretch = std::max(scale, 1.0);
  const double support = kernel.support * stretch;
  const double shrink = 1.0 / stretch;
  Axis<int32_t> axis;
  axis.taps = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  axis.index.resize(count * axis.taps);
  axis.weight.resize(count * axis.taps);
  std::vector<double> weights(axis.taps);
  for (int64_t i = 0; i < count; ++i) {
    const double center = static_cast<double>(first + i + 0.5) * scale;
    const int64_t begin =
        std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const int64_t end =
        std::min<int64_t>(in, static_cast<int64_t>(center + support + 0.5));
    double sum = 0.0;
    for (int64_t x = begin; x < end; ++x) {
      const double weight =
          kernel.at((static_cast<double>(x) - center + 0.5) * shrink);
      weights[x - begin] = weight;
      sum += weight;
    }
    for (int64_t t = 0; t < axis.taps; ++t) {
      const bool is_used = t < end - begin;
      axis.index[i * axis.taps + t] = is_used ? begin + t : begin;
      if (!is_used) continue;
      const double weight = sum == 0.0 ? weights[t] : weights[t] / sum;
      axis.weight[i * axis.taps + t] = static_cast<int32_t>(
          std::copysign(0.5, weight) + weight * (1 << kFractionBits));
    }
  }
  return axis;
}

Axis<double> MatlabAxis(int64_t in, int64_t out, int64_t first, int64_t count) {
  const double scale = static_cast<double>(out) / static_cast<double>(in);
  const double shrink = std::min(scale, 1.0);
  const double width = 4.0 / shrink;
  Axis<double> axis;
  axis.taps = static_cast<int64_t>(std::ceil(width)) + 2;
  axis.index.resize(count * axis.taps);
  axis.weight.resize(count * axis.taps);
  for (int64_t i = 0; i < count; ++i) {
    // Places count from 1, as MATLAB's formula has it.
    const double center =
        static_cast<double>(first + i + 1) / scale + 0.5 * (1 - 1 / scale);
    const double left = std::floor(center - width / 2);
    double sum = 0.0;
    for (int64_t t = 0; t < axis.taps; ++t) {
      const double place = left + static_cast<double>(t);
      const double weight = shrink * MatlabCubic(shrink * (center - place));
      axis.weight[i * axis.taps + t] = weight;
      sum += weight;
      // Mirrored at both ends, the end pixel twice.
      const int64_t period = 2 * in;
      int64_t index = (static_cast<int64_t>(place) - 1) % period;
      if (index < 0) index += period;
      axis.index[i * axis.taps + t] = index < in ? index : period - 1 - index;
    }
    for (int64_t t = 0; t < axis.taps; ++t) {
      axis.weight[i * axis.taps + t] /= sum;
    }
  }
  return axis;
}

uint8_t ToByte(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}
uint8_t ToByte(double sum) {
  return static_cast<uint8_t>(std::clamp(std::floor(sum + 0.5), 0.0, 255.0));
}

template <class Weight>
constexpr Weight kStart = Weight{0};
template <>
constexpr int32_t kStart<int32_t> = 1 << (kFractionBits - 1);

// [C, H, W] -> [C, H, axis.size()].
template <class Weight>
at::Tensor AlongRows(const at::Tensor& image, const Axis<Weight>& axis) {
  const int64_t rows = image.size(0) * image.size(1);
  const int64_t width_in = image.size(2);
  const int64_t width = axis.size();
  at::Tensor result =
      at::empty({image.size(0), image.size(1), width}, at::kByte);
  const auto* in = image.const_data_ptr<uint8_t>();
  auto* out = result.mutable_data_ptr<uint8_t>();
  for (int64_t y = 0; y < rows; ++y, in += width_in) {
    const int64_t* index = axis.index.data();
    const Weight* weight = axis.weight.data();
    for (int64_t x = 0; x < width; ++x) {
      Weight sum = kStart<Weight>;
      for (int64_t t = 0; t < axis.taps; ++t) {
        sum += *weight++ * static_cast<Weight>(in[*index++]);
      }
      *out++ = ToByte(sum);
    }
  }
  return result;
}

// [C, H, W] -> [C, axis.size(), W].
template <class Weight>
at::Tensor AlongColumns(const at::Tensor& image, const Axis<Weight>& axis) {
  const int64_t width = image.size(2);
  const int64_t height = axis.size();
  at::Tensor result = at::empty({image.size(0), height, width}, at::kByte);
  std::vector<Weight> sums(width);
  auto* out = result.mutable_data_ptr<uint8_t>();
  for (int64_t c = 0; c < image.size(0); ++c) {
    const uint8_t* plane =
        image.const_data_ptr<uint8_t>() + c * image.size(1) * width;
    for (int64_t y = 0; y < height; ++y, out += width) {
      std::fill(sums.begin(), sums.end(), kStart<Weight>);
      for (int64_t t = 0; t < axis.taps; ++t) {
        const Weight weight = axis.weight[y * axis.taps + t];
        if (weight == 0) continue;
        const uint8_t* row = plane + axis.index[y * axis.taps + t] * width;
        for (int64_t x = 0; x < width; ++x) {
          sums[x] += weight * static_cast<Weight>(row[x]);
        }
      }
      for (int64_t x = 0; x < width; ++x) out[x] = ToByte(sums[x]);
    }
  }
  return result;
}

// What to do along each axis; a side that stays is left alone.
template <class Weight>
struct Plan {
  Axis<Weight> rows;     // over y
  Axis<Weight> columns;  // over x
};

Plan<int32_t> PillowPlan(const PartialResize& resize) {
  const Kernel kernel = KernelOf(resize.resampling);
  return {PillowAxis(kernel, resize.height_in, resize.height_out,
                     resize.out.top, resize.out.height),
          PillowAxis(kernel, resize.width_in, resize.width_out, resize.out.left,
                     resize.out.width)};
}

Plan<double> MatlabPlan(const PartialResize& resize) {
  return {MatlabAxis(resize.height_in, resize.height_out, resize.out.top,
                     resize.out.height),
          MatlabAxis(resize.width_in, resize.width_out, resize.out.left,
                     resize.out.width)};
}

template <class Weight>
Window WindowOf(const Plan<Weight>& plan, const PartialResize& resize) {
  Window window = resize.out;
  if (resize.height_in != resize.height_out) {
    window.top = plan.rows.first();
    window.height = plan.rows.end() - window.top;
  }
  if (resize.width_in != resize.width_out) {
    window.left = plan.columns.first();
    window.width = plan.columns.end() - window.left;
  }
  return window;
}

template <class Weight>
at::Tensor Run(Plan<Weight> plan, const PartialResize& resize, at::Tensor image,
               bool rows_first) {
  const Window window = WindowOf(plan, resize);
  if (image.dim() != 3 || image.scalar_type() != at::kByte ||
      image.size(1) != window.height || image.size(2) != window.width) {
    std::ostringstream message;
    message << "resize: the image has shape " << image.sizes() << ", type "
            << image.scalar_type() << "; uint8 [channels, " << window.height
            << ", " << window.width << "] is needed";
    throw Error(ErrorKind::kBadSpec, message.str());
  }
  plan.rows.Shift(window.top);
  plan.columns.Shift(window.left);
  image = image.contiguous();
  for (bool is_rows : {rows_first, !rows_first}) {
    if (is_rows && resize.height_in != resize.height_out) {
      image = AlongColumns(image, plan.rows);
    } else if (!is_rows && resize.width_in != resize.width_out) {
      image = AlongRows(image, plan.columns);
    }
  }
  return image;
}

}  // namespace

Window PartialResize::Needs() const {
  return resampling == Resampling::kMatlabBicubic
             ? WindowOf(MatlabPlan(*this), *this)
             : WindowOf(PillowPlan(*this), *this);
}

at::Tensor PartialResize::Apply(const at::Tensor& part) const {
  if (resampling != Resampling::kMatlabBicubic) {
    return Run(PillowPlan(*this), *this, part, false);
  }
  // The smaller of height_out / height_in and width_out / width_in.
  const bool rows_first = height_out * width_in <= width_out * height_in;
  return Run(MatlabPlan(*this), *this, part, rows_first);
}

at::Tensor Resize(const at::Tensor& image, int64_t height, int64_t width,
                  Resampling resampling) {
  if (image.dim() != 3 || image.numel() == 0 || height < 1 || width < 1) {
    std::ostringstream message;
    message << "resize: an image of shape " << image.sizes() << " to " << height
            << "x" << width << "; [channels, height, width] is needed";
    throw Error(ErrorKind::kBadSpec, message.str());
  }
  const PartialResize resize{
      image.size(1), image.size(2), height, width, Window{0, 0, height, width},
      resampling};
  return resize.Apply(image);
}

}  // namespace epochd::engine
