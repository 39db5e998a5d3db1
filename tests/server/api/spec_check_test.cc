// SPDX-License-Identifier: Apache-2.0
#include "server/api/spec_check.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/api/convert_job.h"
#include "tests/server/api/good_spec.h"

namespace epochd::api {
namespace {

constexpr int64_t kMaxFileBytes = 1000;

job::JobSpec Checked(const v1::JobSpec& spec,
                     const KnownCatalogue* known = nullptr) {
  CheckedSpec checked = CheckSpec(spec, known, kMaxFileBytes);
  for (const auto& violation : checked.violations) {
    ADD_FAILURE() << violation.field << ": " << violation.description;
  }
  return checked.spec;
}

TEST(SpecCheckTest, FillsInTheDefaults) {
  v1::JobSpec in;
  in.set_experiment_json(R"({"model": {"type": "X"}})");
  const job::JobSpec spec = Checked(in);
  EXPECT_EQ(spec.display_name, "job");
  EXPECT_EQ(spec.project, "default");
  EXPECT_EQ(spec.priority, 50);
  EXPECT_EQ(spec.resources.replicas, (job::Replicas{1, 1}));
  EXPECT_EQ(spec.resources.device, job::DeviceKind::kCpu);
  EXPECT_EQ(spec.resources.cpus, 1);
  EXPECT_EQ(spec.restart.max, 3);
  EXPECT_EQ(spec.restart.backoff, absl::Seconds(1));
  EXPECT_EQ(spec.restart.worker_lost_after, absl::Minutes(2));
  EXPECT_EQ(spec.max_time, absl::InfiniteDuration());
  EXPECT_EQ(spec.hang_after, absl::Minutes(30));
  EXPECT_EQ(spec.checkpoints.every, job::CheckpointInterval{.epochs = 1});
  EXPECT_EQ(spec.checkpoints.keep_last, 3);
  EXPECT_EQ(spec.checkpoints.keep_best, 1);
}

TEST(SpecCheckTest, ACommandMayBeSilentUnlessItsJobSaysOtherwise) {
  v1::JobSpec spec = MakeSpec(R"({"command": {"argv": ["train"]}})");
  EXPECT_EQ(Checked(spec).hang_after, absl::ZeroDuration());
  EXPECT_EQ(Checked(spec).checkpoints.every, job::CheckpointInterval());
  spec.mutable_limits()->mutable_hang_after()->set_seconds(60);
  EXPECT_EQ(Checked(spec).hang_after, absl::Minutes(1));
}

TEST(SpecCheckTest, ZeroMeansZeroWhereItIsSaid) {
  const job::JobSpec spec = Checked(MakeSpec(
      R"({"priority": 0, "restart": {"max": 0, "backoff": "0s"},
          "limits": {"hang_after": "0s"}, "checkpoints": {"keep_best": 0}})"));
  EXPECT_EQ(spec.priority, 0);
  EXPECT_EQ(spec.restart.max, 0);
  EXPECT_EQ(spec.restart.backoff, absl::ZeroDuration());
  EXPECT_EQ(spec.hang_after, absl::ZeroDuration());
  EXPECT_EQ(spec.checkpoints.keep_best, 0);
}

// Whatever is said survives the way in and out again.
TEST(SpecCheckTest, EveryFieldSurvives) {
  const std::string hash(64, 'a');
  const std::vector<std::string> changes = {
      R"({"display_name": "full", "project": "vision", "priority": 7,
          "labels": {"team": "a", "empty": ""},
          "resources": {"replicas": {"min": 1, "max": 4},
            "device": "DEVICE_KIND_GPU", "cpus": 3, "memory_bytes": "1024",
            "models": ["H200"], "node_labels": {"zone": "a"},
            "same_node": "PLACEMENT_REQUIRED"},
          "restart": {"max": 5, "reasons": ["ATTEMPT_REASON_HANG"],
            "backoff": "2.5s", "worker_lost_after": "60s"},
          "limits": {"max_time": "3600s", "hang_after": "90s"}, "storage": "/shared/epochd",
          "checkpoints": {"every": {"steps": "10"}, "keep_last": 2,
            "keep_best": 2},
          "files": [{"path": "a/b.csv", "sha256": ")" +
          hash + R"(", "size_bytes": "12", "executable": true}],
          "env": {"A": "1"}})",
      R"({"checkpoints": {"every": {"epochs": "2"}},
          "command": {"argv": ["python", "train.py", ""]},
          "resources": {"replicas": {"min": 2, "max": 2},
            "device": "DEVICE_KIND_CPU", "cpus": 1},
          "project": "default", "priority": 50, "limits": {"hang_after": "0s"},
          "restart": {"max": 3, "backoff": "1s", "worker_lost_after": "120s"}})",
  };
  for (const std::string& change : changes) {
    v1::JobSpec in = MakeSpec(change);
    in.mutable_checkpoints()->set_keep_last(2);
    in.mutable_checkpoints()->set_keep_best(1);
    const v1::JobSpec out = ToProto(Checked(in));
    std::string difference;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&difference);
    EXPECT_TRUE(differencer.Compare(in, out)) << difference;
  }
}

TEST(SpecCheckTest, WithACatalogueTheComponentsAreKnown) {
  Catalogues catalogues;
  const auto known = catalogues.Report("fixture", FixtureCatalogue());
  ASSERT_TRUE(known.ok()) << known.status();
  const job::JobSpec spec = Checked(MakeSpec(), known->get());
  EXPECT_NE(std::find(spec.required_components.begin(),
                      spec.required_components.end(), "model/MLP"),
            spec.required_components.end());
  for (const std::string& component : spec.required_components) {
    EXPECT_EQ((*known)->components.count(component), 1u) << component;
  }
}

TEST(SpecCheckTest, WithoutACatalogueOnlyTheFormIsChecked) {
  const job::JobSpec spec =
      Checked(MakeSpec(R"({"experiment": {"model": {"type": "Whatever"}}})"));
  EXPECT_TRUE(spec.required_components.empty());
}

TEST(SpecCheckTest, ExperimentTravelsAsItWasSent) {
  v1::JobSpec in;
  in.set_experiment_json("{ \"z\": 1,\n \"a\": 1.0 }");
  EXPECT_EQ(Checked(in).experiment_json, in.experiment_json());
}

}  // namespace
}  // namespace epochd::api
