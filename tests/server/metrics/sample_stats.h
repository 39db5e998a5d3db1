// SPDX-License-Identifier: Apache-2.0
//
// A controller's snapshot with something in every place.
#pragma once

#include <memory>
#include <string>

#include "server/control/views.h"

namespace epochd {

inline control::JobView SampleJobView(uint64_t number,
                                      const std::string& display_name) {
  auto spec = std::make_shared<job::JobSpec>();
  spec->display_name = display_name;
  spec->project = "vision";
  auto job = std::make_shared<job::Job>();
  job->id = job::JobId(0, number);
  job->spec = spec;
  job->state = job::JobState::kRunning;
  job->create_time = absl::FromUnixSeconds(1000);
  job->metrics = {
      {"train/loss", 0.5}, {"val/loss", 0.75}, {"val/accuracy", 0.9}};
  job->epoch_time = absl::Seconds(20);
  job->data_wait = absl::Milliseconds(1500);
  job::Checkpoint checkpoint;
  checkpoint.create_time = absl::FromUnixSeconds(1990);
  job->checkpoints = {checkpoint};
  control::JobView view;
  view.job = job;
  view.reason = job::JobReason::kTraining;
  view.progress = job::Progress{4, 30, "train", 10, 20, 100, 0.25, 5000};
  return view;
}

inline control::Stats SampleStats() {
  control::Stats stats;
  for (const auto state : job::AllJobStates()) stats.jobs[state] = 0;
  for (const auto state : fleet::AllWorkerStates()) stats.workers[state] = 0;
  stats.jobs[job::JobState::kRunning] = 1;
  stats.jobs[job::JobState::kQueued] = 2;
  stats.workers[fleet::WorkerState::kReady] = 3;
  stats.devices[job::DeviceKind::kCpu] = {8, 2};
  stats.queue_wait.counts[0] = 4;
  stats.queue_wait.counts[2] = 1;
  stats.queue_wait.counts.back() = 1;
  stats.queue_wait.sum_seconds = 90000.5;
  stats.scheduler_pass.Add(control::kSchedulerPassBounds, 0.00005);
  stats.scheduler_pass.Add(control::kSchedulerPassBounds, 0.001);
  stats.scheduler_pass.Add(control::kSchedulerPassBounds, 5);
  stats.num_events = 17;
  stats.num_commit_failures = 1;
  stats.num_fenced = 2;
  stats.mailbox_length = 3;
  stats.active_jobs = {SampleJobView(1, "digits")};
  return stats;
}

}  // namespace epochd
