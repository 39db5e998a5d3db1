// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/catalogue/fixture.h"

namespace epochd::client {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kExperiment = R"(
experiment:
  model: {type: MLP, in_features: 64, out_features: 10}
  data: {train: {type: Digits, file: data/d.csv.gz}}
  trainer: {type: EpochTrainer, epochs: 3}
  loss: {type: CrossEntropy}
  optimizer: {type: AdamW}
)";

class JobFileTest : public testing::Test {
 protected:
  JobFile Parse(const std::string& text,
                const std::vector<std::string>& overrides = {}) {
    LoadOptions options;
    options.catalogue = &catalogue_;
    options.overrides = overrides;
    return ParseJobFile("job.yaml", text, folder_, options);
  }

  std::vector<std::string> Problems(
      const std::string& text, const std::vector<std::string>& overrides = {}) {
    return Parse(text, overrides).Describe();
  }

  std::string folder_ = "/folder";
  const catalogue::Catalogue catalogue_ = catalogue::Fixture();
};

TEST_F(JobFileTest, LoadsTheExamples) {
  const fs::path examples =
      fs::path(std::getenv("EPOCHD_TEST_SOURCE_DIR")) / "examples";
  LoadOptions options;
  options.catalogue = &catalogue_;
  for (const char* name : {"digits.yaml", "digits_gan.yaml"}) {
    const auto file = LoadJobFile((examples / name).string(), options);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_THAT(file->Describe(), IsEmpty());
    EXPECT_NE(file->spec.experiment_json().find(
                  (examples / "data/digits.csv.gz").lexically_normal()),
              std::string::npos);
  }
}

