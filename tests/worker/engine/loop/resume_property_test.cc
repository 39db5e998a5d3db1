// SPDX-License-Identifier: Apache-2.0
//
// A property: whatever the job, wherever it was saved, and on however many
// ranks, a run that goes on from a checkpoint ends in the same bits as one that
// was never interrupted, and saving changes nothing. Jobs and places are drawn
// from fixed seeds; a failure names its job.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "hooks/checkpoint_saver.h"
#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/dist/ranks.h"
#include "worker/engine/checkpoint/checkpoint.h"

namespace epochd::engine {
namespace {

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() %
                                      static_cast<uint64_t>(high - low + 1));
  }
  bool Coin() { return Between(0, 1) == 1; }
  template <class T>
  T OneOf(const std::vector<T>& values) {
    return values[static_cast<size_t>(
        Between(0, static_cast<int64_t>(values.size()) - 1))];
  }

 private:
  std::mt19937 random_;
};

Json RandomOptimizer(Dice& dice) {
  return dice.OneOf<Json>(
      {{{"type", "SGD"}, {"lr", 0.05}, {"momentum", 0.9}},
       {{"type", "SGD"}, {"lr", 0.05}, {"momentum", 0.8}, {"nesterov", true}},
       {{"type", "Adam"}, {"lr", 0.003}, {"amsgrad", true}},
       {{"type", "AdamW"}, {"lr", 0.003}, {"weight_decay", 0.1}}});
}

// One schedule, or a rate's beside a momentum's, or none.
Json RandomScheduler(Dice& dice) {
  return dice.OneOf<Json>(
      {Json(),
       {{"type", "StepLR"}, {"step_size", 1}, {"gamma", 0.5}},
       {{"type", "CosineAnnealingLR"}, {"T_max", 3}},
       {{"type", "ReduceLROnPlateau"}, {"patience", 0}},
       {{{"type", "LinearLR"}, {"by", "iteration"}, {"end", 9}},
        {{"type", "LinearMomentum"},
         {"by", "step"},
         {"start_factor", 0.5},
         {"end", 9}}},
       {{{"type", "CosineAnnealingMomentum"},
         {"T_max", 7},
         {"by", "iteration"}}}});
}

Json RandomRunner(Dice& dice) {
  Json runner = {
      {"type", "TrainingRunner"},
      {"gradient_accumulation_steps", dice.Between(1, 3)},
      {"remainder", dice.OneOf<std::string>({"full", "actual"})},
      {"gradient_mean", dice.OneOf<std::string>({"batches", "items"})}};
  const auto precision =
      dice.OneOf<std::string>({"fp32", "fp32", "bf16", "fp16"});
  runner["precision"] = precision;
  // The first steps overflow, and then it grows now and then.
  if (precision == "fp16") {
    runner["grad_scaler"] = {{"init_scale", 3e5}, {"growth_interval", 3}};
  }
  return runner;
}

// Nothing: each sample once.
Json RandomSampler(Dice& dice) {
  return dice.OneOf<Json>(
      {Json(),
       Json(),
       Json(),
       {{"type", "WeightedSampler"}, {"inverse_frequency", true}},
       {{"type", "BalancedSampler"}, {"per_class", 120}}});
}

// Of one loss, or of two that are balanced.
void AddLosses(Dice& dice, Json& job) {
  if (dice.Coin()) return;
  job["loss"] = {
      {{"type", "CrossEntropy"}},
      {{"type", "CrossEntropy"}, {"label_smoothing", 0.3}, {"name", "smooth"}}};
  if (dice.Coin()) return;
  job["loss_balancer"] = {{"type", "GradientNorm"},
                          {"update_every_n_steps", 3}};
}

Json RandomStopping(Dice& dice) {
  Json stopping = {
      {"type", "EarlyStopping"},
      {"rule", dice.OneOf<std::string>({"srforge", "torch_ecg", "mmengine",
                                        "phijax", "lightning", "keras"})},
      {"patience", dice.Between(1, 3)},
      {"min_delta", 0.02},
      {"min_epochs", 2}};
  if (dice.Coin()) {
    stopping["every"] = "2 steps";
    stopping["patience"] = dice.Between(3, 7);
  }
  return stopping;
}

Json RandomHooks(Dice& dice) {
  Json hooks = Json::array();
  if (dice.Coin()) hooks.push_back({{"type", "GradientClip"}});
  if (dice.Coin()) {
    hooks.push_back({{"type", "MetricLogger"},
                     {"tensorboard", false},
                     {"every_steps", 3},
                     {"window", 4},
                     {"statistics",
                      {{{"name", "train/step_loss"},
                        {"method", "min"},
                        {"window", "global"},
                        {"log_name", "train/least_loss"}}}}});
    hooks.push_back({{"type", "LearningRateMonitor"}});
  }
  if (dice.Coin()) hooks.push_back(RandomStopping(dice));
  switch (dice.Between(0, 3)) {
    case 0:
      hooks.push_back({{"type", "EMA"}});
      break;
    case 1:
      hooks.push_back(
          {{"type", "SWA"},
           {"every", dice.OneOf<std::string>({"1 epoch", "4 steps"})}});
      break;
    default:
      break;
  }
  return hooks;
}

