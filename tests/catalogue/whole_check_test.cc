// SPDX-License-Identifier: Apache-2.0
//
// What a valid part may lack beside the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "tests/catalogue/fixture.h"

namespace epochd::catalogue {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Json Good() {
  return Json::parse(R"({
    "model": {"type": "MLP", "in_features": 64, "out_features": 10},
    "data": {"train": {"type": "Digits", "file": "d"},
             "val": {"type": "Digits", "file": "d"}},
    "loss": {"type": "CrossEntropy"},
    "metrics": [{"type": "Accuracy"}],
    "optimizer": {"type": "AdamW"},
    "trainer": {"type": "EpochTrainer", "epochs": 3}})");
}

// Of the good experiment after a JSON merge patch.
std::vector<std::string> Lines(const std::string& patch,
                               const Catalogue& catalogue = Fixture()) {
  Json experiment = Good();
  experiment.merge_patch(Json::parse(patch));
  std::vector<std::string> lines;
  for (const Violation& violation :
       Validate(catalogue, experiment).violations) {
    lines.push_back(violation.field + ": " + violation.description);
  }
  return lines;
}

TEST(Needs, AreMissedWithTheFieldAndWhoNeedsIt) {
  EXPECT_THAT(Lines("{}"), IsEmpty());
  EXPECT_THAT(
      Lines(R"({"loss": null, "optimizer": null, "data": {"train": null}})"),
      ElementsAre("experiment.data.train: missing, TrainingRunner needs it "
                  "(experiment.runner)",
                  "experiment.loss: missing, TrainingRunner needs it "
                  "(experiment.runner)",
                  "experiment.optimizer: missing, TrainingRunner needs it "
                  "(experiment.runner)"));
}

TEST(Needs, AreMetByAnAliasAnAlternativeOrTheComponentItself) {
  EXPECT_THAT(Lines(R"({"loss": null, "criterion": {"type": "CrossEntropy"}})"),
              IsEmpty());
  EXPECT_THAT(Lines(R"({"loss": null, "ce": {"type": "CrossEntropy"},
                        "trainer": {"training_criterion": "${ref:ce}"}})"),
              IsEmpty());
  EXPECT_THAT(Lines(R"({"loss": null, "trainer": null, "loop": {
                          "_target": "EpochTrainer",
                          "params": {"epochs": 1, "training_criterion":
                                     {"type": "CrossEntropy"}}},
                        "trainer": "${ref:loop}"})"),
              IsEmpty());
  EXPECT_THAT(Lines(R"({"optimizer": null, "training_runner": {
                          "type": "TrainingRunner",
                          "optimizer": {"type": "SGD", "lr": 1}}})"),
              IsEmpty());
}

TEST(Needs, OfALossAreMetByAModelThatGivesItsOwn) {
  for (const char* score : {"train/loss", "*"}) {
    Catalogue catalogue = Fixture();
    for (Component& component : catalogue.components) {
      if (component.name == "MLP") component.gives = {score};
    }
    EXPECT_THAT(Lines(R"({"loss": null})", catalogue), IsEmpty()) << score;
  }
}

TEST(Needs, CountForTheirTasksAlone) {
  EXPECT_THAT(Lines(R"({"loss": null, "optimizer": null, "task": "validate",
                        "data": {"train": null}})"),
              IsEmpty());
}

TEST(Needs, OfATaskAreTheExperiments) {
  Catalogue catalogue = Fixture();
  for (Component& component : catalogue.components) {
    if (component.name != "Experiment") continue;
    component.needs = {{.any_of = {"data.test"}, .tasks = {"test"}}};
  }
  EXPECT_THAT(Lines("{}", catalogue), IsEmpty());
  EXPECT_THAT(Lines(R"({"task": "test"})", catalogue),
              ElementsAre("experiment.data.test: missing, task: test "
                          "needs it"));
  EXPECT_THAT(Lines(R"({"task": "test", "data": {"test":
                      {"type": "Digits", "file": "d"}}})",
                    catalogue),
              IsEmpty());
}

TEST(Needs, OfARoleAreMetByAComponentThatHasIt) {
  Catalogue catalogue = Fixture();
  for (Component& component : catalogue.components) {
    if (component.name == "GanModel") component.role = "GAN";
    if (component.name == "TrainingRunner") {
      component.needs = {
          {.any_of = {"model"}, .tasks = {"train"}, .role = "GAN"}};
    }
  }
  const std::string line =
      "experiment.model: expected a GAN such as {type: GanModel, ...}, which "
      "TrainingRunner (experiment.runner) trains, got MLP";
  EXPECT_THAT(Lines("{}", catalogue), ElementsAre(line));
  EXPECT_THAT(Lines(R"({"model": "${ref:net}", "net": {"type": "MLP",
                        "in_features": 1, "out_features": 1}})",
                    catalogue),
              SizeIs(1));
  EXPECT_THAT(Lines(R"({"task": "validate"})", catalogue), IsEmpty());
  EXPECT_THAT(Lines(R"({"model": "${ref:gan}", "gan": {"type": "GanModel",
                          "generator": {"type": "DcGenerator", "latent": 2},
                          "discriminator": {"type": "DcDiscriminator"}}})",
                    catalogue),
              IsEmpty());
  // That there is a model at all is another need.
  EXPECT_THAT(Lines(R"({"model": null})", catalogue),
              ElementsAre("experiment.model: missing, Experiment needs it (a "
                          "model such as {type: MLP, ...})"));
  const Json json = ToJson(catalogue);
  EXPECT_EQ(ToJson(FromJson(json)), json);
}

