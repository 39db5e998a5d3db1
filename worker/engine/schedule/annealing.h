// SPDX-License-Identifier: Apache-2.0
//
// Schedulers that go from one value to another: torch.optim.lr_scheduler's
// LinearLR, CosineAnnealingLR and PolynomialLR, and MMEngine's Linear,
// CosineAnnealing and Poly, operation by operation, so that values are
// bit-equal. Where a length is not given it follows from the window.
#pragma once

#include <cstdint>
#include <optional>

#include "worker/engine/schedule/windowed.h"

namespace epochd::engine {

// From start_factor to end_factor times the initial value in `total` units;
// by default the window's length less one, so that its last unit has the end
// value. With a start of 0 values follow from the initial one, not from the
// present one.
class LinearScheduler : public WindowedScheduler {
 public:
  struct Ramp {
    double start_factor = 1.0 / 3.0;
    double end_factor = 1.0;
    std::optional<int64_t> total{};
  };
  explicit LinearScheduler(const Ramp& ramp,
                           const ScheduleOptions& options = {})
      : WindowedScheduler(options), ramp_(ramp) {}

 private:
  double First(double value, double initial) const override;
  double Next(double value, int64_t t, double initial) const override;
  void Stretch(int64_t times) override;
  bool SetLength(std::optional<int64_t> length) override;

  Ramp ramp_;
};

// Half a cosine from the initial value to the least one in t_max units
// (default: the window's length), and back.
class CosineAnnealingScheduler : public WindowedScheduler {
 public:
  // The least value, or what share of the initial one it is.
  struct Least {
    double value = 0.0;
    std::optional<double> ratio{};

    double Of(double initial) const {
      return ratio.has_value() ? initial * *ratio : value;
    }
  };
  CosineAnnealingScheduler(std::optional<int64_t> t_max, Least least,
                           const ScheduleOptions& options = {})
      : WindowedScheduler(options), t_max_(t_max), least_(least) {}
  CosineAnnealingScheduler(int64_t t_max, double eta_min)
      : CosineAnnealingScheduler(t_max, Least{.value = eta_min}) {}

 private:
  double Next(double value, int64_t t, double initial) const override;
  void Stretch(int64_t times) override;
  bool SetLength(std::optional<int64_t> length) override;

  std::optional<int64_t> t_max_;
  const Least least_;
};

// Down by a polynomial of the time that is left. torch's rule goes to 0 in
// `total` units and then stays; MMEngine's goes to eta_min at the window's
// last unit.
class PolyScheduler : public WindowedScheduler {
 public:
  struct Curve {
    double power = 1.0;
    double eta_min = 0.0;
    // Absent: MMEngine's rule.
    std::optional<int64_t> total{};
  };
  explicit PolyScheduler(const Curve& curve,
                         const ScheduleOptions& options = {})
      : WindowedScheduler(options), curve_(curve), total_(curve.total) {}

 private:
  double Next(double value, int64_t t, double initial) const override;
  void Stretch(int64_t times) override;
  bool SetLength(std::optional<int64_t> length) override;

  const Curve curve_;
  std::optional<int64_t> total_;
};

}  // namespace epochd::engine
