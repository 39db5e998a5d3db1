// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/augment.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

constexpr double kTiny = 1e-7;  // torch_ecg's guard against dividing by zero

[[noreturn]] void RefuseField(const char* transform, const std::string& field,
                              const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, std::string(transform) + " on field \"" +
                                       field + "\": " + problem);
}

std::string ShapeOf(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.sizes();
  return text.str();
}

// The field in floating type; [leads, samples] is required.
at::Tensor Signal(const Batch& sample, const std::string& field,
                  const char* transform) {
  const at::Tensor& signal = sample.At(field);
  if (signal.dim() != 2) {
    RefuseField(transform, field,
                "has shape " + ShapeOf(signal) +
                    "; a signal [leads, samples] is needed");
  }
  return signal.is_floating_point() ? signal : signal.to(at::kFloat);
}

// A copy that may be changed, in rows of contiguous floats.
at::Tensor OwnFloats(const at::Tensor& signal) {
  at::Tensor own = signal.to(at::kFloat).contiguous();
  return own.is_same(signal) || own.data_ptr() == signal.data_ptr()
             ? own.clone()
             : own;
}

// What a field that goes with the signal, sample by sample, is.
const at::Tensor& Along(const Batch& sample, const std::string& field,
                        int64_t samples, const char* transform) {
  const at::Tensor& along = sample.At(field);
  if (along.dim() == 0 || along.size(-1) != samples) {
    RefuseField(transform, field,
                "has shape " + ShapeOf(along) +
                    "; its last dimension must be the signal's, " +
                    std::to_string(samples));
  }
  return along;
}

// Values at `places` of the last dimension: between two samples floating ones
// are linear, others the nearer sample's, so that classes stay classes.
at::Tensor ValuesAt(const at::Tensor& values, const at::Tensor& places) {
  const int64_t last = values.size(-1) - 1;
  if (!values.is_floating_point()) {
    return values.index_select(
        -1, (places + 0.5).floor_().to(at::kLong).clamp_max_(last));
  }
  const at::Tensor before = places.floor().to(at::kLong).clamp_max_(last);
  const at::Tensor share = (places - before).to(values.scalar_type());
  const at::Tensor left = values.index_select(-1, before);
  const at::Tensor right =
      values.index_select(-1, (before + 1).clamp_max_(last));
  return left + (right - left) * share;
}

bool Happens(double probability, Random& random) {
  return random.Uniform() < probability;
}

}  // namespace

at::Tensor LeadAmplitudes(const at::Tensor& signal, double fs) {
  const int64_t size = signal.size(-1);
  const int64_t half =
      std::max<int64_t>(std::llround(std::nearbyint(0.2 * fs)) / 2, 1);
  const at::Tensor values = signal.to(at::kDouble).contiguous();
  at::Tensor amplitudes = at::zeros({signal.size(0)}, at::kDouble);
  auto* out = amplitudes.mutable_data_ptr<double>();
  for (int64_t lead = 0; lead < signal.size(0); ++lead) {
    const double* x = values.const_data_ptr<double>() + lead * size;
    // A signal shorter than a window is one.
    const int64_t windows = std::max<int64_t>(size / half - 1, 1);
    for (int64_t i = 0; i < windows && size > 0; ++i) {
      const double* end = x + std::min(size, i * half + 2 * half);
      const auto [least, most] = std::minmax_element(x + i * half, end);
      out[lead] = std::max(out[lead], *most - *least);
    }
  }
  return amplitudes;
}

std::vector<double> Wander(int64_t size, double fs,
                           const std::vector<double>& frequencies,
                           const std::vector<double>& amplitudes,
                           const std::vector<double>& phases) {
  std::vector<double> sum(size, 0.0);
  const double duration = static_cast<double>(size) / fs;
  const double steps = static_cast<double>(std::max<int64_t>(size - 1, 1));
  for (size_t k = 0; k < frequencies.size(); ++k) {
    const double degrees = duration * frequencies[k] * 360;
    for (int64_t i = 0; i < size; ++i) {
      const double phase = phases[k] + static_cast<double>(i) / steps * degrees;
      sum[i] += amplitudes[k] * std::sin(std::numbers::pi * phase / 180);
    }
  }
  return sum;
}

