// SPDX-License-Identifier: Apache-2.0
//
// Jobs and events to store. SampleJob grows a job event by event and cuts it
// into JobWrites as the controller does; a store does not care whether the
// states follow one another legally.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/job/event.h"
#include "server/job/job.h"
#include "server/store/job_store.h"

namespace epochd::store {

// Every field away from its default.
job::JobSpec FullSpec();
fleet::WorkerRecord FullWorker(const std::string& name);
// One body of each kind but JobSubmitted, every field set, with NaN, infinity
// and text that is not UTF-8.
std::vector<job::EventBody> OneOfEach();

class SampleJob {
 public:
  explicit SampleJob(int64_t submit_number, job::JobSpec spec = FullSpec());

  job::JobId id() const { return job_.id; }
  const job::Job& job() const { return job_; }
  // All so far.
  const std::vector<job::Event>& events() const { return events_; }

  // The first write: JobSubmitted, QUEUED.
  JobWrite Begin();
  // Events that leave the rest of the job as it is.
  JobWrite Append(const std::vector<job::EventBody>& bodies);
  JobWrite MoveTo(job::JobState state);
  // Ends it then.
  JobWrite Finish(job::JobState state, absl::Time time);
  // Sets every field of the job that is cached in its row.
  JobWrite Fill();

 private:
  job::Job job_;
  std::vector<job::Event> events_;
};

// Text that shows every field; equal values have equal texts.
std::string Describe(const job::JobSpec& spec);
std::string Describe(const job::Event& event);
std::string Describe(const job::Job& job);
std::string Describe(const std::vector<job::Event>& events);

}  // namespace epochd::store