Json RandomDdp(Dice& dice) {
  Json ddp = {
      {"buffers", dice.OneOf<std::string>({"broadcast", "mean", "local"})},
      {"uneven", dice.OneOf<std::string>({"pad", "drop"})}};
  switch (dice.Between(0, 4)) {
    case 0:
      ddp["find_unused_parameters"] = true;
      break;
    case 1:
      ddp["static_graph"] = true;
      break;
    case 2:
      ddp["compression"] = dice.OneOf<std::string>({"fp16", "bf16"});
      break;
    case 3:
      ddp["compression"] = "powersgd";
      ddp["powersgd_start_step"] = 3;
      ddp["powersgd_rank"] = dice.Between(1, 3);
      break;
    default:
      // Several buckets, which the first step regroups.
      ddp["bucket_mb"] = 0.01;
  }
  if (dice.Coin()) ddp["shard_optimizer"] = true;
  return ddp;
}

// The same by iterations: it ends and validates within epochs.
void ByIterations(Dice& dice, Json& job) {
  job["trainer"] = {{"type", "IterationTrainer"},
                    {"max_iterations", dice.Between(17, 31)},
                    {"val_interval", dice.Between(4, 9)}};
}

Json RandomClassifier(Dice& dice, int world_size) {
  Json job = DigitsExperiment(static_cast<int>(dice.Between(2, 3)));
  job["model"]["hidden"] = dice.OneOf<Json>({Json{8}, Json{24, 16}});
  job["model"]["dropout"] = dice.OneOf<double>({0.0, 0.2});
  job["optimizer"] = RandomOptimizer(dice);
  job.erase("lr_scheduler");
  Json scheduler = RandomScheduler(dice);
  if (!scheduler.is_null()) job["lr_scheduler"] = scheduler;
  AddLosses(dice, job);
  Json& train = job["data"]["train"];
  train["batch_size"] = dice.OneOf<int64_t>({96, 160}) / world_size;
  train["image"] = true;
  train["transforms"].push_back({{"type", "RandomShift"}, {"pixels", 1}});
  Json sampler = RandomSampler(dice);
  if (!sampler.is_null()) {
    train.erase("shuffle");
    train["sampler"] = sampler;
  }
  job["data"]["val"]["image"] = true;
  job["runner"] = RandomRunner(dice);
  job["hooks"] = RandomHooks(dice);
  if (dice.Coin()) ByIterations(dice, job);
  if (world_size > 1) job["ddp"] = RandomDdp(dice);
  return job;
}

Json RandomGan(Dice& dice) {
  Json job = GanExperiment(2);
  job["data"]["train"]["batch_size"] = 200;
  const Json step_size = {{"type", "StepLR"}, {"step_size", 1}};
  job["lr_schedulers"] = {{"generator", step_size},
                          {"discriminator", step_size}};
  job["optimizers"]["discriminator"] = RandomOptimizer(dice);
  job["hooks"] = Json::array({{{"type", "GradientClip"}}});
  if (dice.Coin()) {
    job["hooks"].push_back(
        {{"type", "StepRatio"}, {"ratio", dice.OneOf<double>({0.5, 2.0})}});
  }
  if (dice.Coin()) {
    job["hooks"].push_back(
        {{"type", "DiscriminatorWarmup"}, {"batches", dice.Between(1, 10)}});
  }
  if (dice.Coin()) job["hooks"].push_back({{"type", "R1GradientPenalty"}});
  if (dice.Coin()) job["hooks"].push_back({{"type", "EMA"}});
  if (dice.Coin()) {
    job["runner"]["precision"] = "fp16";
    job["runner"]["grad_scaler"] = {{"init_scale", 3e5},
                                    {"growth_interval", 2}};
  }
  return job;
}

Json RandomJob(Dice& dice, int world_size) {
  // A GAN trains on one device.
  Json job = world_size == 1 && dice.Between(0, 2) == 0
                 ? RandomGan(dice)
                 : RandomClassifier(dice, world_size);
  job["seed"] = dice.Between(0, 1 << 30);
  job["data"]["train"]["threads"] = dice.OneOf<int64_t>({0, 1, 3});
  return job;
}

// One rank: trains to the end, saving every `every` steps (0: at the end
// alone) into `output`, from `from` on when that is not empty.
int TrainOn(const GlooOptions& options, const Json& job,
            const std::string& output, int64_t every, const std::string& from) {
  at::set_num_threads(1);
  TestRun run(job, output,
              options.world_size > 1 ? MakeGlooCommunicator(options)
                                     : MakeSingleCommunicator());
  hooks::CheckpointSaver::Options saver;
  saver.every_epochs.reset();
  if (every > 0) saver.every_steps = every;
  saver.keep_last = -1;
  saver.keep_best = 0;
  run.trainer().AddHook(std::make_shared<hooks::CheckpointSaver>(saver));
  if (from.empty()) {
    run.trainer().Start();
  } else {
    run.trainer().Restore(ReadCheckpoint(from));
  }
  return run.trainer().Run() == Trainer::Outcome::kCompleted ? 0 : 2;
}

