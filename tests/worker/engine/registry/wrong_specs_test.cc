// SPDX-License-Identifier: Apache-2.0
//
// What people get wrong, one mistake each, and what they are told: the field,
// the value, and what is accepted. The client, the coordinator and the trainer
// all say these lines, as they all ask catalogue::Validate().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/error_of.h"

namespace epochd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Wrong {
  // Merged into the experiment.
  const char* patch;
  const char* line;
};

std::vector<std::string> LinesOf(Json experiment, const char* patch) {
  experiment.merge_patch(Json::parse(patch));
  std::vector<std::string> lines;
  for (const catalogue::Violation& violation :
       catalogue::Validate(TestRegistry().catalogue(), experiment).violations) {
    lines.push_back(violation.field + ": " + violation.description);
  }
  return lines;
}

void ExpectLines(const Json& experiment, const std::vector<Wrong>& wrongs) {
  ASSERT_THAT(LinesOf(experiment, "{}"), IsEmpty());
  for (const Wrong& each : wrongs) {
    EXPECT_THAT(LinesOf(experiment, each.patch), ElementsAre(each.line))
        << each.patch;
  }
}

TEST(WrongSpecsTest, OfTheExperimentAndItsModel) {
  ExpectLines(
      DigitsExperiment(1),
      {
          {R"json({"seed": -1})json",
           "experiment.seed: expected at least 0, got -1"},
          {R"json({"seed": "7"})json",
           "experiment.seed: expected an integer, got \"7\", which is text "
           "(write it without quotes, as 0.0002)"},
          {R"json({"seed": 1e300})json",
           "experiment.seed: expected an integer, got 1e+300"},
          {R"json({"seed": 99999999999999999999})json",
           "experiment.seed: expected an integer, got 1e+20"},
          {R"json({"seed": null, "task": "trian"})json",
           "experiment.task: unknown value \"trian\", did you mean 'train'?"},
          {R"json({"task": 3})json",
           "experiment.task: expected text, got 3 (write it in quotes)"},
          {R"json({"model": null})json",
           "experiment.model: missing, Experiment needs it (a model such as "
           "{type: MLP, ...})"},
          {R"json({"model": []})json",
           "experiment.model: expected a model {type: Name, ...}, got []"},
          {R"json({"model": "MLP"})json",
           "experiment.model: expected a model as a mapping, got \"MLP\", "
           "write {type: MLP}"},
          {R"json({"model": {"type": "MPL"}})json",
           "experiment.model.type: unknown model 'MPL', did you mean 'MLP'?"},
          {R"json({"model": {"type": "CrossEntropy", "in_features": null, "hidden": null, "out_features": null, "dropout": null}})json",
           "experiment.model.type: 'CrossEntropy' is a loss, expected a model"},
          {R"json({"model": {"type": null}})json",
           "experiment.model.type: missing, names the model: {type: Name, "
           "...}"},
          {R"json({"model": {"type": ""}})json",
           "experiment.model.type: expected the name of a model, got \"\""},
          {R"json({"model": {"out_features": null}})json",
           "experiment.model.out_features: missing, MLP needs it (an integer, "
           "at least 1)"},
          {R"json({"model": {"in_features": 0}})json",
           "experiment.model.in_features: expected at least 1, got 0"},
          {R"json({"model": {"in_features": -64}})json",
           "experiment.model.in_features: expected at least 1, got -64"},
          {R"json({"model": {"in_features": 6.5}})json",
           "experiment.model.in_features: expected an integer, got 6.5"},
          {R"json({"model": {"in_features": true}})json",
           "experiment.model.in_features: expected an integer, got true"},
          {R"json({"model": {"hidden": [16, "wide"]}})json",
           "experiment.model.hidden[1]: expected an integer, got \"wide\""},
          {R"json({"model": {"hidden": [16, -1]}})json",
           "experiment.model.hidden[1]: expected at least 1, got -1"},
          {R"json({"model": {"dropout": 1.5}})json",
           "experiment.model.dropout: expected at most 1, got 1.5"},
          {R"json({"model": {"dropout": "0.1"}})json",
           "experiment.model.dropout: expected a number, got \"0.1\", which is "
           "text (write it without quotes, as 0.0002)"},
          {R"json({"model": {"activation": "rellu"}})json",
           "experiment.model.activation: unknown value \"rellu\", did you mean "
           "'relu'?"},
          {R"json({"model": {"activation": "größe"}})json",
           "experiment.model.activation: unknown value \"gr\\u00f6\\u00dfe\", "
           "known are relu, gelu, silu, tanh, sigmoid, leaky_relu"},
          {R"json({"model": {"hiden": [1]}})json",
           "experiment.model.hiden: MLP has no parameter 'hiden', did you mean "
           "'hidden'?"},
          {R"json({"model": {"weights": {"file": ""}}})json",
           "experiment.model.weights.file: expected a path, got \"\""},
          {R"json({"model": {"type": "ResNet", "in_features": null, "hidden": null, "out_features": null, "dropout": null, "depth": 20}})json",
           "experiment.model.depth: expected 18, 34 or 50, got 20"},
          {R"json({"model": {"type": "EDSR", "in_features": null, "hidden": null, "out_features": null, "dropout": null, "upscale": 5}})json",
           "experiment.model.upscale: expected 2, 3, 4 or 8, got 5"},
          {R"json({"model": {"type": "ResNet1d", "in_features": null, "hidden": null, "out_features": null, "dropout": null, "num_classes": 3, "kernel": 4}})json",
           "experiment.model.kernel: expected an odd number, got 4"},
          {R"json({"model": {"type": "DcDiscriminator", "in_features": null, "hidden": null, "out_features": null, "dropout": null, "size": 24}})json",
           "experiment.model.size: expected 8, 16, 32, 64, 128, 256, 512 or "
           "1024, got 24"},
          {R"json({"model": {"type": "PinnMLP", "in_features": 2, "hidden": [4], "out_features": null, "dropout": null, "lower": [0], "upper": [1]}})json",
           "experiment.model.lower: expected 2 values, as many as in_features "
           "says, got 1"},
          {R"json({"model": {"type": "PinnMLP", "in_features": 2, "hidden": [4], "out_features": null, "dropout": null, "differentiable": ["inputs"]}})json",
           "experiment.model.differentiable: 'inputs' is none of inputs, did "
           "you mean 'input'?"},
          {R"json({"optimzer": {"type": "SGD"}})json",
           "experiment.optimzer: unknown key 'optimzer', did you mean "
           "'optimizer'? (a named object needs a ${ref:optimzer})"},
      });
}

