// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "client/job_file/job_file.h"
#include "tests/catalogue/fixture.h"

namespace epochd::client {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kBase = R"(name: base
labels: {team: a, tier: low}
resources: {replicas: 2, cpus: 2}
experiment:
  seed: 1
  model: {type: MLP, in_features: 64, hidden: [32, 16], out_features: 10}
  data: {train: {type: Digits, file: d.csv}}
  loss: {type: CrossEntropy}
  optimizer: {type: AdamW, lr: 0.1, weight_decay: 0.5}
  trainer: {type: EpochTrainer, epochs: 3}
)";

class DefaultsTest : public testing::Test {
 protected:
  DefaultsTest() : folder_(testing::TempDir() + "defaults_XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    fs::create_directories(folder_ + "/shared");
    Write("base.yaml", kBase);
  }
  ~DefaultsTest() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

  JobFile Load(const std::string& text,
               const std::vector<std::string>& overrides = {}) {
    LoadOptions options;
    options.catalogue = &catalogue_;
    options.overrides = overrides;
    return ParseJobFile("job.yaml", text, folder_, options);
  }

  // The experiment of a file that has no problems.
  Json Experiment(const std::string& text,
                  const std::vector<std::string>& overrides = {}) {
    const JobFile file = Load(text, overrides);
    EXPECT_THAT(file.Describe(), IsEmpty());
    return Json::parse(file.spec.experiment_json());
  }

  std::string folder_;
  const catalogue::Catalogue catalogue_ = catalogue::Fixture();
};

TEST_F(DefaultsTest, MergeMappingsAndReplaceListsAndValues) {
  const JobFile file = Load(R"(defaults: [base.yaml]
labels: {team: b}
resources: {replicas: 1}
experiment:
  model: {hidden: [8]}
  optimizer: {lr: 0.2}
)");
  EXPECT_THAT(file.Describe(), IsEmpty());
  EXPECT_EQ(file.spec.display_name(), "base");
  EXPECT_EQ(file.spec.labels().at("team"), "b");
  EXPECT_EQ(file.spec.labels().at("tier"), "low");
  EXPECT_EQ(file.spec.resources().replicas().max(), 1);
  EXPECT_EQ(file.spec.resources().cpus(), 2);
  const Json experiment = Json::parse(file.spec.experiment_json());
  EXPECT_EQ(experiment["model"]["hidden"], Json::parse("[8]"));
  EXPECT_EQ(experiment["model"]["in_features"], 64);
  EXPECT_EQ(
      experiment["optimizer"],
      Json::parse(R"({"type": "AdamW", "lr": 0.2, "weight_decay": 0.5})"));
}

TEST_F(DefaultsTest, TakeAwayWhatIsNull) {
  const JobFile file = Load(R"(defaults: base.yaml
labels: null
experiment: {seed: null, optimizer: {weight_decay: null}}
)");
  EXPECT_THAT(file.Describe(), IsEmpty());
  EXPECT_TRUE(file.spec.labels().empty());
  const Json experiment = Json::parse(file.spec.experiment_json());
  EXPECT_FALSE(experiment.contains("seed"));
  EXPECT_EQ(experiment["optimizer"],
            Json::parse(R"({"type": "AdamW", "lr": 0.1})"));
}

TEST_F(DefaultsTest, ReplaceAComponentByAnotherAsAWhole) {
  EXPECT_EQ(Experiment(R"(defaults: [base.yaml]
experiment: {optimizer: {type: SGD, lr: 1}}
)")["optimizer"],
            Json::parse(R"({"type": "SGD", "lr": 1})"));
  // The same one is merged.
  EXPECT_EQ(Experiment(R"(defaults: [base.yaml]
experiment: {optimizer: {type: AdamW, lr: 1}}
)")["optimizer"],
            Json::parse(R"({"type": "AdamW", "lr": 1, "weight_decay": 0.5})"));
  EXPECT_EQ(Experiment(R"(defaults: [base.yaml]
experiment: {optimizer: {_target: AdamW, params: {lr: 1}}}
)")["optimizer"],
            Json::parse(R"({"_target": "AdamW", "params": {"lr": 1}})"));
}

TEST_F(DefaultsTest, ApplyInOrderEachAfterItsOwn) {
  Write("first.yaml", "defaults: [base.yaml]\nexperiment: {seed: 2}\n");
  Write("second.yaml", "name: second\n");
  EXPECT_EQ(Experiment("defaults: [first.yaml, second.yaml]\n")["seed"], 2);
  EXPECT_EQ(Load("defaults: [first.yaml, second.yaml]\n").spec.display_name(),
            "second");
  // A file that comes twice is read twice; that is no circle.
  EXPECT_EQ(Experiment("defaults: [first.yaml, base.yaml]\n")["seed"], 1);
}

TEST_F(DefaultsTest, TakePathsFromTheFolderOfTheFileThatNamesThem) {
  Write("shared/more.yaml", std::string("defaults: [../base.yaml]\n") +
                                "experiment: {data: {val: {type: Digits, "
                                "file: v.csv}}}\n");
  const Json experiment = Experiment("defaults: [shared/more.yaml]\n");
  EXPECT_EQ(experiment["data"]["train"]["file"], folder_ + "/d.csv");
  EXPECT_EQ(experiment["data"]["val"]["file"], folder_ + "/shared/v.csv");
  EXPECT_EQ(Experiment("defaults: [shared/more.yaml]\n",
                       {"data.val.file=set.csv"})["data"]["val"]["file"],
            folder_ + "/set.csv");
}