TEST(Needs, OfADefaultDoNotCountWhereAnotherOfItsKindIsUsed) {
  EXPECT_THAT(Lines(R"({"loss": null, "optimizer": null, "runner": {
                  "type": "GanTrainingRunner",
                  "d_loss": {"type": "RaGanDiscriminatorLoss"},
                  "g_loss": {"type": "RaGanGeneratorLoss"}}})"),
              IsEmpty());
}

TEST(Scores, AreThoseThatSomethingGives) {
  for (const char* name : {"train/loss", "val/loss", "val/accuracy",
                           "val/cross_entropy", "train/cross_entropy_2"}) {
    EXPECT_THAT(
        Lines(std::string(R"({"monitor": {"metric": ")") + name + "\"}}"),
        IsEmpty())
        << name;
  }
  EXPECT_THAT(Lines(R"({"monitor": {"metric": "val/acuracy"}})"),
              ElementsAre("experiment.monitor.metric: no loss, metric or hook "
                          "of this experiment gives 'val/acuracy', did you "
                          "mean 'val/accuracy'?"));
  EXPECT_THAT(Lines(R"({"monitor": {"metric": "val/psnr"}})"),
              ElementsAre("experiment.monitor.metric: no loss, metric or hook "
                          "of this experiment gives 'val/psnr', known are "
                          "train/cross_entropy, val/cross_entropy, "
                          "val/accuracy, test/accuracy, train/loss, val/loss"));
}

TEST(Names, AreTheScoresOwn) {
  EXPECT_THAT(Lines(R"({"loss": {"type": "CrossEntropy", "name": "loss"}})"),
              ElementsAre("experiment.loss.name: expected another name than "
                          "'loss', which the sum of losses is called"));
  EXPECT_THAT(
      Lines(R"({"metrics": [{"type": "Accuracy", "name": "a"},
                                    "${ref:other}"],
                        "other": {"type": "Accuracy", "name": "a"},
                        "monitor": {"metric": "val/loss"}})"),
      ElementsAre("experiment.metrics[1]: another metric gives 'val/a', "
                  "too; a name of its own is needed ({type: Accuracy, "
                  "name: ...})"));
  EXPECT_THAT(Lines(R"({"metrics": [{"type": "Accuracy"},
                                    {"type": "Accuracy", "name": "a"}]})"),
              IsEmpty());
}

TEST(Scores, FollowTheNamesThatParametersGive) {
  EXPECT_THAT(Lines(R"({"metrics": [{"type": "Accuracy", "name": "top"}],
                        "monitor": {"metric": "val/top"}})"),
              IsEmpty());
  EXPECT_THAT(Lines(R"({"metrics": [{"type": "Accuracy", "name": "top"}],
                        "monitor": {"metric": "val/accuracy"}})")
                  .size(),
              1u);
}

TEST(Scores, BelowANameAreThoseOfItsClasses) {
  Catalogue catalogue = Fixture();
  for (Component& component : catalogue.components) {
    if (component.name == "Accuracy") component.gives = {"val/{name}/*"};
  }
  EXPECT_THAT(
      Lines(R"({"monitor": {"metric": "val/accuracy/dog"}})", catalogue),
      IsEmpty());
  for (const char* name : {"val/accuracy", "val/accuracydog", "val/a/dog"}) {
    EXPECT_THAT(
        Lines(std::string(R"({"monitor": {"metric": ")") + name + "\"}}",
              catalogue),
        SizeIs(1))
        << name;
  }
}

TEST(Scores, OfSomethingThatOnlyTheRunTellsAreNotRefused) {
  Catalogue catalogue = Fixture();
  for (Component& component : catalogue.components) {
    if (component.name == "CrossEntropy") component.gives = {"*"};
  }
  EXPECT_THAT(Lines(R"({"monitor": {"metric": "val/anything"}})", catalogue),
              IsEmpty());
  // A catalogue of a version that declared none.
  for (Component& component : catalogue.components) component.gives.clear();
  EXPECT_THAT(Lines(R"({"monitor": {"metric": "val/anything"}})", catalogue),
              IsEmpty());
}