BaselineWander::BaselineWander(BaselineWanderOptions options)
    : options_(std::move(options)) {
  for (const auto& row : options_.amplitudes) {
    if (row.size() != options_.frequencies.size()) {
      throw Error(ErrorKind::kBadSpec,
                  "BaselineWander: a row of amplitudes has " +
                      std::to_string(row.size()) + " values; " +
                      std::to_string(options_.frequencies.size()) +
                      ", one per frequency, are needed");
    }
  }
  if (options_.amplitudes.empty() || options_.noise.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "BaselineWander: amplitudes and noise need at least one row");
  }
}

void BaselineWander::Apply(Batch& sample, Random& random) const {
  at::Tensor signal =
      OwnFloats(Signal(sample, options_.field, "BaselineWander"));
  const at::Tensor amplitudes = LeadAmplitudes(signal, options_.fs);
  const int64_t size = signal.size(1);
  for (int64_t lead = 0; lead < signal.size(0); ++lead) {
    const bool has_sines = Happens(options_.probability, random);
    const bool has_noise = Happens(options_.probability, random);
    const double scale = amplitudes.const_data_ptr<double>()[lead];
    std::vector<double> row =
        options_.amplitudes[random.Below(options_.amplitudes.size())];
    const double noise =
        scale * options_.noise[random.Below(options_.noise.size())];
    std::vector<double> phases;
    for (double& each : row) {
      each *= scale;
      phases.push_back(static_cast<double>(random.Below(361)));
    }
    float* x = signal.mutable_data_ptr<float>() + lead * size;
    if (has_sines) {
      const std::vector<double> wander =
          Wander(size, options_.fs, options_.frequencies, row, phases);
      for (int64_t i = 0; i < size; ++i) {
        x[i] += static_cast<float>(wander[i]);
      }
    }
    if (has_noise) {
      for (int64_t i = 0; i < size; ++i) {
        x[i] += static_cast<float>(noise * random.Normal());
      }
    }
  }
  sample.Set(options_.field, signal);
}

void SignalNoise::Apply(Batch& sample, Random& random) const {
  const at::Tensor found = Signal(sample, field_, "SignalNoise");
  if (!Happens(probability_, random)) return;
  at::Tensor signal = OwnFloats(found);
  const at::Tensor stds = at::std(signal, 1, /*unbiased=*/false);
  for (int64_t lead = 0; lead < signal.size(0); ++lead) {
    const double scale =
        std_ * (is_relative_ ? stds.const_data_ptr<float>()[lead] : 1.0);
    float* x = signal.mutable_data_ptr<float>() + lead * signal.size(1);
    for (int64_t i = 0; i < signal.size(1); ++i) {
      x[i] += static_cast<float>(scale * random.Normal());
    }
  }
  sample.Set(field_, signal);
}

void SignalFlip::Apply(Batch& sample, Random& random) const {
  const at::Tensor signal = Signal(sample, field_, "SignalFlip");
  const bool is_chosen = Happens(probability_, random);
  at::Tensor signs = at::ones({signal.size(0), 1}, signal.options());
  for (int64_t lead = 0; lead < signal.size(0); ++lead) {
    const bool flips = Happens(lead_probability_, random);
    if (is_chosen && (flips || !per_lead_)) signs[lead].fill_(-1);
  }
  if (is_chosen) sample.Set(field_, signal * signs);
}

SignalMask::SignalMask(SignalMaskOptions options)
    : options_(std::move(options)) {
  if (!(options_.min_width > 0) || options_.min_width > options_.max_width) {
    throw Error(ErrorKind::kBadSpec,
                "SignalMask: width is [" + std::to_string(options_.min_width) +
                    ", " + std::to_string(options_.max_width) +
                    "]; 0 < least <= most, in seconds, is needed");
  }
}

