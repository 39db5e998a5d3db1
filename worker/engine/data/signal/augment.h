// SPDX-License-Identifier: Apache-2.0
//
// Transforms of signals [leads, samples] as ECG training uses them, and of
// their labels. Each works on one field and draws from the stream handed in
// alone; each draws the same number of values whether it acts or not, where
// that is cheap. What acts on pairs of samples (mixup) is a batch's affair.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/data/signal/filter.h"
#include "worker/engine/data/transform.h"

namespace epochd::engine {

// Greatest peak-to-peak value of each lead within windows of 0.2 s that
// overlap by half, float64 [leads]; torch_ecg's get_ampl.
at::Tensor LeadAmplitudes(const at::Tensor& signal, double fs);

// Adds to each lead a sum of slow sines and noise, in terms of the lead's
// amplitude. A row of `amplitudes` and one of `noise` are drawn for each lead.
struct BaselineWanderOptions {
  double fs = 0;  // samples a second
  std::vector<double> frequencies = {0.33, 0.1, 0.05, 0.01};  // Hz
  std::vector<std::vector<double>> amplitudes = {};  // rows: one per frequency
  std::vector<double> noise = {0.001, 0.003, 0.01};
  double probability = 0.5;  // of each lead
  std::string field = "input";
};
class BaselineWander : public Transform {
 public:
  explicit BaselineWander(BaselineWanderOptions options);
  void Apply(Batch& sample, Random& random) const override;

 private:
  const BaselineWanderOptions options_;
};

// The wander itself: sum of amplitude_i * sin(2 pi f_i t + phase_i), phases in
// degrees, over `size` samples whose last is at size / fs (torch_ecg's rule).
std::vector<double> Wander(int64_t size, double fs,
                           const std::vector<double>& frequencies,
                           const std::vector<double>& amplitudes,
                           const std::vector<double>& phases);

// Adds Gaussian noise of `std`, in units of each lead's standard deviation when
// `is_relative`.
class SignalNoise : public Transform {
 public:
  SignalNoise(double std, bool is_relative, double probability,
              std::string field)
      : std_(std),
        is_relative_(is_relative),
        probability_(probability),
        field_(std::move(field)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const double std_;
  const bool is_relative_;
  const double probability_;
  const std::string field_;
};

// Changes the sign: of each lead by itself with `lead_probability`, or of all
// at once, in a sample that is chosen with `probability`.
class SignalFlip : public Transform {
 public:
  SignalFlip(double probability, double lead_probability, bool per_lead,
             std::string field)
      : probability_(probability),
        lead_probability_(lead_probability),
        per_lead_(per_lead),
        field_(std::move(field)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const double probability_;
  const double lead_probability_;
  const bool per_lead_;
  const std::string field_;
};

// Puts `value` in place of stretches of all leads. A share of about
// `density` of the samples lies in a stretch's reach.
struct SignalMaskOptions {
  double fs = 0;
  double value = 0;
  double min_width = 0.08;  // s
  double max_width = 0.18;
  double probability = 0.3;  // of a sample
  double density = 0.15;
  std::string field = "input";
};
class SignalMask : public Transform {
 public:
  // Throws Error(kBadSpec) unless 0 < min_width <= max_width.
  explicit SignalMask(SignalMaskOptions options);
  void Apply(Batch& sample, Random& random) const override;

 private:
  const SignalMaskOptions options_;
};

// Stretches (`ratio` above 0: the middle is kept) or compresses (below 0: zeros
// at both ends) in time; the size stays. Floating values by linear
// interpolation, others take the nearest sample's.
at::Tensor Stretch(const at::Tensor& signal, double ratio);

// Stretch by a ratio drawn around `ratio`, either way. Fields of `also`, such
// as a label per sample [..., samples], move with the signal.
class StretchCompress : public Transform {
 public:
  StretchCompress(double ratio, double probability, std::string field,
                  std::vector<std::string> also)
      : ratio_(ratio),
        probability_(probability),
        field_(std::move(field)),
        also_(std::move(also)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const double ratio_;
  const double probability_;
  const std::string field_;
  const std::vector<std::string> also_;
};

// Sets leads to 0, each with `probability`, but never all of them.
class LeadDropout : public Transform {
 public:
  LeadDropout(double probability, std::string field)
      : probability_(probability), field_(std::move(field)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const double probability_;
  const std::string field_;
};

// (1 - s) * label + s / classes, of a label vector [classes], or of a class
// index, which becomes such a vector when `classes` is above 0.
class LabelSmooth : public Transform {
 public:
  LabelSmooth(double smoothing, int64_t classes, double probability,
              std::string field)
      : smoothing_(smoothing),
        classes_(classes),
        probability_(probability),
        field_(std::move(field)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const double smoothing_;
  const int64_t classes_;
  const double probability_;
  const std::string field_;
};

// How a signal is brought to a common scale; torch_ecg's methods of these
// names. Statistics of the whole sample, or of each lead.
enum class Scaling {
  kZScore,  // (x - mean(x)) / (std(x) + 1e-7) * std + mean
  kMinMax,  // (x - min(x)) / (max(x) - min(x) + 1e-7)
  kNaive,   // (x - mean) / std
};
class SignalNormalize : public Transform {
 public:
  SignalNormalize(Scaling scaling, double mean, double std, bool per_lead,
                  std::string field)
      : scaling_(scaling),
        mean_(mean),
        std_(std),
        per_lead_(per_lead),
        field_(std::move(field)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  // `dims`: what one statistic is taken over.
  void ApplyTo(Batch& batch, at::IntArrayRef dims) const;

  const Scaling scaling_;
  const double mean_;
  const double std_;
  const bool per_lead_;
  const std::string field_;
};

// Scaling::kZScore with mean and std drawn from normal distributions around the
// middle of a range, 0.3 of its half wide.
struct RenormalizeOptions {
  double min_mean = -0.05;
  double max_mean = 0.1;
  double min_std = 0.08;
  double max_std = 0.32;
  bool per_lead = false;
  double probability = 0.5;
  std::string field = "input";
};
class Renormalize : public Transform {
 public:
  explicit Renormalize(RenormalizeOptions options)
      : options_(std::move(options)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const RenormalizeOptions options_;
};

// ResamplePoly from one rate to another. Fields of `also`, such as a label or a
// mask per sample [..., samples], keep to the signal's samples: floating ones
// are linear between theirs, others take the nearest.
class SignalResample : public Transform {
 public:
  SignalResample(double from, double to, ResampleEdge edge, std::string field,
                 std::vector<std::string> also = {})
      : ratio_(ResampleRatio(from, to)),
        edge_(edge),
        field_(std::move(field)),
        also_(std::move(also)) {}
  void Apply(Batch& sample, Random& random) const override;
  bool ApplyToBatch(Batch& batch) const override;

 private:
  const Ratio ratio_;
  const ResampleEdge edge_;
  const std::string field_;
  const std::vector<std::string> also_;
};

// Butterworth band-pass, forward and backward.
class BandPass : public Transform {
 public:
  BandPass(int order, double low, double high, double fs, std::string field)
      : sections_(Butterworth(order, low, high, fs)),
        field_(std::move(field)) {}
  void Apply(Batch& sample, Random& random) const override;
  bool ApplyToBatch(Batch& batch) const override;

 private:
  const std::vector<FilterSection> sections_;
  const std::string field_;
};

}  // namespace epochd::engine
