// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/checkpoint/checkpoint_writer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <sstream>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/checkpoint/host_copy.h"
#include "worker/engine/optim/adam.h"

namespace epochd::engine {
namespace {

namespace fs = std::filesystem;

Snapshot Of(const at::Tensor& weights, int64_t step) {
  Snapshot snapshot;
  snapshot.model = {{"w", weights}};
  snapshot.state = {{"optimizer.step", at::full({1}, step, at::kDouble)}};
  snapshot.json = {{"step", step}, {"epoch", step}};
  return snapshot;
}

// Every file of a checkpoint with what is in it.
std::map<std::string, std::string> Contents(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& file : fs::directory_iterator(folder)) {
    std::ifstream stream(file.path(), std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    contents[file.path().filename()] = text.str();
  }
  return contents;
}

TEST(CheckpointWriterTest, SavesWhatWasThereWhenItWasStarted) {
  const TempFolder folder;
  CheckpointWriter writer;
  at::Tensor weights = at::arange(1 << 20).to(at::kFloat);
  const at::Tensor before = weights.clone();
  writer.Start(folder / "a", Of(weights, 1));
  // Training goes on at once.
  weights.zero_();
  const auto result = writer.Wait();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->error, "");
  EXPECT_TRUE(ReadCheckpoint(folder / "a").model[0].tensor.equal(before));
  EXPECT_EQ(result->saved.path, folder / "a");
  EXPECT_GT(result->saved.bytes, 4 << 20);
  // A result is handed out once.
  EXPECT_FALSE(writer.Poll());
}

// Parameters with gradients under Adam, which has stepped.
struct Stepped {
  Stepped() : optimizer({{{"w", Parameter()}, {"v", Parameter()}}}, {}) {
    optimizer.Step();
  }
  static at::Tensor Parameter() {
    at::Tensor made = at::ones({1 << 20}).requires_grad_();
    made.mutable_grad() = at::randn({1 << 20});
    return made;
  }
  Snapshot Take() const {
    Snapshot snapshot;
    snapshot.state = optimizer.State();
    snapshot.json = {{"step", 1}};
    snapshot.late = {{optimizer.pending_reads(), {}}};
    for (const NamedTensor& each : snapshot.state) {
      snapshot.late[0].tensors.push_back(each.tensor);
    }
    return snapshot;
  }
  std::map<std::string, at::Tensor> Values() const {
    std::map<std::string, at::Tensor> values;
    for (const auto& [name, tensor] : optimizer.State()) {
      values[name] = tensor.clone();
    }
    return values;
  }
  Adam optimizer;
};

void ExpectEqual(const std::vector<NamedTensor>& state,
                 const std::map<std::string, at::Tensor>& expected) {
  ASSERT_EQ(state.size(), expected.size());
  for (const auto& [name, tensor] : state) {
    EXPECT_TRUE(tensor.equal(expected.at(name))) << name;
  }
}

TEST(HostCopyTest, StateOfAnOptimizerIsCopiedLateButBeforeItsStep) {
  Stepped run;
  const auto before = run.Values();
  HostCopy copy;
  Snapshot snapshot = run.Take();
  copy.Take(snapshot);
  EXPECT_TRUE(snapshot.late.empty());
  run.optimizer.Step();
  copy.Finish();
  ExpectEqual(snapshot.state, before);
  // Not at once: what is written into it meanwhile is seen.
  snapshot = run.Take();
  copy.Take(snapshot);
  for (const NamedTensor& each : run.optimizer.State()) each.tensor.fill_(7);
  copy.Finish();
  EXPECT_EQ(snapshot.state.back().tensor[0].item<float>(), 7);
}

TEST(HostCopyTest, ATensorThatAHookPutInPlaceOfAnothersIsCopiedAtOnce) {
  Stepped run;
  HostCopy copy;
  Snapshot snapshot = run.Take();
  at::Tensor own = at::zeros({4});
  snapshot.state.back().tensor = own;
  copy.Take(snapshot);
  own.fill_(1);
  copy.Finish();
  EXPECT_EQ(snapshot.state.back().tensor.sum().item<float>(), 0);
}

TEST(CheckpointWriterTest, StepsThatFollowAtOnceDoNotReachTheFile) {
  const TempFolder folder;
  Stepped run;
  CheckpointWriter writer;
  for (int i = 0; i < 8; ++i) {
    const auto before = run.Values();
    const std::string path = folder / std::to_string(i);
    writer.Start(path, run.Take());
    run.optimizer.Step();
    run.optimizer.Step();
    ASSERT_EQ(writer.Wait()->error, "");
    ExpectEqual(ReadCheckpoint(path).state, before);
  }
}

TEST(CheckpointWriterTest, UsesItsMemoryAgain) {
  const TempFolder folder;
  CheckpointWriter writer;
  for (int64_t i = 0; i < 3; ++i) {
    Snapshot snapshot = Of(at::full({100}, i, at::kFloat), i);
    if (i == 2) snapshot.model[0].tensor = at::ones({7}, at::kLong);
    writer.Start(folder / std::to_string(i), std::move(snapshot));
    ASSERT_EQ(writer.Wait()->error, "");
  }
  EXPECT_EQ(ReadCheckpoint(folder / "1").model[0].tensor[0].item<float>(), 1);
  EXPECT_EQ(ReadCheckpoint(folder / "2").model[0].tensor.numel(), 7);
}

TEST(CheckpointWriterTest, WaitsForTheLastOneBeforeTheNext) {
  const TempFolder folder;
  {
    CheckpointWriter writer;
    for (int64_t i = 0; i < 5; ++i) {
      writer.Start(folder / std::to_string(i),
                   Of(at::full({1 << 18}, i, at::kFloat), i));
    }
  }
  // The end of the writer waited for the fifth.
  for (int64_t i = 0; i < 5; ++i) {
    const Snapshot read = ReadCheckpoint(folder / std::to_string(i));
    EXPECT_EQ(read.model[0].tensor[0].item<float>(), static_cast<float>(i));
  }
}

TEST(CheckpointWriterTest, TellsOfAFailureAndCanTryAgain) {
  const TempFolder folder;
  CheckpointWriter writer;
  std::ofstream(folder / "file") << "no folder";
  writer.Start(folder / "file/a", Of(at::ones({3}), 1));
  const auto failed = writer.Wait();
  ASSERT_TRUE(failed);
  EXPECT_NE(failed->error.find("file"), std::string::npos);
  fs::remove(folder / "file");
  writer.Retry();
  EXPECT_EQ(writer.Wait()->error, "");
  EXPECT_TRUE(
      ReadCheckpoint(folder / "file/a").model[0].tensor.equal(at::ones({3})));
}

TEST(CheckpointWriterTest, Case75AWriteThatEndsAnywhereLeavesTheOldOneAlone) {
  const TempFolder folder;
  const std::string old = folder / "epoch-0001";
  WriteCheckpoint(old, Of(at::arange(500.0), 1));
  const auto before = Contents(old);
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  // Up to the size of the longest file.
  for (rlim_t bytes = 1; bytes < 2400; bytes += bytes < 16 ? 1 : 97) {
    const rlimit small{bytes, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    CheckpointWriter writer;
    writer.Start(folder / "epoch-0002", Of(at::arange(600.0), 2));
    const auto result = writer.Wait();
    setrlimit(RLIMIT_FSIZE, &limit);
    ASSERT_TRUE(result);
    EXPECT_NE(result->error, "") << bytes;
    EXPECT_FALSE(fs::exists(folder / "epoch-0002")) << bytes;
    EXPECT_EQ(Contents(old), before) << bytes;
  }
  EXPECT_NO_THROW(ReadCheckpoint(old));
  EXPECT_EQ(ListCheckpoints(folder.path()).size(), 1u);
}

TEST(CheckpointFolderTest, Case63ListsByStepNotByName) {
  const TempFolder folder;
  for (int64_t step : {9, 10, 8}) {
    WriteCheckpoint(folder / ("step-" + std::to_string(step)),
                    Of(at::ones({1}), step));
  }
  std::vector<int64_t> steps;
  for (const CheckpointInfo& each : ListCheckpoints(folder.path())) {
    steps.push_back(each.step);
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{8, 9, 10}));
}

TEST(CheckpointFolderTest, Case78TheLastIsFoundAfterAMove) {
  const TempFolder folder;
  for (int64_t step : {1, 2}) {
    const std::string name = "step-" + std::to_string(step);
    WriteCheckpoint(folder / ("run/" + name), Of(at::full({1}, step), step));
    PointAt(folder / "run", "last", name);
  }
  fs::rename(folder / "run", folder / "moved");
  const Snapshot last = ReadCheckpoint(folder / "moved/last");
  EXPECT_EQ(last.json["step"], 2);
  // A link is no checkpoint of its own.
  EXPECT_EQ(ListCheckpoints(folder / "moved").size(), 2u);
}

}  // namespace
}  // namespace epochd::engine
