// SPDX-License-Identifier: Apache-2.0
//
// StopRule: when a score that no longer improves ends a training. One rule for
// each system, since "patience" and "min_delta" mean different things in them.
// For a constant score and patience 2 the index of the value that stops is in
// brackets; "better" and "worse" follow the direction.
//
//   srforge    [1] none of the last `patience` values is better than the
//              first of them by more than min_delta
//   lightning  [2] better than the best by more than min_delta, else it waits;
//              stops when it waited `patience` times
//   keras      [2] as lightning; with a baseline, waiting starts again only
//              with values that beat it too
//   mmengine   [never] at least as good as the best plus min_delta, else it
//              waits; stops when it waited `patience` times
//   torch_ecg  [never] worse than the best by more than min_delta (a
//              tolerance) for `patience` values
//   phijax     [3] as lightning, but `patience` values are tolerated
//
// NaN is never the best, in any rule. A plain value; one thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace epochd::hooks {

class StopRule {
 public:
  enum class Kind {
    kSrForge,
    kTorchEcg,
    kMmEngine,
    kPhiJax,
    kLightning,
    kKeras
  };
  struct Options {
    Kind kind = Kind::kSrForge;
    int64_t patience = 1;
    double min_delta = 0;
    bool higher_is_better = false;
    // A value that is not finite stops at once.
    bool check_finite = false;
    // A value beyond it stops at once.
    std::optional<double> threshold = {};
    // What Keras' rule must beat to wait from the beginning again.
    std::optional<double> baseline = {};
  };

  StopRule() = default;
  explicit StopRule(const Options& options) : options_(options) {}

  // Names of the rules, in the order of Kind's values above.
  static const std::vector<std::string>& Names();
  static Kind KindOf(const std::string& name);  // one of Names()
  // What the system itself does when nothing is said.
  static bool ChecksFinite(Kind kind);
  static double MinDelta(Kind kind);

  // Takes the next value. True: stop; reason() then says why.
  bool Observe(double value);
  const std::string& reason() const { return reason_; }
  // NaN: there is none yet.
  double best() const { return best_; }
  const Options& options() const { return options_; }

  nlohmann::ordered_json State() const;
  void LoadState(const nlohmann::ordered_json& state);

 private:
  // Whether `value` is better than `than`, strictly; NaN never is, and
  // everything is better than NaN.
  bool IsBetter(double value, double than) const;
  // `value` made better by `amount`.
  double Improved(double value, double amount) const {
    return options_.higher_is_better ? value + amount : value - amount;
  }
  bool ObserveWindow(double value);
  bool ObserveTolerance(double value);
  bool ObserveWait(double value);

  Options options_;
  double best_ = std::numeric_limits<double>::quiet_NaN();
  int64_t seen_ = 0;
  int64_t waited_ = 0;
  // torch_ecg: index of the last value that was good enough.
  int64_t last_good_ = -1;
  // srforge: the last values, at most `patience` of them.
  std::deque<double> window_;
  std::string reason_;
};

}  // namespace epochd::hooks
