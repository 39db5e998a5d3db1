// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/checkpoint/checkpoint.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

namespace fs = std::filesystem;

Snapshot SmallSnapshot() {
  Snapshot snapshot;
  snapshot.model = {{"w", at::arange(10.0).to(at::kFloat)}};
  snapshot.state = {{"optimizer.step", at::ones({1}, at::kDouble)}};
  snapshot.json = {{"epoch", 3}, {"loss", 0.1 + 0.2}};
  return snapshot;
}

TEST(CheckpointTest, BringsBackWhatWasSaved) {
  const TempFolder folder;
  const std::string path = folder / "deep/checkpoints/epoch-0001";
  const SavedCheckpoint saved = WriteCheckpoint(path, SmallSnapshot());
  EXPECT_EQ(saved.path, path);
  EXPECT_EQ(saved.manifest_sha256.size(), 64u);
  int64_t bytes = 0;
  for (const auto& file : fs::directory_iterator(path)) {
    bytes += static_cast<int64_t>(file.file_size());
  }
  EXPECT_EQ(saved.bytes, bytes);
  const Snapshot read = ReadCheckpoint(path);
  EXPECT_EQ(read.json, SmallSnapshot().json);
  EXPECT_TRUE(read.model[0].tensor.equal(SmallSnapshot().model[0].tensor));
  EXPECT_EQ(read.state[0].name, "optimizer.step");
}

TEST(CheckpointTest, NoticesAnyFlippedByte) {
  const TempFolder folder;
  const std::string path = folder / "checkpoint";
  WriteCheckpoint(path, SmallSnapshot());
  for (const char* name :
       {"model.safetensors", "state.safetensors", "state.json"}) {
    const std::string file = path + "/" + name;
    const auto size = static_cast<int64_t>(fs::file_size(file));
    for (int64_t at = 0; at < size; at += 7) {
      std::fstream stream(file,
                          std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(at);
      const char byte = static_cast<char>(stream.get());
      stream.seekp(at);
      stream.put(static_cast<char>(byte ^ 0x10));
      stream.flush();
      EXPECT_THROW(ReadCheckpoint(path), Error) << name << " at " << at;
      stream.seekp(at);
      stream.put(byte);
    }
  }
  EXPECT_NO_THROW(ReadCheckpoint(path));
}

TEST(CheckpointTest, NoticesTruncationAndMissingFiles) {
  for (const char* name : {"model.safetensors", "state.safetensors",
                           "state.json", "manifest.json"}) {
    const TempFolder folder;
    const std::string path = folder / "checkpoint";
    WriteCheckpoint(path, SmallSnapshot());
    const std::string file = path + "/" + name;
    fs::resize_file(file, fs::file_size(file) / 2);
    EXPECT_THROW(ReadCheckpoint(path), Error) << name;
    fs::remove(file);
    EXPECT_THROW(ReadCheckpoint(path), Error) << name;
    // Opening a pipe that nobody writes into would wait for ever.
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    EXPECT_THROW(ReadCheckpoint(path), Error) << name;
  }
}

TEST(CheckpointTest, LeavesNothingVisibleWhenTheDiskIsFull) {
  const TempFolder folder;
  Snapshot snapshot = SmallSnapshot();
  snapshot.model.push_back({"large", at::zeros({1 << 16})});
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(WriteCheckpoint(folder / "checkpoint", snapshot), Error);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_NO_THROW(WriteCheckpoint(folder / "checkpoint", snapshot));
}

TEST(CheckpointTest, RemovesWhatUnfinishedWritesLeft) {
  const TempFolder folder;
  fs::create_directories(folder / ".unfinished-epoch-0002");
  fs::create_directories(folder / "epoch-0001");
  RemoveUnfinished(folder.path());
  EXPECT_FALSE(fs::exists(folder / ".unfinished-epoch-0002"));
  EXPECT_TRUE(fs::exists(folder / "epoch-0001"));
}

}  // namespace
}  // namespace epochd::engine
