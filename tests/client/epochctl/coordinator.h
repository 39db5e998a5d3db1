// SPDX-License-Identifier: Apache-2.0
//
// Command lines against a coordinator of one running job in this process.
#pragma once

#include <string>

#include "tests/client/api/fake_server.h"
#include "tests/client/epochctl/harness.h"

namespace epochd::epochctl {

class CoordinatorTest : public CommandTest {
 protected:
  CoordinatorTest() {
    environment_["EPOCHD_SERVER"] = server_.address;
    environment_["EPOCHD_TOKEN_FILE"] =
        folder_.Write("token", std::string(64, 'a') + "\n");
    v1::Job& job = server_.jobs.job;
    job.set_name("jobs/a1");
    job.set_state(v1::JOB_STATE_RUNNING);
    job.set_reason(v1::JOB_REASON_TRAINING);
    job.mutable_spec()->set_display_name("digits");
    job.mutable_spec()->mutable_resources()->mutable_replicas()->set_max(2);
    job.mutable_create_time()->set_seconds(1000000 - 192);
    job.mutable_progress()->set_epoch(12);
    job.mutable_progress()->set_total_epochs(30);
    job.mutable_best()->set_name("val/accuracy");
    job.mutable_best()->set_value(0.975);
    job.mutable_best()->set_epoch(11);
  }

  void EndsWith(v1::JobState state) {
    server_.jobs.rounds = {
        {{client::Ended(1, state)},
         {client::Chunk(1, 0, "last line\n"), client::LastChunk(state)},
         {}}};
    server_.jobs.job.set_state(state);
  }

  client::FakeServer server_;
};

}  // namespace epochd::epochctl