TEST(WrongSpecsTest, OfData) {
  ExpectLines(
      DigitsExperiment(1),
      {
          {R"json({"data": {"train": null}})json",
           "experiment.data.train: missing, TrainingRunner needs it "
           "(experiment.runner)"},
          {R"json({"data": {"trian": {"type": "Digits"}}})json",
           "experiment.data.trian: unknown key 'trian', did you mean 'train'?"},
          {R"json({"data": {"train": {"file": ""}}})json",
           "experiment.data.train.file: expected a path, got \"\""},
          {R"json({"data": {"train": {"file": 3}}})json",
           "experiment.data.train.file: expected text, got 3 (write it in "
           "quotes)"},
          {R"json({"data": {"train": {"batch_size": 0}}})json",
           "experiment.data.train.batch_size: expected at least 1, got 0"},
          {R"json({"data": {"train": {"batch_size": "128"}}})json",
           "experiment.data.train.batch_size: expected an integer, got "
           "\"128\", which is text (write it without quotes, as 0.0002)"},
          {R"json({"data": {"train": {"shuffle": "yes"}}})json",
           "experiment.data.train.shuffle: expected true or false, got "
           "\"yes\""},
          {R"json({"data": {"train": {"sampler": {"type": "DefaultSampler"}}}})json",
           "experiment.data.train.shuffle: expected false with sampler, got "
           "true"},
          {R"json({"data": {"train": {"shuffle": null, "sampler": {"type": "WeightedSampler"}}}})json",
           "experiment.data.train.sampler.weights: missing, WeightedSampler "
           "needs one of weights, weight_field or class_weights with "
           "inverse_frequency: false"},
          {R"json({"data": {"train": {"shuffle": null, "sampler": {"type": "WeightedSampler", "weights": [1], "class_weights": [1]}}}})json",
           "experiment.data.train.sampler.class_weights: given beside "
           "'weights', expected one of weights, weight_field or class_weights "
           "with inverse_frequency: false"},
          {R"json({"data": {"train": {"shuffle": null, "sampler": {"type": "WeightedSampler", "weights": []}}}})json",
           "experiment.data.train.sampler.weights: expected at least 1 value, "
           "got 0: []"},
          {R"json({"data": {"train": {"prefetch_bytes": "1 gig"}}})json",
           "experiment.data.train.prefetch_bytes: expected a size such as "
           "512MiB or 2GiB, got \"1 gig\""},
          {R"json({"data": {"train": {"threads": 1000}}})json",
           "experiment.data.train.threads: expected at most 256, got 1000"},
          {R"json({"data": {"train": {"transforms": [{"type": "Normalise"}]}}})json",
           "experiment.data.train.transforms[0].type: unknown transform "
           "'Normalise', did you mean 'Normalize'?"},
          {R"json({"data": {"train": {"transforms": [{"type": "RandomCrop", "size": []}]}}})json",
           "experiment.data.train.transforms[0].size: expected 1 to 2 values, "
           "got 0: []"},
          {R"json({"data": {"train": {"transforms": [{"type": "RandomCrop", "size": [8, 8, 8]}]}}})json",
           "experiment.data.train.transforms[0].size: expected 1 to 2 values, "
           "got 3: [8,8,8]"},
          {R"json({"data": {"train": {"transforms": [{"type": "RandomRotation", "degrees": [10, -10]}]}}})json",
           "experiment.data.train.transforms[0].degrees[1]: expected at least "
           "10, the number before it, got -10"},
          {R"json({"data": {"train": {"transforms": [{"type": "Grayscale", "num_output_channels": 2}]}}})json",
           "experiment.data.train.transforms[0].num_output_channels: expected "
           "1 or 3, got 2"},
          {R"json({"data": {"val": {"type": "Split", "file": null, "split": null, "dataset": {"type": "Digits", "file": "d"}, "part": "val", "fractions": [0.8, 0.3]}}})json",
           "experiment.data.val.fractions: expected numbers that add up to at "
           "most 1, got [0.8,0.3], which add up to 1.1"},
          {R"json({"data": {"val": {"type": "KFold", "file": null, "split": null, "dataset": {"type": "Digits", "file": "d"}, "part": "val", "fold": 5}}})json",
           "experiment.data.val.fold: expected less than folds, which is 5, "
           "got 5"},
          {R"json({"data": {"val": {"type": "Subset", "file": null, "split": null, "dataset": {"type": "Digits", "file": "d"}, "fraction": 0.5, "range": [0, 3]}}})json",
           "experiment.data.val.fraction: given beside 'range', expected one "
           "of indices, range or fraction"},
          {R"json({"data": {"val": {"type": "Concat", "file": null, "split": null, "datasets": []}}})json",
           "experiment.data.val.datasets: expected at least 1 value, got 0: "
           "[]"},
          {R"json({"data": {"val": {"type": "SuperResolution", "file": null, "split": null, "folder": "f", "patch_size": 63}}})json",
           "experiment.data.val.patch_size: expected a multiple of scale, "
           "which is 2, got 63"},
          {R"json({"data": {"val": {"type": "CollocationPoints", "file": null, "split": null, "domain": {"x": [0, 1]}, "points": 3, "values": "sin(y)"}}})json",
           "experiment.data.val.values: expression \"sin(y)\": \"y\" is not "
           "known; the coordinates (x), and parameters are accepted"},
          {R"json({"data": {"val": {"type": "CollocationPoints", "file": null, "split": null, "domain": {"x": [1, 0]}, "points": 3}}})json",
           "experiment.data.val.domain.x[1]: expected at least 1, the number "
           "before it, got 0"},
          {R"json({"data": {"val": {"type": "CollocationPoints", "file": null, "split": null, "domain": {"x": [0, "1/0"]}, "points": 3}}})json",
           "experiment.data.val.domain.x[1]: expression \"1/0\": character 4: "
           "the part before it is not finite; finite numbers are accepted"},
      });
}

