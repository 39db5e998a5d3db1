// SPDX-License-Identifier: Apache-2.0
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

constexpr const char* kGood = R"({
  "seed": 42,
  "model": {"type": "MLP", "in_features": 64, "hidden": [128, 64],
            "out_features": 10},
  "data": {"train": {"type": "Digits", "file": "data/digits.csv.gz",
                     "split": "train", "shuffle": true,
                     "transforms": [{"type": "Normalize", "std": 6.02}]}},
  "loss": {"type": "CrossEntropy"},
  "optimizer": {"type": "AdamW", "lr": 0.003},
  "trainer": {"type": "EpochTrainer", "epochs": 30},
  "hooks": [{"type": "EarlyStopping", "rule": "srforge"}]
})";

Json Good() { return Json::parse(kGood); }

// Applies a JSON merge patch to the good experiment.
Json Patched(const std::string& patch) {
  Json experiment = Good();
  experiment.merge_patch(Json::parse(patch));
  return experiment;
}

std::vector<std::string> Lines(const Json& experiment,
                               const ValidateOptions& options = {}) {
  std::vector<std::string> lines;
  for (const Violation& violation :
       Validate(Fixture(), experiment, options).violations) {
    lines.push_back(violation.field + ": " + violation.description);
  }
  return lines;
}

TEST(Validate, AcceptsAGoodExperimentAndTellsWhatItUses) {
  const Validated result = Validate(Fixture(), Good());
  EXPECT_THAT(result.violations, IsEmpty());
  EXPECT_THAT(result.paths, ElementsAre("experiment.data.train.file"));
  EXPECT_THAT(result.components,
              ElementsAre("dataset/Digits", "hook/EarlyStopping",
                          "loss/CrossEntropy", "model/MLP", "optimizer/AdamW",
                          "trainer/EpochTrainer", "transform/Normalize"));
}