TEST_F(JobFileTest, FillsEveryFieldOfTheSpec) {
  const JobFile file = Parse(std::string(R"(
name: digits
project: vision
priority: 70
labels: {team: a}
resources:
  replicas: {min: 1, max: 4}
  device: gpu
  cpus: 2
  memory: 1.5GiB
  model: [H200, H100]
  nodes: {labels: {zone: a}}
  same_node: required
restart: {max: 2, reasons: [worker_lost, oom_host], backoff: 1s, worker_lost_after: 2m}
limits: {max_time: 1h, hang_after: 10m}
storage: out/put
checkpoints: {every: 100 steps, keep_last: 2, keep_best: 0}
env: {A: "1"}
)") + kExperiment);
  EXPECT_THAT(file.Describe(), IsEmpty());
  const v1::JobSpec& spec = file.spec;
  EXPECT_EQ(spec.display_name(), "digits");
  EXPECT_EQ(spec.project(), "vision");
  EXPECT_EQ(spec.priority(), 70);
  EXPECT_EQ(spec.labels().at("team"), "a");
  EXPECT_EQ(spec.resources().replicas().min(), 1);
  EXPECT_EQ(spec.resources().replicas().max(), 4);
  EXPECT_EQ(spec.resources().device(), v1::DEVICE_KIND_GPU);
  EXPECT_EQ(spec.resources().cpus(), 2);
  EXPECT_EQ(spec.resources().memory_bytes(), 1610612736);
  EXPECT_THAT(spec.resources().models(), ElementsAre("H200", "H100"));
  EXPECT_EQ(spec.resources().node_labels().at("zone"), "a");
  EXPECT_EQ(spec.resources().same_node(), v1::PLACEMENT_REQUIRED);
  EXPECT_EQ(spec.restart().max(), 2);
  EXPECT_THAT(
      spec.restart().reasons(),
      ElementsAre(v1::ATTEMPT_REASON_WORKER_LOST, v1::ATTEMPT_REASON_OOM_HOST));
  EXPECT_EQ(spec.restart().backoff().seconds(), 1);
  EXPECT_EQ(spec.restart().worker_lost_after().seconds(), 120);
  EXPECT_EQ(spec.limits().max_time().seconds(), 3600);
  EXPECT_EQ(spec.limits().hang_after().seconds(), 600);
  EXPECT_EQ(spec.storage(), "/folder/out/put");
  EXPECT_EQ(spec.checkpoints().every().steps(), 100);
  EXPECT_EQ(spec.checkpoints().keep_last(), 2);
  EXPECT_TRUE(spec.checkpoints().has_keep_best());
  EXPECT_EQ(spec.env().at("A"), "1");
  EXPECT_EQ(spec.experiment_json(),
            R"({"model":{"type":"MLP","in_features":64,"out_features":10},)"
            R"("data":{"train":{"type":"Digits","file":)"
            R"("/folder/data/d.csv.gz"}},)"
            R"("trainer":{"type":"EpochTrainer","epochs":3},)"
            R"("loss":{"type":"CrossEntropy"},)"
            R"("optimizer":{"type":"AdamW"}})");
}

TEST_F(JobFileTest, LeavesWhatIsNotGivenToTheServer) {
  const JobFile file = Parse(kExperiment);
  EXPECT_THAT(file.Describe(), IsEmpty());
  EXPECT_EQ(file.spec.display_name(), "job");
  EXPECT_EQ(file.spec.project(), "default");
  EXPECT_FALSE(file.spec.has_priority());
  EXPECT_FALSE(file.spec.has_restart());
  EXPECT_FALSE(file.spec.has_checkpoints());
  EXPECT_EQ(file.spec.resources().replicas().max(), 1);
}

TEST_F(JobFileTest, RefusesEachFaultAtItsPlace) {
  struct Case {
    std::string text;
    std::string line;
  };
  const std::vector<Case> cases = {
      {"nmae: x",
       "job.yaml:1:1: nmae: unknown key 'nmae', did you mean 'name'?"},
      {"name: Digits",
       "job.yaml:1:1: name: not a name \"Digits\", up to 63 of a-z, 0-9 and "
       "inner '-' are accepted"},
      {"name: 7",
       "job.yaml:1:1: name: expected text, got 7 (write it in quotes)"},
      {"project: ../up",
       "job.yaml:1:1: project: not a name \"../up\", up to 63 of a-z, 0-9 and "
       "inner '-' are accepted"},
      {"priority: 101",
       "job.yaml:1:1: priority: expected an integer from 0 to 100, got 101"},
      {"labels: {a: 1}",
       "job.yaml:1:10: labels.a: expected text, got 1 (write it in quotes)"},
      {"labels: [a]", "job.yaml:1:1: labels: expected a mapping, got [\"a\"]"},
      {"resources: 2", "job.yaml:1:1: resources: expected a mapping, got 2"},
      {"resources: {replicas: 0}",
       "job.yaml:1:13: resources.replicas: expected an integer from 1 to 1024, "
       "got 0"},
      {"resources: {replicas: 1000000000}",
       "job.yaml:1:13: resources.replicas: expected an integer from 1 to 1024, "
       "got 1000000000"},
      {"resources: {replicas: two}",
       "job.yaml:1:13: resources.replicas: expected an integer from 1 to 1024, "
       "got \"two\""},
      {"resources: {replicas: {min: 4, max: 2}}",
       "job.yaml:1:32: resources.replicas.max: expected at least min, which is "
       "4, got 2"},
      {"resources: {replicas: {mim: 4}}",
       "job.yaml:1:24: resources.replicas.mim: unknown key 'mim', did you mean "
       "'min'?"},
      {"resources: {device: tpu}",
       "job.yaml:1:13: resources.device: unknown value \"tpu\", known are cpu, "
       "gpu"},
      {"resources: {memory: 1G}",
       "job.yaml:1:13: resources.memory: expected a size such as 512MiB or "
       "2GiB, got \"1G\""},
      {"resources: {gpus: 2}",
       "job.yaml:1:13: resources.gpus: unknown key 'gpus', did you mean "
       "'cpus'?"},
      {"restart: {max: -1}",
       "job.yaml:1:11: restart.max: expected an integer from 0 to 1000, got "
       "-1"},
      {"restart: {reasons: [worker_lots]}",
       "job.yaml:1:21: restart.reasons[0]: unknown reason \"worker_lots\", did "
       "you mean 'worker_lost'?"},
      {"restart: {backoff: 5}",
       "job.yaml:1:11: restart.backoff: expected a duration such as 90s, 10m "
       "or 2h, got 5"},
      {"limits: {hang_after: 0s}",
       "job.yaml:1:10: limits.hang_after: expected a duration such as 10m or "
       "2h, or never, got \"0s\""},
      {"limits: {max_time: forever}",
       "job.yaml:1:10: limits.max_time: expected a duration such as 90s, 10m "
       "or 2h, got \"forever\""},
      {"checkpoints: {every: epoch}",
       "job.yaml:1:15: checkpoints.every: expected '1 epoch', '100 steps' or a "
       "duration such as 10m, got \"epoch\""},
      {"checkpoints: {every: 1}",
       "job.yaml:1:15: checkpoints.every: expected '1 epoch', '100 steps' or a "
       "duration such as 10m, got 1"},
      {"checkpoints: {keep_last: 0}",
       "job.yaml:1:15: checkpoints.keep_last: expected an integer from 1 to "
       "1000, got 0"},
      {"command: [a]",
       "job.yaml:1:1: command: given beside 'experiment'; a job has one of "
       "them"},
      {"env: {A=B: x}",
       "job.yaml:1:7: env[\"A=B\"]: not the name of a variable"},
      {"files: [../secret]",
       "job.yaml:1:9: files[0]: expected a path below the job file's folder, "
       "without '..', got \"../secret\""},
      {"files: [/etc/passwd]",
       "job.yaml:1:9: files[0]: expected a path below the job file's folder, "
       "without '..', got \"/etc/passwd\""},
      {"files: [nothing.py]",
       "job.yaml:1:9: files[0]: no such file '/folder/nothing.py'"},
      {"files: x", "job.yaml:1:1: files: expected a list, got \"x\""},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(Problems(c.text + kExperiment), ElementsAre(c.line)) << c.text;
  }
}

TEST_F(JobFileTest, RefusesFilesWithNothingToRun) {
  EXPECT_THAT(Problems("name: x\n"),
              ElementsAre("job.yaml:1:1: missing 'experiment' (or 'command'), "
                          "nothing to run"));
  EXPECT_THAT(Problems(""), ElementsAre("job.yaml:1:1: expected a mapping, "
                                        "got null"));
  EXPECT_THAT(Problems("command: []\n"),
              ElementsAre("job.yaml:1:1: command: empty, names the program and "
                          "its arguments"));
  EXPECT_THAT(Problems("command: [python, 1]\n"),
              ElementsAre("job.yaml:1:19: command[1]: expected text, got 1 "
                          "(write it in quotes)"));
}

TEST_F(JobFileTest, ReportsEveryProblemAtOnceInTheOrderOfTheFile) {
  EXPECT_THAT(
      Problems(R"(nmae: x
resources: {replicas: 2, device: gpuu}
experiment:
  model: {type: MLP, in_features: 64, hiden: [3], out_features: 10}
  data: {train: {type: Digits, file: d, batch_size: 0}}
  runner: {type: GanTrainingRunner, d_loss: {type: RaGanDiscriminatorLoss}, g_loss: {type: RaGanGeneratorLoss}}
  trainer: {type: EpochTrainer, epochs: 3}
)"),
      ElementsAre("job.yaml:1:1: nmae: unknown key 'nmae', did you mean "
                  "'name'?",
                  "job.yaml:2:13: resources.replicas: GanTrainingRunner "
                  "(experiment.runner) runs on at most 1 replica, got 2",
                  "job.yaml:2:26: resources.device: unknown value \"gpuu\", "
                  "known are cpu, gpu",
                  "job.yaml:4:39: experiment.model.hiden: MLP has no parameter "
                  "'hiden', did you mean 'hidden'?",
                  "job.yaml:5:41: experiment.data.train.batch_size: expected "
                  "at least 1, got 0"));
}

TEST_F(JobFileTest, PointsAtTheOriginalOfASubstitutedValue) {
  EXPECT_THAT(
      Problems(R"(experiment:
  model: {type: MLP, in_features: 64, out_features: 10}
  data:
    train: {type: Digits, file: d, transforms: [{type: Normalize, sdt: 2}]}
    val: {type: Digits, file: d, transforms: "${data.train.transforms}"}
  trainer: {type: EpochTrainer, epochs: 3}
  loss: {type: CrossEntropy}
  optimizer: {type: AdamW}
)"),
      ElementsAre("job.yaml:4:67: experiment.data.train.transforms[0].sdt: "
                  "Normalize has no parameter 'sdt', did you mean 'std'?",
                  "job.yaml:4:67: experiment.data.val.transforms[0].sdt: "
                  "Normalize has no parameter 'sdt', did you mean 'std'?"));
}

TEST_F(JobFileTest, AppliesOverrides) {
  const JobFile file =
      Parse(kExperiment, {"resources.replicas=2", "trainer.epochs=1",
                          "experiment.model.hidden=[8, 4]", "name=other"});
  EXPECT_THAT(file.Describe(), IsEmpty());
  EXPECT_EQ(file.spec.resources().replicas().max(), 2);
  EXPECT_EQ(file.spec.display_name(), "other");
  EXPECT_NE(file.spec.experiment_json().find("\"hidden\":[8,4]"),
            std::string::npos);
  EXPECT_NE(file.spec.experiment_json().find("\"epochs\":1"),
            std::string::npos);
}

TEST_F(JobFileTest, RefusesWrongOverridesNamingThem) {
  EXPECT_THAT(
      Problems(kExperiment, {"epochs", "trainer.epochs=[", "trainer.epochs=0",
                             "experiment.model.type.x=1"}),
      ElementsAre("job.yaml: --set epochs: expected FIELD=VALUE",
                  "job.yaml: --set trainer.epochs=[: a list is no key",
                  "job.yaml: --set experiment.model.type.x=1: there is no 'x' "
                  "in experiment.model.type",
                  "--set: experiment.trainer.epochs: expected at least 1, got "
                  "0"));
}

TEST_F(JobFileTest, TakesACheckpointsFolderFromTheJobFilesFolder) {
  const std::string load = "  load_from: ";
  EXPECT_NE(Parse(kExperiment + load + "old/best\n")
                .spec.experiment_json()
                .find("\"load_from\":\"/folder/old/best\""),
            std::string::npos);
  EXPECT_NE(Parse(std::string(kExperiment) + "  resume: old/last\n")
                .spec.experiment_json()
                .find("\"resume\":\"/folder/old/last\""),
            std::string::npos);
  EXPECT_NE(Parse(std::string(kExperiment) + "  resume: never\n")
                .spec.experiment_json()
                .find("\"resume\":\"never\""),
            std::string::npos);
  EXPECT_NE(Parse(kExperiment + load + "job/a1/best\n")
                .spec.experiment_json()
                .find("\"load_from\":\"job/a1/best\""),
            std::string::npos);
  EXPECT_NE(Parse(kExperiment + load + "jobs/a1/last\n")
                .spec.experiment_json()
                .find("\"load_from\":\"jobs/a1/last\""),
            std::string::npos);
  EXPECT_NE(Parse(kExperiment + load + "jobs/last\n")
                .spec.experiment_json()
                .find("\"load_from\":\"/folder/jobs/last\""),
            std::string::npos)
      << "a folder that is called so";
}

TEST_F(JobFileTest, CarriesFilesByContent) {
  std::string folder = testing::TempDir() + "job_file_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  folder_ = folder;
  std::ofstream(folder + "/train.py") << "print(1)\n";
  fs::permissions(folder + "/train.py", fs::perms::owner_all);
  const JobFile file =
      Parse("command: [python, train.py]\nfiles: [./train.py]\n");
  EXPECT_THAT(file.Describe(), IsEmpty());
  ASSERT_EQ(file.spec.files_size(), 1);
  EXPECT_EQ(file.spec.files(0).path(), "train.py");
  EXPECT_EQ(file.spec.files(0).size_bytes(), 9);
  EXPECT_TRUE(file.spec.files(0).executable());
  EXPECT_EQ(file.spec.files(0).sha256(),
            "cc42155088fca5730758db72b2a5bca33112a941dfaa2d43098ec422ce4ea213");
  ASSERT_EQ(file.files.size(), 1u);
  EXPECT_EQ(file.files[0].content, "print(1)\n");
  EXPECT_THAT(Problems("command: [a]\nfiles: [train.py, ./train.py]\n"),
              ElementsAre("job.yaml:2:19: files[1]: given twice "
                          "\"./train.py\""));
  LoadOptions options;
  options.max_files_bytes = 4;
  EXPECT_THAT(
      ParseJobFile("j", "command: [a]\nfiles: [train.py]\n", folder, options)
          .Describe(),
      ElementsAre("j:2:9: files[0]: too large, all files together may "
                  "have 4 bytes"));
  fs::remove_all(folder);
}

TEST_F(JobFileTest, PutsFindingsOfAServerAtTheirLine) {
  JobFile file = Parse(kExperiment);
  file.Report("experiment.trainer.epochs", "too many for this server");
  file.Report("experiment.hooks[3].x", "no\x1b[31m");
  EXPECT_THAT(file.Describe(),
              ElementsAre("job.yaml:2:1: experiment.hooks[3].x: no\\x1b[31m",
                          "job.yaml:5:33: experiment.trainer.epochs: too many "
                          "for this server"));
}

TEST_F(JobFileTest, TellsWhyAFileCannotBeRead) {
  const auto file = LoadJobFile("/nowhere/job.yaml", {});
  EXPECT_EQ(file.status().code(), absl::StatusCode::kNotFound);
  const auto folder = LoadJobFile("/", {});
  EXPECT_EQ(folder.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(folder.status().message(),
            "/: is a folder, a job file is accepted");
}

}  // namespace
}  // namespace epochd::client
