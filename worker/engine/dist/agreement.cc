// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/agreement.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace epochd::engine {
namespace {

// Sums are this far apart, or one step.
constexpr std::chrono::milliseconds kDistance{50};
constexpr int64_t kLongestPeriod = 1000;

void Include(Agreement::Wishes& into, const Agreement::Wishes& wishes) {
  into.stop |= wishes.stop;
  into.finish |= wishes.finish;
  into.checkpoint |= wishes.checkpoint;
}

}  // namespace

Agreement::Agreement(Communicator& communicator)
    : communicator_(communicator), started_(std::chrono::steady_clock::now()) {}

void Agreement::Start() {
  const auto now = std::chrono::steady_clock::now();
  const double elapsed = std::chrono::duration<double>(now - started_).count();
  const double per_step = elapsed / static_cast<double>(period_);
  const double wanted = std::chrono::duration<double>(kDistance).count();
  // Doubles at most, since the first steps are slow.
  const int64_t period = std::clamp<int64_t>(
      per_step > 0 ? static_cast<int64_t>(wanted / per_step) : kLongestPeriod,
      1, std::min(period_ * 2, kLongestPeriod));
  started_ = now;
  sum_ = at::zeros({4}, at::kLong);
  int64_t* values = sum_.data_ptr<int64_t>();
  values[0] = wanted_.stop;
  values[1] = wanted_.finish;
  values[2] = wanted_.checkpoint;
  values[3] = communicator_.rank() == 0 ? period : 0;
  wanted_ = Wishes();
  communicator_.StartSum(sum_);
  is_under_way_ = true;
  wait_ = period_;
}

Agreement::Wishes Agreement::Finish() {
  communicator_.FinishSum();
  is_under_way_ = false;
  const int64_t* values = sum_.const_data_ptr<int64_t>();
  period_ = std::max<int64_t>(values[3], 1);
  return {values[0] > 0, values[1] > 0, values[2] > 0};
}

Agreement::Wishes Agreement::AfterStep(const Wishes& wishes) {
  if (communicator_.world_size() == 1) return wishes;
  Include(wanted_, wishes);
  if (is_under_way_ && --wait_ > 0) return {};
  Wishes agreed;
  if (is_under_way_) agreed = Finish();
  if (!agreed.stop && !agreed.finish) Start();
  return agreed;
}

Agreement::Wishes Agreement::Now(const Wishes& wishes) {
  if (communicator_.world_size() == 1) return wishes;
  Include(wanted_, wishes);
  Wishes agreed;
  if (is_under_way_) agreed = Finish();
  Start();
  Include(agreed, Finish());
  return agreed;
}

}  // namespace epochd::engine
