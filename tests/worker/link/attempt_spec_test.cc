// SPDX-License-Identifier: Apache-2.0
#include "worker/link/attempt_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace epochd::link {
namespace {

using ::testing::HasSubstr;

AttemptSpec Full() {
  AttemptSpec spec;
  spec.job = "7f3a";
  spec.job_name = "digits \"quoted\"";
  spec.attempt = 3;
  spec.world_size = 4;
  spec.local_world_size = 2;
  spec.ranks = {{.rank = 2, .local_rank = 0, .devices = {"cpu:0", "cpu:1"}},
                {.rank = 3, .local_rank = 1, .devices = {"cpu:2", "cpu:3"}}};
  spec.device = "cpu";
  spec.cpus = 2;
  spec.memory_bytes = int64_t{5} << 32;
  spec.rendezvous = "node-a:4711";
  spec.storage = "/shared";
  spec.resume = {"/shared/7f3a/attempt-2/best", "/shared/7f3a/attempt-1/last"};
  spec.checkpoints.every.steps = 100;
  spec.checkpoints.keep_last = 5;
  spec.self_fence_after = 96.5;
  spec.stop_grace = 12.25;
  spec.pin_cpus = true;
  spec.experiment_json = R"({"seed": 42, "lr": 1e-3})";
  spec.env = {{"A", "1"}, {"B", ""}};
  return spec;
}

TEST(AttemptSpec, SurvivesTheWayThroughJson) {
  const AttemptSpec spec = Full();
  const AttemptSpec again = FromJson(ToJson(spec));
  EXPECT_EQ(ToJson(again), ToJson(spec));
  EXPECT_EQ(again.experiment_json, spec.experiment_json);
  EXPECT_EQ(again.ranks.at(1).devices, spec.ranks.at(1).devices);
  EXPECT_EQ(again.memory_bytes, spec.memory_bytes);
  EXPECT_EQ(again.checkpoints.every.steps, 100);
  EXPECT_FALSE(again.checkpoints.every.epochs.has_value());
  EXPECT_TRUE(again.pin_cpus);
}

TEST(AttemptSpec, KeepsDefaultsOfMissingKeysAndIgnoresUnknownOnes) {
  const AttemptSpec spec =
      FromJson(R"({"job": "a", "command": ["true"], "later": 1})");
  EXPECT_EQ(spec.attempt, 1);
  EXPECT_EQ(spec.stop_grace, 30);
  EXPECT_EQ(spec.checkpoints.keep_last, 3);
}

TEST(AttemptSpec, NamesTheKeyThatIsWrong) {
  const struct {
    const char* json;
    const char* problem;
  } kRows[] = {
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {R"({"job": "a", "command": ["x"], "attempt": "one"})", "attempt:"},
      {R"({"command": ["x"]})", "job:"},
      {R"({"job": "a"})", "experiment, command"},
      {R"({"job": "a", "command": ["x"], "experiment": "{}"})", "exactly one"},
      {R"({"job": "a", "command": ["x"], "device": "tpu"})", "'tpu'"},
      {R"({"job": "a", "command": ["x"], "attempt": 0})", "attempt:"},
      {R"({"job": "a", "command": ["x"], "world_size": 0})", "world_size:"},
      {R"({"job": "a", "command": ["x"], "cpus": 0})", "cpus:"},
      {R"({"job": "a", "command": ["x"], "ranks": {}})", "ranks:"},
      {R"({"job": "a", "command": ["x"], "ranks": [{"rank": 1}]})",
       "rank '1' is not below world_size 1"},
      {R"({"job": "a", "command": ["x"], "env": {"A": 1}})", "env:"},
      {R"({"job": "a", "command": ["x"], "checkpoints": 3})", "checkpoints:"},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.json);
    try {
      FromJson(row.json);
      ADD_FAILURE() << "was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr(row.problem));
    }
  }
}

}  // namespace
}  // namespace epochd::link
