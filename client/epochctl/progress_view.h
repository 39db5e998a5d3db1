// SPDX-License-Identifier: Apache-2.0
//
// Shows a job's events while they come: lines that stay (states, epochs,
// warnings) and, on a terminal, one bar that is redrawn. One thread.
//
//   epoch 12/30 train ▕██████▎   ▏  41%  loss 0.1234  12.3k/s  ETA 14s
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/terminal/live_line.h"
#include "client/terminal/style.h"
#include "epochd/v1/job.pb.h"

namespace epochd::epochctl {

class ProgressView {
 public:
  ProgressView(std::ostream& out, const terminal::Style& style,
               std::function<absl::Time()> now);

  void Add(const v1::Event& event);
  // Says something between the events.
  void Say(const std::string& line);
  // Takes the bar away.
  void Finish() { line_.Clear(); }

 private:
  void ShowProgress(const v1::Progress& progress);
  void ShowEpoch(const v1::EpochFinished& epoch);
  absl::Duration TimeLeft(double done, double total) const;
  // A failure is told by the trainer, its attempt and its job: once is enough.
  void LeaveOutIfTold(std::string& message);

  const terminal::Style style_;
  const std::function<absl::Time()> now_;
  terminal::LiveLine line_;
  int64_t total_epochs_ = 0;
  // When the last event happened: what is replayed lies back.
  absl::Time time_ = absl::InfinitePast();
  // Where this attempt began, to tell how long the rest takes.
  absl::Time began_ = absl::InfinitePast();
  double begin_done_ = 0;
  // What the trainer, attempts and the job said so far.
  std::vector<std::string> told_;
};

}  // namespace epochd::epochctl