TEST_F(DefaultsTest, MayBeJson) {
  Write("base.json", R"({"experiment": {"seed": 9}})");
  EXPECT_EQ(Experiment("defaults: [base.yaml, base.json]\n")["seed"], 9);
}

TEST_F(DefaultsTest, AreOverriddenAfterTheyAreLaidTogether) {
  const Json experiment =
      Experiment("defaults: [base.yaml]\n",
                 {"model.hidden.1=4", "model.hidden.2=2", "seed=null"});
  EXPECT_EQ(experiment["model"]["hidden"], Json::parse("[32, 4, 2]"));
  EXPECT_FALSE(experiment.contains("seed"));
}

TEST_F(DefaultsTest, AreSubstitutedAfterTheyAreLaidTogether) {
  Write("sub.yaml",
        "defaults: [base.yaml]\n"
        "experiment:\n"
        "  system: {rate: 0.25}\n"
        "  optimizer: {lr: \"${system.rate}\"}\n");
  EXPECT_EQ(
      Experiment("defaults: [sub.yaml]\n"
                 "experiment: {system: {rate: 0.75}}\n")["optimizer"]["lr"],
      0.75);
}

TEST_F(DefaultsTest, ReportEachFaultInItsFile) {
  const std::string bad = Write("bad.yaml",
                                "defaults: [base.yaml]\n"
                                "labels: {n: 3}\n"
                                "experiment:\n"
                                "  model: {hiden: [1]}\n"
                                "  optimizer: {lr: -1}\n");
  EXPECT_THAT(
      Load("defaults: [bad.yaml]\n"
           "experiment:\n"
           "  trainer: {epochs: 0}\n",
           {"seed=-3"})
          .Describe(),
      ElementsAre(
          "--set: experiment.seed: expected at least 0, got -3",
          "job.yaml:3:13: experiment.trainer.epochs: expected at least 1, got "
          "0",
          bad + ":2:10: labels.n: expected text, got 3 (write it in quotes)",
          bad + ":4:11: experiment.model.hiden: MLP has no parameter 'hiden', "
                "did you mean 'hidden'?",
          bad + ":5:15: experiment.optimizer.lr: expected more than 0, got "
                "-1"));
}

TEST_F(DefaultsTest, PointAtTheOverlayWhereItChangedAValue) {
  EXPECT_THAT(Load("defaults: [base.yaml]\nexperiment:\n  optimizer: {lr: 0}\n")
                  .Describe(),
              ElementsAre("job.yaml:3:15: experiment.optimizer.lr: expected "
                          "more than 0, got 0"));
}

TEST_F(DefaultsTest, RefuseFilesThatCannotBeUsed) {
  Write("loop.yaml", "defaults: [other.yaml]\n");
  Write("other.yaml", "defaults: [loop.yaml]\n");
  const std::string list = Write("list.yaml", "- a\n");
  const std::string broken = Write("broken.yaml", "a: [1\nb: 2\n");
  struct Case {
    std::string defaults;
    std::string line;
  };
  for (const Case& c : {
           Case{"[nothing.yaml]", "job.yaml:1:12: defaults[0]: "},
           Case{"[loop.yaml]",
                "leads back to itself: '" + folder_ + "/loop.yaml'"},
           Case{"['']",
                "job.yaml:1:12: defaults[0]: expected the path of a "
                "file, got \"\""},
           Case{"[list.yaml]", list + ":1:1: expected a mapping, got [\"a\"]"},
           Case{"[broken.yaml]", broken + ":"},
       }) {
    const std::vector<std::string> lines =
        Load("defaults: " + c.defaults + "\n").Describe();
    // Nothing is said of what the missing file would have had.
    ASSERT_THAT(lines, SizeIs(1)) << c.defaults;
    EXPECT_THAT(lines.front(), HasSubstr(c.line));
  }
  EXPECT_THAT(Load("defaults: 3\n").Describe().front(),
              HasSubstr("defaults: expected a list, got 3"));
  EXPECT_THAT(Load("defaults: [3]\n").Describe().front(),
              HasSubstr("defaults[0]: expected text, got 3"));
}

TEST_F(DefaultsTest, BoundHowManyFilesThereAre) {
  std::string list = "defaults: [base.yaml";
  for (size_t i = 0; i < kMaxDefaultsFiles; ++i) list += ", base.yaml";
  EXPECT_THAT(Load(list + "]\n").Describe(),
              ElementsAre(HasSubstr("more than 32 files of defaults")));
}

TEST_F(DefaultsTest, BoundWhatTheyAddUpTo) {
  for (const char* name : {"one", "two"}) {
    std::string text = "experiment:\n  system:\n";
    for (int i = 0; i < 6000; ++i) {
      text += std::string("    ") + name + std::to_string(i) + ": 1\n";
    }
    Write(std::string(name) + ".yaml", text);
  }
  EXPECT_THAT(Load("defaults: [one.yaml, two.yaml]\n").Describe(),
              ElementsAre(HasSubstr("with its defaults more than 10000 "
                                    "values")));
}

}  // namespace
}  // namespace epochd::client