TEST(WrongSpecsTest, OfLossesAndMetrics) {
  ExpectLines(
      DigitsExperiment(1),
      {
          {R"json({"loss": null})json",
           "experiment.loss: missing, TrainingRunner needs it "
           "(experiment.runner)"},
          {R"json({"loss": []})json",
           "experiment.loss: missing, TrainingRunner needs it "
           "(experiment.runner)"},
          {R"json({"loss": {"type": "CrossEntropyy"}})json",
           "experiment.loss.type: unknown loss 'CrossEntropyy', did you mean "
           "'CrossEntropy'?"},
          {R"json({"loss": {"type": "Accuracy"}})json",
           "experiment.loss.type: 'Accuracy' is a metric, expected a loss"},
          {R"json({"loss": {"label_smoothing": -0.1}})json",
           "experiment.loss.label_smoothing: expected at least 0, got -0.1"},
          {R"json({"loss": {"type": "PdeResidual", "expression": "u_t + * u"}})json",
           "experiment.loss.expression: expression \"u_t + * u\": character 7: "
           "unexpected \"*\"; a number, a name, a function or \"(\" is "
           "accepted"},
          {R"json({"loss": {"type": "PdeResidual", "expression": "u_t + c*v"}})json",
           "experiment.loss.expression: expression \"u_t + c*v\": \"c\" is not "
           "known; the unknowns (u), the coordinates (t, x), derivatives such "
           "as u_xx up to order 4, and parameters are accepted"},
          {R"json({"loss": {"type": "BurgersResidual", "coordinates": ["t", "x", "y"]}})json",
           "experiment.loss.coordinates: expected 2 values, got 3: "
           "[\"t\",\"x\",\"y\"]"},
          {R"json({"loss": {"type": "BurgersResidual", "viscosity": "0.01/pie"}})json",
           "experiment.loss.viscosity: expression \"0.01/pie\": \"pie\" is not "
           "known; numbers and pi are accepted"},
          {R"json({"loss": {"type": "AdvectionResidual", "velocity": [1, 2]}})json",
           "experiment.loss.velocity: expected 1 value, one less than "
           "coordinates has, got 2"},
          {R"json({"loss": {"type": "PdeResidual", "expression": "u_t", "causal_range": [1, 0]}})json",
           "experiment.loss.causal_range[1]: expected more than 1, the number "
           "before it, got 0"},
          {R"json({"loss": {"type": "SSIM", "window": 8}})json",
           "experiment.loss.window: expected an odd number, got 8"},
          {R"json({"loss": {"type": "RaGanGeneratorLoss"}})json",
           "experiment.loss: RaGanGeneratorLoss is a loss of the generator of "
           "a GAN, TrainingRunner computes none here"},
          {R"json({"loss": "${ref:mine}"})json",
           "experiment.loss: ${ref:mine} names no object of the experiment, "
           "known are model, loss, metrics, optimizer, lr_scheduler, trainer, "
           "hooks"},
          {R"json({"loss": "${ref:one}", "one": "${ref:two}", "two": "${ref:one}"})json",
           "experiment.one: refers to itself: one -> two -> one"},
          {R"json({"loss": "${ref:mine}", "mine": {"type": "SGD"}})json",
           "experiment.loss: ${ref:mine} is an optimizer, expected a loss"},
          {R"json({"metrics": [{"type": "Accuracy"}, {"type": "TopK", "k": 0}]})json",
           "experiment.metrics[1].k: expected at least 1, got 0"},
          {R"json({"metrics": [{"type": "Accuracy"}, {"type": "F1", "average": "makro"}]})json",
           "experiment.metrics[1].average: unknown value \"makro\", did you "
           "mean 'macro'?"},
          {R"json({"metrics": [{"type": "Accuracy"}, {"type": "ChallengeScore", "normal_class": 0}]})json",
           "experiment.metrics[1].weights: missing, ChallengeScore needs one "
           "of weights or weights_file"},
          {R"json({"monitor": {"mode": "highest"}})json",
           "experiment.monitor.mode: unknown value \"highest\", known are min, "
           "max"},
          {R"json({"monitor": "val/accuracy"})json",
           "experiment.monitor: expected a mapping, got \"val/accuracy\""},
      });
}