void SignalMask::Apply(Batch& sample, Random& random) const {
  const at::Tensor found = Signal(sample, options_.field, "SignalMask");
  if (!Happens(options_.probability, random)) return;
  at::Tensor signal = found.clone();
  const int64_t size = signal.size(1);
  const int64_t least = std::llround(options_.min_width * options_.fs);
  const int64_t most =
      std::max<int64_t>(std::llround(options_.max_width * options_.fs), 1);
  // Middles of stretches, anywhere where a whole one fits.
  for (int64_t middle = most / 2; middle < size - most + most / 2; ++middle) {
    if (!Happens(options_.density / static_cast<double>(most), random)) {
      continue;
    }
    const int64_t radius =
        (least + static_cast<int64_t>(random.Below(most - least + 1))) / 2;
    signal.slice(1, std::max<int64_t>(middle - radius, 0), middle + radius)
        .fill_(options_.value);
  }
  sample.Set(options_.field, signal);
}

at::Tensor Stretch(const at::Tensor& signal, double ratio) {
  const int64_t size = signal.size(-1);
  // As Python rounds: halves to even.
  const auto new_size = static_cast<int64_t>(
      std::nearbyint((1 + ratio) * static_cast<double>(size)));
  if (new_size < 1 || new_size == size) return signal;
  const at::Tensor rows = signal.reshape({1, -1, size});
  at::Tensor out;
  if (signal.is_floating_point()) {
    out = at::upsample_linear1d(rows, {new_size}, /*align_corners=*/true);
  } else {
    const double step = static_cast<double>(size - 1) /
                        static_cast<double>(std::max<int64_t>(new_size - 1, 1));
    out = ValuesAt(rows, at::arange(new_size, at::kDouble) * step);
  }
  const int64_t half = std::abs(new_size - size) / 2;
  if (new_size > size) {
    out = out.slice(2, half, half + size);
  } else {
    out = at::constant_pad_nd(out, {half, size - new_size - half});
  }
  return out.reshape(signal.sizes()).contiguous();
}

void StretchCompress::Apply(Batch& sample, Random& random) const {
  const at::Tensor signal = Signal(sample, field_, "StretchCompress");
  if (!Happens(probability_, random)) return;
  const double sign = random.Below(2) == 0 ? -1 : 1;
  const double drawn = ratio_ + 0.382 * ratio_ * random.Normal();
  const double ratio = sign * std::clamp(drawn, 0.0, 2 * ratio_);
  sample.Set(field_, Stretch(signal, ratio));
  for (const std::string& field : also_) {
    sample.Set(field,
               Stretch(Along(sample, field, signal.size(1), "StretchCompress"),
                       ratio));
  }
}

void LeadDropout::Apply(Batch& sample, Random& random) const {
  const at::Tensor signal = Signal(sample, field_, "LeadDropout");
  const int64_t leads = signal.size(0);
  if (leads == 0) return;
  const auto kept = static_cast<int64_t>(random.Below(leads));
  at::Tensor keep = at::ones({leads, 1}, signal.options());
  bool any = false;
  for (int64_t lead = 0; lead < leads; ++lead) {
    if (Happens(probability_, random) && lead != kept) {
      keep[lead].zero_();
      any = true;
    }
  }
  if (any) sample.Set(field_, signal * keep);
}

void LabelSmooth::Apply(Batch& sample, Random& random) const {
  at::Tensor label = sample.At(field_);
  const bool acts = Happens(probability_, random);
  if (label.dim() == 0 || !label.is_floating_point()) {
    if (classes_ == 0) {
      RefuseField("LabelSmooth", field_,
                  "is a class index; `classes` is needed to smooth it");
    }
    const int64_t index = label.item<int64_t>();
    if (label.dim() != 0 || index < 0 || index >= classes_) {
      RefuseField("LabelSmooth", field_,
                  "is class " + std::to_string(index) + "; 0 to " +
                      std::to_string(classes_ - 1) + " are accepted");
    }
    // Also where nothing is smoothed: samples of a batch have one shape.
    label = at::zeros({classes_}, at::kFloat);
    label[index] = 1;
  }
  if (acts) {
    const double each = smoothing_ / static_cast<double>(label.size(-1));
    label = label * (1 - smoothing_) + each;
  }
  sample.Set(field_, label);
}

