// SPDX-License-Identifier: Apache-2.0
//
// A property: whatever the job, wherever it was saved, and on however many
// ranks, a run that goes on from a checkpoint ends in the same bits as one that
// was never interrupted, and saving changes nothing. Jobs and places are drawn
// from fixed seeds; a failure names its job.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

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

Json RandomScheduler(Dice& dice) {
  return dice.OneOf<Json>(
      {Json(),
       {{"type", "StepLR"}, {"step_size", 1}, {"gamma", 0.5}},
       {{"type", "CosineAnnealingLR"}, {"T_max", 3}},
       {{"type", "ReduceLROnPlateau"}, {"patience", 0}}});
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
  return ddp;
}

// The same by iterations: it ends and validates within epochs.
void ByIterations(Dice& dice, Json& job) {
  job["trainer"] = {{"type", "IterationTrainer"},
                    {"max_iterations", dice.Between(17, 31)},
                    {"val_interval", dice.Between(4, 9)}};
}

Json RandomJob(Dice& dice, int world_size) {
  Json job = DigitsExperiment(static_cast<int>(dice.Between(2, 3)));
  job["seed"] = dice.Between(0, 1 << 30);
  job["model"]["hidden"] = dice.OneOf<Json>({Json{8}, Json{24, 16}});
  job["model"]["dropout"] = dice.OneOf<double>({0.0, 0.2});
  job["optimizer"] = RandomOptimizer(dice);
  job.erase("lr_scheduler");
  Json scheduler = RandomScheduler(dice);
  if (!scheduler.is_null()) job["lr_scheduler"] = scheduler;
  Json& train = job["data"]["train"];
  train["batch_size"] = dice.OneOf<int64_t>({96, 160}) / world_size;
  train["threads"] = dice.OneOf<int64_t>({0, 1, 3});
  train["image"] = true;
  train["transforms"].push_back({{"type", "RandomShift"}, {"pixels", 1}});
  job["data"]["val"]["image"] = true;
  job["runner"] = {{"type", "TrainingRunner"},
                   {"gradient_accumulation_steps", dice.Between(1, 3)}};
  if (dice.Coin()) job["hooks"] = Json::array();
  if (dice.Coin()) job["hooks"].push_back({{"type", "EMA"}});
  if (dice.Coin()) ByIterations(dice, job);
  if (world_size > 1) job["ddp"] = RandomDdp(dice);
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

class ResumePropertyTest : public testing::TestWithParam<int> {};

TEST_P(ResumePropertyTest, Case81And83And84And148EndsInTheSameBits) {
  const int world_size = GetParam();
  const int jobs = world_size == 1 ? 6 : world_size == 2 ? 5 : 2;
  const std::vector<int> all_done(static_cast<size_t>(world_size), 0);
  for (int number = 0; number < jobs; ++number) {
    Dice dice(static_cast<uint32_t>(100 * world_size + number));
    const Json job = RandomJob(dice, world_size);
    const int64_t every = dice.Between(1, 5);
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
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ResumePropertyTest, testing::Values(1, 2, 4),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace epochd::engine