TEST(WrongSpecsTest, OfTraining) {
  ExpectLines(
      DigitsExperiment(1),
      {
          {R"json({"optimizer": null})json",
           "experiment.optimizer: missing, TrainingRunner needs it "
           "(experiment.runner)"},
          {R"json({"optimizer": {"lr": 0.1, "learning_rate": 0.1}})json",
           "experiment.optimizer.learning_rate: given twice, as 'lr' and "
           "'learning_rate'; keep one"},
          {R"json({"optimizer": {"lr": -1}})json",
           "experiment.optimizer.lr: expected at least 0, got -1"},
          {R"json({"optimizer": {"lr": "3e-3"}})json",
           "experiment.optimizer.lr: expected a number, got \"3e-3\", which is "
           "text (write it without quotes, as 0.0002)"},
          {R"json({"optimizer": {"betas": [0.9]}})json",
           "experiment.optimizer.betas: expected 2 values, got 1: [0.9]"},
          {R"json({"optimizer": {"betas": [0.9, 1.0]}})json",
           "experiment.optimizer.betas[1]: expected less than 1, got 1.0"},
          {R"json({"optimizer": {"type": "SGD", "nesterov": true}})json",
           "experiment.optimizer.nesterov: expected false with momentum: 0, "
           "got true"},
          {R"json({"optimizer": {"type": "SGD", "momentum": 0.9, "dampening": 0.1, "nesterov": true}})json",
           "experiment.optimizer.dampening: expected 0 with nesterov: true, "
           "got 0.1"},
          {R"json({"lr_scheduler": {"step_size": 0}})json",
           "experiment.lr_scheduler.step_size: expected at least 1, got 0"},
          {R"json({"lr_scheduler": {"type": "CosineRestart", "step_size": null, "gamma": null, "periods": [1, 2]}})json",
           "experiment.lr_scheduler.restart_weights: expected 2 values, as "
           "many as periods has, got 1"},
          {R"json({"lr_scheduler": {"type": "OneCycle", "step_size": null, "gamma": null}})json",
           "experiment.lr_scheduler.max_lr: missing, OneCycle needs one of "
           "max_lr or eta_max"},
          {R"json({"lr_scheduler": {"type": "OneCycle", "step_size": null, "gamma": null, "max_lr": 1, "eta_max": 1}})json",
           "experiment.lr_scheduler.eta_max: given beside 'max_lr', expected "
           "one of max_lr or eta_max"},
          {R"json({"lr_scheduler": {"type": "OneCycle", "step_size": null, "gamma": null, "max_lr": 1, "epochs": 3}})json",
           "experiment.lr_scheduler.steps_per_epoch: missing, epochs needs it"},
          {R"json({"lr_scheduler": {"type": "Piecewise", "step_size": null, "gamma": null, "milestones": [0, 3], "values": [1]}})json",
           "experiment.lr_scheduler.values: expected 2 values, as many as "
           "milestones has, got 1"},
          {R"json({"lr_scheduler": {"type": "Piecewise", "step_size": null, "gamma": null, "milestones": [3, 3], "values": [1, 2]}})json",
           "experiment.lr_scheduler.milestones[1]: expected more than 3, the "
           "number before it, got 3"},
          {R"json({"lr_scheduler": {"type": "ReduceOnPlateau", "step_size": null, "gamma": null, "factor": 1}})json",
           "experiment.lr_scheduler.factor: expected less than 1, got 1"},
          {R"json({"lr_scheduler": {"begin": 5, "end": 5}})json",
           "experiment.lr_scheduler.begin: expected less than end, which is 5, "
           "got 5"},
          {R"json({"trainer": {"epochs": "many"}})json",
           "experiment.trainer.epochs: expected an integer, got \"many\""},
          {R"json({"trainer": {"epochs": -1}})json",
           "experiment.trainer.epochs: expected at least 0, got -1"},
          {R"json({"trainer": {"type": "Trainer"}})json",
           "experiment.trainer.type: unknown trainer 'Trainer', known are "
           "EpochTrainer, IterationTrainer, PyTorchTrainer, "
           "EpochBasedTrainLoop, IterBasedTrainLoop"},
          {R"json({"trainer": {"max_time": "10"}})json",
           "experiment.trainer.max_time: expected a duration such as 90s, 10m "
           "or 2h, got \"10\""},
          {R"json({"runner": {"type": "TrainingRunner", "grad_scaler": {"init_scal": 2}}})json",
           "experiment.runner.grad_scaler.init_scal: unknown key 'init_scal', "
           "did you mean 'init_scale'?"},
          {R"json({"runner": {"type": "TrainingRunner", "grad_scaler": {"init_scale": -2}}})json",
           "experiment.runner.grad_scaler.init_scale: expected more than 0, "
           "got -2"},
          {R"json({"runner": {"type": "ValidationRunner"}})json",
           "experiment.runner.type: 'ValidationRunner' is a validation_runner, "
           "expected a runner"},
          {R"json({"hooks": {"type": "GradientClip"}})json",
           "experiment.hooks: expected a list, got "
           "{\"type\":\"GradientClip\"}"},
          {R"json({"hooks": [{"type": "GradientClip", "max_norm": 1.0, "max_value": 1.0}]})json",
           "experiment.hooks[0].max_value: given beside 'max_norm', expected "
           "one of max_norm or max_value"},
          {R"json({"hooks": [{"type": "GradientClipp"}]})json",
           "experiment.hooks[0].type: unknown hook 'GradientClipp', did you "
           "mean 'GradientClip'?"},
          {R"json({"hooks": [{"type": "EarlyStopping"}]})json",
           "experiment.hooks[0].patience: missing, EarlyStopping needs it "
           "(an integer, at least 0)"},
          {R"json({"hooks": [{"type": "EarlyStopping", "patience": 3, "rule": "keras", "stopping_threshold": 1}]})json",
           "experiment.hooks[0].stopping_threshold: not accepted with rule: "
           "srforge, torch_ecg, phijax or keras, got 1"},
          {R"json({"hooks": [{"type": "EarlyStopping", "patience": 3, "mode": "max"}]})json",
           "experiment.hooks[0].metric: missing, mode needs it"},
          {R"json({"hooks": [{"type": "EarlyStopping", "patience": 3, "every": "10m"}]})json",
           "experiment.hooks[0].every: expected '1 epoch' or '100 steps', got "
           "\"10m\""},
          {R"json({"hooks": [{"type": "BatchImageSaver", "every": "100 steps"}]})json",
           "experiment.hooks[0].every: expected '1 epoch', got \"100 steps\""},
          {R"json({"hooks": [{"type": "BatchImageSaver", "range": [1, 0]}]})json",
           "experiment.hooks[0].range[1]: expected more than 1, the number "
           "before it, got 0"},
          {R"json({"hooks": [null]})json",
           "experiment.hooks[0]: expected a hook {type: Name, ...}, got null"},
          {R"json({"hooks": [3]})json",
           "experiment.hooks[0]: expected a hook {type: Name, ...}, got 3"},
      });
}