namespace {

at::Tensor ZScore(const at::Tensor& x, at::IntArrayRef dims, double mean,
                  double std) {
  const at::Tensor middle = x.mean(dims, /*keepdim=*/true);
  const at::Tensor spread =
      at::std(x, dims, /*unbiased=*/false, /*keepdim=*/true);
  return (x - middle).div_(spread + kTiny).mul_(std).add_(mean);
}

}  // namespace

void SignalNormalize::ApplyTo(Batch& batch, at::IntArrayRef dims) const {
  at::Tensor x = batch.At(field_);
  if (!x.is_floating_point()) x = x.to(at::kFloat);
  switch (scaling_) {
    case Scaling::kZScore:
      batch.Set(field_, ZScore(x, dims, mean_, std_));
      return;
    case Scaling::kMinMax: {
      const at::Tensor least = at::amin(x, dims, /*keepdim=*/true);
      const at::Tensor most = at::amax(x, dims, /*keepdim=*/true);
      batch.Set(field_, (x - least).div_(most - least + kTiny));
      return;
    }
    case Scaling::kNaive:
      batch.Set(field_, (x - mean_).div_(std_));
      return;
  }
}

void SignalNormalize::Apply(Batch& sample, Random& /*random*/) const {
  Signal(sample, field_, "SignalNormalize");
  if (per_lead_) {
    ApplyTo(sample, {-1});
  } else {
    ApplyTo(sample, {-2, -1});
  }
}

void Renormalize::Apply(Batch& sample, Random& random) const {
  const at::Tensor signal = Signal(sample, options_.field, "Renormalize");
  const bool acts = Happens(options_.probability, random);
  const auto draw = [&](double least, double most) {
    const double middle = (least + most) / 2;
    return middle + 0.3 * (most - middle) * random.Normal();
  };
  if (!options_.per_lead) {
    const double mean = draw(options_.min_mean, options_.max_mean);
    const double std = draw(options_.min_std, options_.max_std);
    if (acts) sample.Set(options_.field, ZScore(signal, {0, 1}, mean, std));
    return;
  }
  at::Tensor out = at::empty_like(signal);
  for (int64_t lead = 0; lead < signal.size(0); ++lead) {
    const double mean = draw(options_.min_mean, options_.max_mean);
    const double std = draw(options_.min_std, options_.max_std);
    out[lead].copy_(ZScore(signal[lead], {0}, mean, std));
  }
  if (acts) sample.Set(options_.field, out);
}

void SignalResample::Apply(Batch& sample, Random& /*random*/) const {
  Signal(sample, field_, "SignalResample");
  ApplyToBatch(sample);
}

bool SignalResample::ApplyToBatch(Batch& batch) const {
  const int64_t size = batch.At(field_).size(-1);
  at::Tensor signal = batch.At(field_);
  if (!signal.is_floating_point()) signal = signal.to(at::kFloat);
  batch.Set(field_, ResamplePoly(signal, ratio_.up, ratio_.down, edge_));
  if (also_.empty()) return true;
  const at::Tensor places =
      at::arange(batch.At(field_).size(-1), at::kDouble) *
      (static_cast<double>(ratio_.down) / static_cast<double>(ratio_.up));
  for (const std::string& field : also_) {
    batch.Set(field,
              ValuesAt(Along(batch, field, size, "SignalResample"), places));
  }
  return true;
}

void BandPass::Apply(Batch& sample, Random& /*random*/) const {
  sample.Set(field_, FilterForwardBackward(sections_,
                                           Signal(sample, field_, "BandPass")));
}

bool BandPass::ApplyToBatch(Batch& batch) const {
  batch.Set(field_, FilterForwardBackward(sections_, batch.At(field_)));
  return true;
}

}  // namespace epochd::engine
