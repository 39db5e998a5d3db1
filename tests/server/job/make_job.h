// SPDX-License-Identifier: Apache-2.0
//
// Jobs for tests, made the only way there is: by applying events.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "server/job/job.h"

namespace epochd::job {

inline std::shared_ptr<const JobSpec> MakeSpec(int replicas = 1) {
  auto spec = std::make_shared<JobSpec>();
  spec->display_name = "test";
  spec->experiment_json = "{}";
  spec->resources.replicas = {replicas, replicas};
  return spec;
}

inline std::vector<RankPlacement> Placement(int num_ranks = 1) {
  std::vector<RankPlacement> ranks;
  for (int i = 0; i < num_ranks; ++i) {
    RankPlacement rank;
    rank.rank = i;
    rank.worker = WorkerId("w" + std::to_string(i));
    rank.devices = {"cpu:" + std::to_string(i)};
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

// Applies the next event of `job`.
inline absl::Status Add(Job& job, int attempt, EventBody body) {
  const int64_t sequence = job.last_sequence + 1;
  return Apply(job, {sequence, absl::FromUnixSeconds(1000 + sequence),
                     AttemptNumber(attempt), std::move(body)});
}

inline Job Submitted(std::shared_ptr<const JobSpec> spec = MakeSpec()) {
  Job job;
  job.id = JobId(1, 2);
  EXPECT_TRUE(Add(job, 0, JobSubmitted{std::move(spec), 1}).ok());
  return job;
}

inline AttemptStateChanged To(
    AttemptState state, AttemptReason reason = AttemptReason::kUnspecified) {
  AttemptStateChanged body;
  body.state = state;
  body.reason = reason;
  return body;
}

inline Job Assigned(std::shared_ptr<const JobSpec> spec = MakeSpec()) {
  Job job = Submitted(std::move(spec));
  AttemptStateChanged body = To(AttemptState::kAssigned);
  body.ranks = Placement();
  EXPECT_TRUE(Add(job, 1, body).ok());
  EXPECT_TRUE(
      Add(job, 0,
          JobStateChanged{JobState::kStarting, JobReason::kAssigned, ""})
          .ok());
  return job;
}

inline Job Running(std::shared_ptr<const JobSpec> spec = MakeSpec()) {
  Job job = Assigned(std::move(spec));
  EXPECT_TRUE(Add(job, 1, To(AttemptState::kRunning)).ok());
  EXPECT_TRUE(
      Add(job, 0, JobStateChanged{JobState::kRunning, JobReason::kTraining, ""})
          .ok());
  return job;
}

}  // namespace epochd::job
