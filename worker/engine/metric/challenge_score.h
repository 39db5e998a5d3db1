// SPDX-License-Identifier: Apache-2.0
//
// The score of the PhysioNet/CinC challenges of 2020 and 2021: labels that are
// nearly right count in part. Of recordings n with labels l and given labels o
// (vectors of 0 and 1), and a matrix W [true, given] of what each pair earns:
//
//   earned(o) = sum over n of l' W o / max(1, how many labels l or o have)
//   score     = (earned(o) - earned(normal)) / (earned(l) - earned(normal))
//
// where `normal` gives the normal class to every recording. 1 is perfect, 0 is
// saying "normal" always; 0 also where the two are the same, as in 2021.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/metric.h"
#include "worker/engine/metric/labels.h"

namespace epochd::engine {

class ChallengeScore : public Metric {
 public:
  struct Options {
    LabelOptions labels = {};
    std::string name = "challenge_score";
    double threshold = 0.5;
    std::vector<std::vector<double>> weights;  // square
    int64_t normal_class = 0;                  // in range
  };

  explicit ChallengeScore(Options options);

  const std::string& name() const override { return options_.name; }
  void Reset() override { sums_.reset(); }
  std::string Doubt() const override { return watch_.Doubt(); }
  // Throws Error(kBadSpec) for another number of classes than the matrix has.
  void Update(const Batch& batch) override;
  at::Tensor Sums() const override;
  std::vector<std::pair<std::string, double>> Values(
      const Collected& all) const override;
  bool higher_is_better() const override { return true; }

 private:
  const Options options_;
  at::Tensor weights_;
  // Earned, at best, and by the normal class; recordings.
  at::Tensor sums_;
  LogitWatch watch_;
};

}  // namespace epochd::engine
