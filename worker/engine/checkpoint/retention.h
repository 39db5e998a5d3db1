// SPDX-License-Identifier: Apache-2.0
//
// Retention: which checkpoints of a job stay. The last few and the best few;
// NaN is never among the best, and of equals the earlier is. One that stays for
// no reason may go only once a newer one that stays is known to whoever
// restarts the job. The one that this run went on from is pinned. Pure: names
// alone, no files. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace epochd::engine {

class Retention {
 public:
  struct Options {
    int64_t keep_last = 3;  // 1 or more; -1: all
    int64_t keep_best = 1;  // -1: all that were measured
    bool higher_is_better = false;
  };
  struct Item {
    std::string path;
    double score = std::numeric_limits<double>::quiet_NaN();  // of the monitor
    int64_t event = -1;  // position of its event; -1: of an earlier attempt
    bool is_pinned = false;
    bool is_broken = false;  // stays for no reason
  };

  explicit Retention(const Options& options) : options_(options) {}

  // The newest of all.
  void Add(Item item) { items_.push_back(std::move(item)); }
  // Takes out those that may go now, oldest first. `is_recorded`: whether the
  // event at a position is known for certain.
  std::vector<std::string> TakeRemovable(
      const std::function<bool(int64_t event)>& is_recorded);
  // Puts one back that could not be removed after all, as the oldest.
  void PutBack(std::string path) {
    items_.insert(items_.begin(), Item{.path = std::move(path)});
  }
  // Whether one stays only because no newer one is known yet.
  bool HasToGo() const;
  // Path of the best; empty: there is none.
  std::string Best() const;

  const std::vector<Item>& items() const { return items_; }

 private:
  bool Stays(size_t index) const;
  int64_t NumNewer(size_t index) const;
  // How many are better than this one.
  int64_t NumBetter(size_t index) const;

  const Options options_;
  std::vector<Item> items_;  // oldest first
};

}  // namespace epochd::engine