TEST(WrongSpecsTest, OfLossesFromCertainEpochsOn) {
  ExpectLines(
      DigitsExperiment(1),
      {{R"({"loss": {"type": "LossSchedule", "schedule": {}}})",
        "experiment.loss.schedule: expected 0 among the keys, got none"},
       {R"({"loss": {"type": "LossSchedule", "schedule": {
             "3": {"type": "CrossEntropy"}, "7": {"type": "CrossEntropy"}}}})",
        "experiment.loss.schedule: expected 0 among the keys, got 3, 7"},
       {R"({"loss": {"type": "LossSchedule", "schedule": {
             "0": {"type": "CrossEntropy"}, "x": {"type": "CrossEntropy"}}}})",
        "experiment.loss.schedule.x: expected a whole number from 0 on as the "
        "key, got 'x'"},
       {R"({"loss": {"type": "LossSchedule"}})",
        "experiment.loss.schedule: missing, LossSchedule needs it (a mapping, "
        "each value a loss such as {type: CrossEntropy, ...}, or a list of "
        "such)"}});
}

TEST(WrongSpecsTest, OfTasksWithoutTheirData) {
  ExpectLines(DigitsExperiment(1),
              {{R"({"task": "predict"})",
                "experiment.data.predict: missing, task: predict needs it"},
               {R"({"task": "test"})",
                "experiment.data.test: missing, task: test needs it"},
               {R"({"task": "benchmark"})",
                "experiment.data.test: missing, task: benchmark needs it"},
               {R"({"task": "validate", "data": {"val": null}})",
                "experiment.data.val: missing, task: validate needs it"}});
}