// All that a run ends with, but for what depends on the clock.
Snapshot Ending(const std::string& output) {
  Snapshot snapshot = ReadCheckpoint(output + "/checkpoints/last");
  snapshot.json.erase("epoch_seconds");
  snapshot.json.erase("training_seconds");
  snapshot.json.erase("data_wait_seconds");
  return snapshot;
}

void ExpectSame(const Snapshot& a, const Snapshot& b, const std::string& what) {
  EXPECT_EQ(a.json, b.json) << what;
  for (const auto& [one, other] :
       {std::pair(&a.model, &b.model), std::pair(&a.state, &b.state)}) {
    ASSERT_EQ(one->size(), other->size()) << what;
    for (size_t i = 0; i < one->size(); ++i) {
      EXPECT_EQ((*one)[i].name, (*other)[i].name) << what;
      EXPECT_TRUE((*one)[i].tensor.equal((*other)[i].tensor))
          << what << ": " << (*one)[i].name;
    }
  }
}

// What MetricLogger wrote, but for the time.
std::vector<Json> Logged(const std::string& output) {
  std::vector<Json> lines;
  std::ifstream file(output + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    lines.push_back(Json::parse(line));
    lines.back().erase("time");
  }
  return lines;
}

int NumJobs(int world_size) {
  return world_size == 1 ? 14 : world_size == 2 ? 8 : 5;
}

Dice DiceOf(int world_size, int number) {
  return Dice(static_cast<uint32_t>(100 * world_size + number));
}

TEST(ResumePropertyJobsTest, AllThatIsDrawnComes) {
  std::string all;
  for (int world_size : {1, 2, 4}) {
    for (int number = 0; number < NumJobs(world_size); ++number) {
      Dice dice = DiceOf(world_size, number);
      all += RandomJob(dice, world_size).dump();
    }
  }
  for (const char* part : {"\"SGD\"",
                           "\"Adam\"",
                           "\"AdamW\"",
                           "StepLR",
                           "CosineAnnealingLR",
                           "ReduceLROnPlateau",
                           "LinearMomentum",
                           "CosineAnnealingMomentum",
                           "\"fp16\"",
                           "\"bf16\"",
                           "\"items\"",
                           "\"actual\"",
                           "WeightedSampler",
                           "BalancedSampler",
                           "GradientNorm",
                           "EarlyStopping",
                           "2 steps",
                           "MetricLogger",
                           "EMA",
                           "SWA",
                           "GanModel",
                           "StepRatio",
                           "DiscriminatorWarmup",
                           "R1GradientPenalty",
                           "IterationTrainer",
                           "shard_optimizer",
                           "powersgd",
                           "static_graph",
                           "find_unused_parameters",
                           "bucket_mb",
                           "compression"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part;
  }
}

class ResumePropertyTest : public testing::TestWithParam<int> {};

TEST_P(ResumePropertyTest, Case81And83And84And148EndsInTheSameBits) {
  const int world_size = GetParam();
  const std::vector<int> all_done(static_cast<size_t>(world_size), 0);
  for (int number = 0; number < NumJobs(world_size); ++number) {
    Dice dice = DiceOf(world_size, number);
    const Json job = RandomJob(dice, world_size);
    // With fp16 some of the few steps are left out.
    const bool is_fp16 = job["runner"].value("precision", "") == "fp16";
    const int64_t every = dice.Between(1, is_fp16 ? 2 : 5);
    const TempFolder folder;
    const auto train = [&](const char* name, int64_t save_every,
                           const std::string& from) {
      return RunRanks(world_size, [&](const GlooOptions& options) {
        return TrainOn(options, job, folder / name, save_every, from);
      });
    };
    ASSERT_EQ(train("plain", 0, ""), all_done) << job;
    ASSERT_EQ(train("saving", every, ""), all_done) << job;
    std::vector<CheckpointInfo> saved =
        ListCheckpoints(folder / "saving/checkpoints");
    ASSERT_GT(saved.size(), 1u) << job;
    saved.pop_back();  // the end
    const CheckpointInfo from = dice.OneOf(saved);
    ASSERT_EQ(train("resumed", 0, from.path), all_done) << job;
    const Snapshot plain = Ending(folder / "plain");
    const std::string what = std::to_string(world_size) + " ranks, from " +
                             from.path + ", of " + job.dump();
    ExpectSame(Ending(folder / "saving"), plain, "saving: " + what);
    ExpectSame(Ending(folder / "resumed"), plain, "resumed: " + what);
    EXPECT_EQ(Logged(folder / "resumed"), Logged(folder / "plain")) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ResumePropertyTest, testing::Values(1, 2, 4),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace epochd::engine
