// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/spec_writer.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/job_file/job_file.h"
#include "tests/catalogue/fixture.h"

namespace epochd::client {
namespace {

using ::testing::IsEmpty;

constexpr const char* kExperiment = R"(
experiment:
  model: {_target: zoo.MLP, params: {in_features: 64, out_features: 10}}
  data: {train: {type: Digits, file: d}}
  criterion: {_target_: CrossEntropyLoss}
  optimizer: {type: AdamW, learning_rate: "${system.rate}"}
  trainer: {type: EpochTrainer, epochs: 3}
  system: {rate: 0.5}
)";

class SpecWriterTest : public testing::Test {
 protected:
  v1::JobSpec Load(const std::string& text) {
    LoadOptions options;
    options.catalogue = &catalogue_;
    const JobFile file = ParseJobFile("job.yaml", text, "/folder", options);
    EXPECT_THAT(file.Describe(), IsEmpty()) << text;
    return file.spec;
  }

  const catalogue::Catalogue catalogue_ = catalogue::Fixture();
};

TEST_F(SpecWriterTest, WritesWhatReadsBackAsTheSameSpec) {
  for (const std::string& head : std::vector<std::string>{
           "",
           "name: x\nproject: p\npriority: 0\nlabels: {b: '1', a: '2'}",
           "resources: {replicas: {min: 1, max: 4}, device: gpu, cpus: 3}",
           "resources: {memory: 1536MiB, model: H200}",
           "resources: {memory: 7B, model: [H200, H100], same_node: required, "
           "nodes: {labels: {zone: a}}}",
           "resources: {same_node: preferred}",
           "restart: {max: 0, reasons: [hang, training_failed], backoff: "
           "1500ms, worker_lost_after: 90m}",
           "limits: {max_time: 2h}",
           "limits: {max_time: 1.5s}",
           "limits: {hang_after: never}",
           "limits: {hang_after: 45m, max_time: 3h}",
           "storage: /s",
           "checkpoints: {every: 1 epoch, keep_last: 2, keep_best: 0}",
           "checkpoints: {every: 5 epochs}",
           "checkpoints: {every: 1 step}",
           "checkpoints: {every: 100 steps}",
           "checkpoints: {every: 36h}",
           "env: {B: '1', A: ''}",
       }) {
    const v1::JobSpec spec = Load(head + kExperiment);
    const Json written = ToJobFile(spec, nullptr);
    const v1::JobSpec again = Load(written.dump());
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(spec, again))
        << head << "\n"
        << spec.DebugString() << again.DebugString();
  }
}

TEST_F(SpecWriterTest, WritesCommands) {
  const v1::JobSpec spec = Load("command: [a, '--x', '1']\nname: c\n");
  EXPECT_EQ(ToJobFile(spec, nullptr).dump(),
            R"({"name":"c","project":"default","resources":{"replicas":1,)"
            R"("device":"cpu"},"command":["a","--x","1"]})");
}

TEST_F(SpecWriterTest, ResolvesTheExperimentWhereACatalogueIsGiven) {
  const Json written = ToJobFile(Load(kExperiment), &catalogue_);
  EXPECT_EQ(written["experiment"]["model"].dump(),
            R"({"type":"MLP","in_features":64,"hidden":[],"out_features":10})");
  EXPECT_EQ(written["experiment"]["optimizer"].dump(),
            R"({"type":"AdamW","lr":0.5,"weight_decay":0.01,)"
            R"("betas":[0.9,0.999]})");
  EXPECT_EQ(written["experiment"]["data"]["train"]["file"], "/folder/d");
}

TEST_F(SpecWriterTest, WritesWhatResolvesToItself) {
  const Json once = ToJobFile(Load(kExperiment), &catalogue_);
  const Json twice = ToJobFile(Load(once.dump()), &catalogue_);
  EXPECT_EQ(once.dump(2), twice.dump(2));
}

}  // namespace
}  // namespace epochd::client