TEST(WrongSpecsTest, OfCheckpointsThatNoJobHas) {
  ExpectLines(
      DigitsExperiment(1),
      {{R"({"load_from": "job/0123/bset"})",
        "experiment.load_from: expected job/<id>/best or job/<id>/last, got "
        "\"job/0123/bset\""},
       {R"({"resume": "job/0123"})",
        "experiment.resume: expected job/<id>/best or job/<id>/last, got "
        "\"job/0123\""}});
  EXPECT_THAT(LinesOf(DigitsExperiment(1),
                      R"({"load_from": "job/0123/best", "resume": "auto"})"),
              IsEmpty());
}

TEST(WrongSpecsTest, OfSplitsOfOneDataSetThatOverlap) {
  ExpectLines(
      DigitsExperiment(1),
      {{R"({"all": {"type": "Digits", "file": "d"},
            "data": {"train": {"type": "Split", "dataset": "${ref:all}",
                               "part": "train", "file": null, "split": null},
                     "val": {"type": "Split", "dataset": "${ref:all}",
                             "part": "val", "seed": 1, "file": null, "split": null}}})",
        "experiment.data.val.seed: expected 0 as in experiment.data.train, "
        "which has the same dataset, got 1: their parts would overlap"},
       // Read alike, and then transformed.
       {R"({"data": {"train": {"type": "Split", "part": "train", "file": null,
                               "split": null,
                               "dataset": {"type": "Digits", "file": "d",
                                           "transforms": [
                                             {"type": "ToFloat"}]}},
                     "val": {"type": "Split", "part": "val", "seed": 1,
                             "file": null, "split": null,
                             "dataset": {"type": "Digits", "file": "d"}}}})",
        "experiment.data.val.seed: expected 0 as in experiment.data.train, "
        "which has the same dataset, got 1: their parts would overlap"}});
}

