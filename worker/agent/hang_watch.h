// SPDX-License-Identifier: Apache-2.0
//
// Notices that nothing is written any more: a process that hangs has no exit
// code, it only falls silent. Looks at the sizes of files that grow while it
// makes progress. A plain value; `now` is of the steady clock.
//
//   HangWatch watch({".../events.jsonl"}, absl::Minutes(30));
//   if (watch.Look(now)) ...   // at least every few seconds
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace epochd::agent {

class HangWatch {
 public:
  // Never notices anything.
  HangWatch() = default;
  // The files need not exist yet.
  HangWatch(std::vector<std::string> files, absl::Duration after);

  // Whether no file has grown for `after`; the silence counts from the first
  // look on.
  bool Look(absl::Time now);

  absl::Duration after() const { return after_; }

 private:
  std::vector<std::string> files_;
  absl::Duration after_ = absl::InfiniteDuration();
  int64_t size_ = -1;
  absl::Time grew_ = absl::InfinitePast();
};

}  // namespace epochd::agent
