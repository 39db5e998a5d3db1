// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/checkpoint/retention.h"

#include <cmath>
#include <utility>

namespace epochd::engine {

int64_t Retention::NumBetter(size_t index) const {
  const double own = items_[index].score;
  int64_t better = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    const double other = items_[i].score;
    if (i == index || std::isnan(other)) continue;
    const bool is_better =
        options_.higher_is_better ? other > own : other < own;
    if (is_better || (other == own && i < index)) ++better;
  }
  return better;
}

int64_t Retention::NumNewer(size_t index) const {
  int64_t newer = 0;
  for (size_t i = index + 1; i < items_.size(); ++i) {
    if (!items_[i].is_broken) ++newer;
  }
  return newer;
}

bool Retention::Stays(size_t index) const {
  if (items_[index].is_pinned) return true;
  if (items_[index].is_broken) return false;
  if (options_.keep_last < 0) return true;
  if (NumNewer(index) < options_.keep_last) return true;
  if (std::isnan(items_[index].score)) return false;
  return options_.keep_best < 0 || NumBetter(index) < options_.keep_best;
}

bool Retention::HasToGo() const {
  bool newer_has_event = false;
  for (size_t i = items_.size(); i-- > 0;) {
    if (!Stays(i)) {
      if (newer_has_event) return true;
    } else {
      newer_has_event |= items_[i].event >= 0;
    }
  }
  return false;
}

std::string Retention::Best() const {
  for (size_t i = 0; i < items_.size(); ++i) {
    if (!std::isnan(items_[i].score) && NumBetter(i) == 0) {
      return items_[i].path;
    }
  }
  return "";
}

std::vector<std::string> Retention::TakeRemovable(
    const std::function<bool(int64_t event)>& is_recorded) {
  std::vector<bool> goes(items_.size(), false);
  bool newer_is_known = false;
  for (size_t i = items_.size(); i-- > 0;) {
    if (Stays(i)) {
      newer_is_known |= items_[i].event >= 0 && is_recorded(items_[i].event);
    } else {
      goes[i] = newer_is_known;
    }
  }
  std::vector<std::string> removable;
  std::vector<Item> left;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (goes[i]) {
      removable.push_back(std::move(items_[i].path));
    } else {
      left.push_back(std::move(items_[i]));
    }
  }
  items_ = std::move(left);
  return removable;
}

}  // namespace epochd::engine