TEST(WrongSpecsTest, OfAModelThatIsNoGanForTheGanRunner) {
  Json experiment = GanExperiment(1);
  experiment["model"] = {{"type", "DcGenerator"}, {"size", 8}};
  EXPECT_THAT(LinesOf(experiment, "{}"),
              ElementsAre("experiment.model: expected a GAN such as {type: "
                          "GanModel, ...}, which GanTrainingRunner "
                          "(experiment.runner) trains, got DcGenerator"));
  EXPECT_THAT(LinesOf(experiment, R"({"task": "predict",
                                      "data": {"predict": {"type": "Digits",
                                                           "file": "d"}}})"),
              IsEmpty());
}

TEST(WrongSpecsTest, OfLossesThatDoNotFitTheGanRunner) {
  ExpectLines(
      GanExperiment(1),
      {{R"({"runner": {"g_loss": {"type": "CrossEntropy"}}})",
        "experiment.runner.g_loss: CrossEntropy reads output, target, expected "
        "a loss that reads score_fake, score_real or fake, which "
        "GanTrainingRunner makes"},
       {R"({"runner": {"d_loss": {"type": "RaGanGeneratorLoss"}}})",
        "experiment.runner.d_loss: RaGanGeneratorLoss is a loss of the "
        "generator, expected one of the discriminator"},
       {R"({"runner": {"g_loss": [{"type": "L1", "output": "fake"},
                                  {"type": "HingeGanDiscriminatorLoss"}]}})",
        "experiment.runner.g_loss[1]: HingeGanDiscriminatorLoss is a loss of "
        "the discriminator, expected one of the generator"},
       {R"({"runner": {"d_loss": "${ref:mine}"}, "mine": {"type": "MSE"}})",
        "experiment.mine: MSE reads output, target, expected a loss that reads "
        "score_real or score_fake, which GanTrainingRunner makes"},
       {R"({"runner": {"g_loss": {"type": "LossSchedule", "schedule": {
             "0": {"type": "RaGanGeneratorLoss"}, "5": {"type": "L1"}}}}})",
        "experiment.runner.g_loss.schedule.5: L1 reads output, target, "
        "expected a loss that reads score_fake, score_real or fake, which "
        "GanTrainingRunner makes"},
       {R"({"loss": {"type": "L1"}})",
        "experiment.loss: L1 reads output, target, expected a loss that reads "
        "fake, which GanTrainingRunner makes"}});
}

}  // namespace
}  // namespace epochd::engine
