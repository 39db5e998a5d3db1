// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/load_from.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/error_of.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"

namespace epochd::trainer {
namespace {

void Save(const std::string& path, int64_t step, double accuracy, double best) {
  engine::WriteCheckpoint(
      path, {{{"w", at::full({1}, static_cast<double>(step))}},
             {},
             {{"step", step},
              {"scores", {{"val/accuracy", accuracy}}},
              {"best",
               {{"metric", "val/accuracy"}, {"value", best}, {"epoch", 2}}}}});
}

double Loaded(const std::string& from, const std::string& storage) {
  return LoadWeights(from, storage).at(0).tensor.item<double>();
}

TEST(LoadFromTest, FindsTheBestAndTheLastOverAllAttempts) {
  const engine::TempFolder storage;
  Save(storage / "j1/attempt-1/checkpoints/a", 10, 0.5, 0.5);
  Save(storage / "j1/attempt-1/checkpoints/b", 20, 0.9, 0.9);
  Save(storage / "j1/attempt-2/checkpoints/c", 30, 0.8, 0.9);
  EXPECT_EQ(Loaded("job/j1/last", storage.path()), 30);
  EXPECT_EQ(Loaded("job/j1/best", storage.path()), 20);
  EXPECT_EQ(Loaded("jobs/j1/best", storage.path()), 20) << "as people see it";
  EXPECT_EQ(Loaded(storage / "j1/attempt-1/checkpoints/a", ""), 10);
}

TEST(LoadFromTest, TheBestOfAnotherJobIsNotTheLastOfThisOne) {
  const engine::TempFolder storage;
  Save(storage / "j2/attempt-1/checkpoints/c", 30, 0.8, 0.9);
  EXPECT_EQ(Loaded("job/j2/last", storage.path()), 30);
  EXPECT_NE(engine::BadSpecOf([&] { Loaded("job/j2/best", storage.path()); })
                .find("its best so far, val/accuracy 0.9 in epoch 3, is not "
                      "among its checkpoints"),
            std::string::npos);
}

TEST(LoadFromTest, ReadsASafetensorsFile) {
  const engine::TempFolder folder;
  engine::WriteSafetensors(folder / "w.safetensors", {{"w", at::ones({1})}});
  EXPECT_EQ(Loaded(folder / "w.safetensors", ""), 1);
}

TEST(LoadFromTest, RefusesWhatIsNotThere) {
  const engine::TempFolder storage;
  for (const char* from : {"job/j2/best", "job/j1", "job/../best",
                           "job/a/b/best", "nothing", "job/best"}) {
    EXPECT_THROW(LoadWeights(from, storage.path()), engine::Error) << from;
  }
}

}  // namespace
}  // namespace epochd::trainer