TEST(Validate, RefusesEachFaultWithItsFieldAndRemedy) {
  struct Case {
    std::string patch;
    std::string line;
  };
  const std::vector<Case> cases = {
      {R"({"seed": -1})", "experiment.seed: expected at least 0, got -1"},
      {R"({"seed": 1.5})", "experiment.seed: expected an integer, got 1.5"},
      {R"({"seed": true})", "experiment.seed: expected an integer, got true"},
      {R"({"seed": 18446744073709551615})",
       "experiment.seed: expected at most 9223372036854775807, got "
       "18446744073709551615"},
      {R"({"task": "trian"})",
       "experiment.task: unknown value \"trian\", did you mean 'train'?"},
      {R"({"task": "xyz"})",
       "experiment.task: unknown value \"xyz\", known are train, validate, "
       "test, predict, benchmark"},
      {R"({"task": 3})",
       "experiment.task: expected text, got 3 (write it in quotes)"},
      {R"({"load_from": "${a.b}"})",
       "experiment.load_from: \"${a.b}\" was not substituted"},
      {R"({"model": null})",
       "experiment.model: missing, Experiment needs it (a model such as "
       "{type: MLP, ...})"},
      {R"({"model": "MLP"})",
       "experiment.model: expected a model as a mapping, got \"MLP\", write "
       "{type: MLP}"},
      {R"({"model": 3})",
       "experiment.model: expected a model {type: Name, ...}, got 3"},
      {R"({"model": {"type": null}})",
       "experiment.model.type: missing, names the model: {type: Name, ...}"},
      {R"({"model": {"type": 7}})",
       "experiment.model.type: expected the name of a model, got 7"},
      {R"({"model": {"type": "MPL"}})",
       "experiment.model.type: unknown model 'MPL', did you mean 'MLP'?"},
      {R"({"model": {"type": "AdamW"}})",
       "experiment.model.type: 'AdamW' is an optimizer, expected a model"},
      {R"({"model": {"hiden": [1]}})",
       "experiment.model.hiden: MLP has no parameter 'hiden', did you mean "
       "'hidden'?"},
      {R"({"model": {"zzzzzz": 1}})",
       "experiment.model.zzzzzz: MLP has no parameter 'zzzzzz', known are "
       "in_features, hidden, out_features"},
      {R"({"model": {"in_features": null}})",
       "experiment.model.in_features: missing, MLP needs it (an integer, at "
       "least 1)"},
      {R"({"model": {"hidden": [128, 0]}})",
       "experiment.model.hidden[1]: expected at least 1, got 0"},
      {R"({"model": {"hidden": "wide"}})",
       "experiment.model.hidden: expected an integer, got \"wide\""},
      {R"({"data": {"train": {"shuffle": "yes"}}})",
       "experiment.data.train.shuffle: expected true or false, got \"yes\""},
      {R"({"data": {"train": {"file": ""}}})",
       "experiment.data.train.file: expected a path, got \"\""},
      {R"({"data": {"train": {"transforms": {"type": "Normalize"}}}})",
       "experiment.data.train.transforms: expected a list, got "
       "{\"type\":\"Normalize\"}"},
      {R"({"data": [1]})", "experiment.data: expected a mapping, got [1]"},
      {R"({"loss": {"type": null, "_target_": "a.CrossEntropy", "_args_": [1]}})",
       "experiment.loss._args_: arguments by position are not accepted, write "
       "them by name"},
      {R"({"optimizer": {"lr": "2e-4"}})",
       "experiment.optimizer.lr: expected a number, got \"2e-4\", which is "
       "text (write it without quotes, as 0.0002)"},
      {R"({"optimizer": {"lr": 0}})",
       "experiment.optimizer.lr: expected more than 0, got 0"},
      {R"({"optimizer": {"learning_rate": 0.1}})",
       "experiment.optimizer.learning_rate: given twice, as 'lr' and "
       "'learning_rate'; keep one"},
      {R"({"loss": {"label_smoothing": 2}})",
       "experiment.loss.label_smoothing: expected at most 1, got 2"},
      {R"({"loss": {"_target": "a.CrossEntropy"}})",
       "experiment.loss._target: given beside 'type', which means the same; "
       "keep one"},
      {R"({"trainer": {"limit": "10"}})",
       "experiment.trainer.limit: expected a duration such as 90s, 10m or 2h, "
       "got \"10\""},
      {R"({"hooks": [{"type": "BatchImageSaver", "every": 5}]})",
       "experiment.hooks[0].every: expected '1 epoch', '100 steps' or a "
       "duration such as 10m, got 5"},
      {R"({"hooks": [{"type": "BatchImageSaver", "names": {"a": 1}}]})",
       "experiment.hooks[0].names.a: expected text, got 1 (write it in "
       "quotes)"},
      {R"({"optimzer": {"type": "SGD", "lr": 1}})",
       "experiment.optimzer: unknown key 'optimzer', did you mean 'optimizer'?"
       " (a named object needs a ${ref:optimzer})"},
      {R"({"epochs_total": 3})",
       "experiment.epochs_total: unknown key 'epochs_total', known are seed, "
       "task, load_from, resume, model, data, loss, metrics, monitor, "
       "optimizer, optimizers, lr_scheduler, trainer, runner, hooks, system"},
      {R"({"data": {"trian": {"type": "Digits", "file": "d"}}})",
       "experiment.data.trian: unknown key 'trian', did you mean 'train'?"},
      {R"({"data": {"extra": {"type": "Digits", "file": "d"}}})",
       "experiment.data.extra: unknown key 'extra', known are train, val, "
       "test"},
      {R"({"monitor": {"metrik": "val/loss"}})",
       "experiment.monitor.metrik: unknown key 'metrik', did you mean "
       "'metric'?"},
      {R"({"monitor": {"mode": "maximum"}})",
       "experiment.monitor.mode: unknown value \"maximum\", known are min, "
       "max"},
      {R"({"monitor": "val/loss"})",
       "experiment.monitor: expected a mapping, got \"val/loss\""},
      {R"({"monitor": {"metric": 3}})",
       "experiment.monitor.metric: expected text, got 3 (write it in quotes)"},
      {R"({"teacher": {"type": "Nothing"}})",
       "experiment.teacher.type: unknown component 'Nothing', known are MLP, "
       "GanModel, DcGenerator, DcDiscriminator, Digits, Normalize, "
       "CrossEntropy, RaGanDiscriminatorLoss, RaGanGeneratorLoss, Accuracy, "
       "AdamW, Adam, SGD, CosineAnnealing, EpochTrainer, TrainingRunner, "
       "GanTrainingRunner, GradientClip, EarlyStopping, StepRatio, "
       "DiscriminatorWarmup, R1GradientPenalty, BatchImageSaver, Shared and "
       "6 more"},
      {R"({"loss": "${ref:nothing}"})",
       "experiment.loss: ${ref:nothing} names no object of the experiment, "
       "known are model, loss, optimizer, trainer, hooks"},
      {R"({"loss": "${ref:model}"})",
       "experiment.loss: ${ref:model} is a model, expected a loss"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(Lines(Patched(c.patch)), testing::Contains(c.line)) << c.patch;
  }
}

TEST(Validate, ReportsEveryViolationAtOnce) {
  EXPECT_THAT(Lines(Patched(R"({"seed": "x", "loss": {"type": "CrossEntropie"},
                        "optimizer": {"lr": -1, "momentum": 2},
                        "trainer": {"epochs": null}})")),
              SizeIs(5));
}

TEST(Validate, TakesTargetAndParamsForTheSameAsType) {
  const Json experiment = Patched(R"({"loss": null})");
  Json with = experiment;
  with["loss"] = Json::parse(
      R"({"_target": "torch.nn.CrossEntropyLoss",
          "params": {"label_smoothing": 0.1}})");
  EXPECT_THAT(Lines(with), IsEmpty());
  with["loss"]["params"]["label_smoothing"] = 3;
  with["loss"]["lr"] = 1;
  EXPECT_THAT(
      Lines(with),
      ElementsAre("experiment.loss.lr: unknown key 'lr' beside _target, known "
                  "is params",
                  "experiment.loss.params.label_smoothing: expected at most "
                  "1, got 3"));
}