TEST(Losses, BehindReferencesAreCheckedOnceHoweverOftenTheyAreNamed) {
  Catalogue catalogue = Fixture();
  for (Component& component : catalogue.components) {
    if (component.name == "TrainingRunner") component.losses = {{.at = "loss"}};
    if (component.name == "CrossEntropy") component.role = "generator";
  }
  // Walked as often as it is named, it would take 2^30 steps.
  Json lists = {{"loss", "${ref:x0}"}, {"x30", {{"type", "CrossEntropy"}}}};
  for (int i = 0; i < 30; ++i) {
    const std::string next = "${ref:x" + std::to_string(i + 1) + "}";
    lists["x" + std::to_string(i)] = {next, next};
  }
  EXPECT_THAT(Lines(lists.dump(), catalogue),
              ElementsAre("experiment.x30: CrossEntropy is a loss of the "
                          "generator of a GAN, TrainingRunner computes none "
                          "here"));
}

// Parts of one data set by different rules share samples.
TEST(OneOf, IsWhatMayNotStandTwice) {
  Catalogue catalogue = Fixture();
  catalogue.components.push_back({.kind = "dataset",
                                  .name = "Only",
                                  .aliases = {"Sole"},
                                  .one_of = "Only"});
  catalogue.components.push_back(
      {.kind = "dataset", .name = "Other", .one_of = "Only"});
  catalogue.components.push_back(
      {.kind = "dataset",
       .name = "Written",
       .parameters = {{.name = "format", .type = "string"},
                      {.name = "file", .type = "string"}},
       .one_of = "{format} file"});
  EXPECT_THAT(Lines(R"({"data": {"train": {"type": "Only", "file": null}}})",
                    catalogue),
              IsEmpty());
  EXPECT_THAT(Lines(R"({"all": {"type": "Only", "file": null}, "data":
                        {"train": "${ref:all}", "val": "${ref:all}"}})",
                    catalogue),
              IsEmpty())
      << "one that two places refer to is one";
  EXPECT_THAT(
      Lines(
          R"({"data": {"train": {"type": "Only", "file": null}, "val": {"type": "Sole", "file": null}}})",
          catalogue),
      ElementsAre("experiment.data.val: a second Only, one is accepted, such "
                  "as that in experiment.data.train"));
  EXPECT_THAT(
      Lines(
          R"({"data": {"train": {"type": "Only", "file": null}, "val": {"type": "Other", "file": null}}})",
          catalogue),
      ElementsAre("experiment.data.val: a second Only, one is accepted, such "
                  "as that in experiment.data.train"));
  const auto written = [&](const std::string& train, const std::string& val) {
    return Lines(R"({"data": {"train": {"type": "Written", "format": ")" +
                     train + R"("}, "val": {"type": "Written", "format": ")" +
                     val + R"("}}})",
                 catalogue);
  };
  EXPECT_THAT(written("csv", "npy"), IsEmpty());
  EXPECT_THAT(written("csv", "csv"),
              ElementsAre("experiment.data.val: a second csv file, one is "
                          "accepted, such as that in experiment.data.train"));
}

TEST(Alike, AreTheComponentsThatLookAtTheSame) {
  Catalogue catalogue = Fixture();
  catalogue.components.push_back(
      {.kind = "dataset",
       .name = "Part",
       .parameters = {{.name = "dataset", .type = "component<dataset>"},
                      {.name = "part", .type = "string"},
                      {.name = "seed", .type = "int", .default_value = 0},
                      {.name = "group", .type = "string"}},
       .rules = {{.check = Rule::Check::kAlike,
                  .of = {"dataset", "seed", "group"}}}});
  catalogue.components.push_back(
      {.kind = "dataset",
       .name = "Fold",
       .parameters = {{.name = "dataset", .type = "component<dataset>"},
                      {.name = "fold", .type = "int"}},
       .rules = {{.check = Rule::Check::kAlike, .of = {"dataset", "fold"}}}});
  const auto lines = [&](const std::string& train, const std::string& val) {
    const std::string of = R"("type": "Part", "dataset": "${ref:all}")";
    return Lines(R"({"all": {"type": "Digits", "file": "d"}, "data": {)"
                 R"("train": {"file": null, )" +
                     of + train + R"(}, "val": {"file": null, )" + of + val +
                     "}}}",
                 catalogue);
  };
  EXPECT_THAT(lines("", R"(, "part": "val", "seed": 0)"), IsEmpty());
  EXPECT_THAT(
      lines("", R"(, "seed": 1, "group": "g")"),
      ElementsAre("experiment.data.val.seed: expected 0 as in "
                  "experiment.data.train, which has the same dataset, got 1: "
                  "their parts would overlap",
                  "experiment.data.val.group: expected none as in "
                  "experiment.data.train, which has the same dataset, got "
                  "\"g\": their parts would overlap"));
  EXPECT_THAT(lines("", R"(, "seed": 1, "dataset":
                       {"type": "Digits", "file": "other"})"),
              IsEmpty());
  const std::string fold = R"(, "type": "Fold", "fold": 1)";
  EXPECT_THAT(lines("", fold),
              ElementsAre("experiment.data.val: Fold beside the Part in "
                          "experiment.data.train, which has the same dataset: "
                          "their parts would overlap"));
  EXPECT_THAT(lines("", fold + R"(, "dataset":
                       {"type": "Digits", "file": "other"})"),
              IsEmpty());
}

}  // namespace
}  // namespace epochd::catalogue
