// SPDX-License-Identifier: Apache-2.0
//
// Workers and a queue for the scheduler's tests.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "server/schedule/plan.h"

namespace epochd::schedule {

class Cluster {
 public:
  // The returned offer may be changed until the next AddWorker.
  Offer& AddWorker(const std::string& name, int num_cpus, int num_gpus = 0) {
    fleet::WorkerRecord record;
    record.id = job::WorkerId(name);
    for (int i = 0; i < num_cpus; ++i) {
      record.devices.push_back(
          {"cpu:" + std::to_string(i), job::DeviceKind::kCpu, "EPYC", 0});
    }
    for (int i = 0; i < num_gpus; ++i) {
      record.devices.push_back(
          {"GPU-" + std::to_string(i), job::DeviceKind::kGpu, "H200", 0});
    }
    records_.push_back(std::move(record));
    Offer offer;
    offer.worker = &records_.back();
    offer.usable = offer.present = offer.connected = true;
    offers_.push_back(std::move(offer));
    return offers_.back();
  }
  fleet::WorkerRecord& record(size_t i) { return records_[i]; }

  // The returned spec may be changed.
  job::JobSpec& AddJob(int min, int max = 0,
                       job::DeviceKind kind = job::DeviceKind::kCpu) {
    job::JobSpec spec;
    spec.resources.replicas = {min, max == 0 ? min : max};
    spec.resources.device = kind;
    specs_.push_back(std::move(spec));
    const auto number = static_cast<uint64_t>(specs_.size());
    queue_.push_back({job::JobId(0, number), &specs_.back(), {}});
    return specs_.back();
  }
  QueuedJob& queued(size_t i) { return queue_[i]; }
  std::vector<QueuedJob>& queue() { return queue_; }
  std::vector<Offer>& offers() { return offers_; }

  Decision Plan(fleet::SteadyTime now = {}) const {
    return schedule::Plan(now, queue_, offers_);
  }

 private:
  std::deque<fleet::WorkerRecord> records_;
  std::deque<job::JobSpec> specs_;
  std::vector<Offer> offers_;
  std::vector<QueuedJob> queue_;
};

}  // namespace epochd::schedule