TEST(Validate, TakesHydrasTargetWithItsParametersBesideIt) {
  Json experiment = Good();
  experiment["loss"] = Json::parse(
      R"({"_target_": "torch.nn.CrossEntropyLoss", "_partial_": true,
          "_recursive_": false, "_convert_": "all", "label_smoothing": 0.1})");
  EXPECT_THAT(Lines(experiment), IsEmpty());
  experiment["loss"]["label_smoothing"] = 3;
  EXPECT_THAT(Lines(experiment),
              ElementsAre("experiment.loss.label_smoothing: expected at most "
                          "1, got 3"));
}

TEST(Validate, AcceptsAliasesOfParametersAndComponents) {
  EXPECT_THAT(Lines(Patched(R"({
      "optimizer": {"type": "AdamW", "lr": null, "learning_rate": 0.1},
      "training_runner": {"type": "TrainingRunner"},
      "hooks": [{"type": "stop_condition", "patience": 3}]})")),
              IsEmpty());
}

TEST(Validate, TakesWholeNumbersHoweverTheyAreWritten) {
  EXPECT_THAT(Lines(Patched(R"({"seed": 2.0, "trainer": {"epochs": 3e1}})")),
              IsEmpty());
  EXPECT_THAT(Lines(Patched(R"({"seed": 1e300, "trainer": {"epochs": 0.0}})")),
              SizeIs(2));
}

TEST(Validate, BindsReferencesToNamedObjects) {
  EXPECT_THAT(Lines(Patched(R"({"teacher_loss": {"type": "CrossEntropy"},
                               "loss": "${ref:teacher_loss}"})")),
              IsEmpty());
  // Referred to, so not taken for a misspelt `optimizer`.
  EXPECT_THAT(Lines(Patched(R"({"optimizer2": {"type": "SGD", "lr": 1},
      "hooks": [{"type": "BatchImageSaver", "extra": ["${ref:optimizer2}"]}]})")),
              IsEmpty());
}

TEST(Validate, AnEmptyListIsANamedObjectToo) {
  EXPECT_THAT(Lines(Patched(R"({"afterwards": []})")), IsEmpty());
  EXPECT_THAT(Lines(Patched(R"({"hoks": []})")),
              ElementsAre("experiment.hoks: unknown key 'hoks', did you mean "
                          "'hooks'? (a named object needs a ${ref:hoks})"));
  // There is nothing in it to refer to.
  EXPECT_THAT(
      Lines(Patched(R"({"afterwards": [], "loss": "${ref:afterwards}"})")),
      ElementsAre(testing::HasSubstr("names no object")));
}

TEST(Validate, RefusesObjectsMadeOfThemselves) {
  EXPECT_THAT(
      Lines(Patched(R"({
          "one": {"type": "BatchImageSaver", "extra": "${ref:two}"},
          "two": {"type": "BatchImageSaver", "extra": "${ref:one}"}})")),
      ElementsAre("experiment.one: refers to itself: one -> two -> one"));
}

TEST(Validate, PicksTheKindThatFitsWhereANameIsShared) {
  EXPECT_THAT(Validate(Fixture(),
                       Patched(R"({"other": {"type": "Shared", "name": "a"}})"))
                  .components,
              testing::Contains("hook/Shared"));
  EXPECT_THAT(
      Validate(Fixture(), Patched(R"({"other": {"type": "Shared", "k": 1}})"))
          .components,
      testing::Contains("metric/Shared"));
}

TEST(Validate, HoldsAJobToTheReplicasOfItsComponents) {
  const Json gan = Patched(R"({"runner": {"type": "GanTrainingRunner",
      "d_loss": {"type": "RaGanDiscriminatorLoss"},
      "g_loss": {"type": "RaGanGeneratorLoss"}}})");
  ValidateOptions options;
  options.max_replicas = 2;
  EXPECT_THAT(Lines(gan, options),
              ElementsAre("resources.replicas: GanTrainingRunner "
                          "(experiment.runner) runs on at most 1 replica, got "
                          "2"));
  options.max_replicas = 1;
  EXPECT_THAT(Lines(gan, options), IsEmpty());
  EXPECT_THAT(Lines(gan), IsEmpty());
}

TEST(Validate, RefusesWhatIsTooDeepOrTooLargeWithoutWalkingIt) {
  Json deep = 1;
  for (int i = 0; i < 1000; ++i) deep = Json::array({std::move(deep)});
  Json experiment = Good();
  experiment["system"] = Json::object();
  experiment["system"]["deep"] = std::move(deep);
  EXPECT_THAT(Lines(experiment),
              ElementsAre("experiment: nested deeper than 64 levels, the most "
                          "accepted"));
  experiment = Good();
  experiment["system"] = {{"wide", std::vector<int>(20000, 1)}};
  EXPECT_THAT(
      Lines(experiment),
      ElementsAre("experiment: more than 10000 values, the most accepted"));
  EXPECT_THAT(Lines(Json(3)),
              ElementsAre("experiment: expected a mapping, got 3"));
}

TEST(Validate, BoundsTheNumberOfViolations) {
  Json experiment = Good();
  for (int i = 0; i < 1000; ++i) {
    experiment["model"]["unknown_key_" + std::to_string(i)] = i;
  }
  EXPECT_LE(Lines(experiment).size(), 200u);
}

}  // namespace
}  // namespace epochd::catalogue
