// SPDX-License-Identifier: Apache-2.0
#include "worker/link/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/worker/link/temp_dir.h"
#include "worker/link/event_line.h"

namespace epochd::link {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::vector<Json> Lines(const std::string& path) {
  std::vector<Json> lines;
  std::istringstream text(Slurp(path));
  for (std::string line; std::getline(text, line);) {
    lines.push_back(Json::parse(line));
  }
  return lines;
}

Json Progress(int step) {
  return {{"type", kProgress}, {"step", step}, {"pad", std::string(1000, 'x')}};
}

// A disk that takes `room` bytes, then says ENOSPC.
struct Disk {
  int64_t room = 0;
  EventWriter::WriteFunction function() {
    return [this](int fd, const void* data, size_t size) -> ssize_t {
      if (room <= 0) {
        errno = ENOSPC;
        return -1;
      }
      const ssize_t n =
          write(fd, data, std::min(size, static_cast<size_t>(room)));
      room -= n;
      return n;
    };
  }
};

TEST(EventWriter, AddsTimeAndRankAndTellsTheOffset) {
  const TempDir dir;
  const std::string path = dir / "events.jsonl";
  EventWriter writer(path, 3);
  const int64_t end = writer.Append({{"type", kEpochStarted}, {"epoch", 1}});
  EXPECT_EQ(end, static_cast<int64_t>(Slurp(path).size()));
  const Json line = Lines(path).at(0);
  EXPECT_EQ(line.at("rank"), 3);
  EXPECT_GT(line.at("time").get<double>(), 1.6e9);
}

TEST(EventWriter, SpellsNumbersThatAreNotFinite) {
  const TempDir dir;
  EventWriter writer(dir / "e", 0);
  writer.Append({{"type", kMetrics},
                 {"metrics",
                  {{"a", std::nan("")},
                   {"b", -std::numeric_limits<double>::infinity()},
                   {"c", -0.0}}}});
  const Json metrics = Lines(dir / "e").at(0).at("metrics");
  EXPECT_EQ(metrics.at("a"), "NaN");
  EXPECT_EQ(metrics.at("b"), "-Infinity");
  EXPECT_TRUE(std::signbit(metrics.at("c").get<double>()));
}

TEST(EventWriter, ReplacesALineTooLongByANotice) {
  const TempDir dir;
  EventWriter writer(dir / "e", 0);
  writer.Append(
      {{"type", kMetrics}, {"text", std::string(kMaxLineBytes, 'x')}});
  const Json line = Lines(dir / "e").at(0);
  EXPECT_EQ(line.at("type"), kNotice);
  EXPECT_THAT(line.at("text").get<std::string>(), HasSubstr("'metrics'"));
}

TEST(EventWriter, EndsTheTornLineOfAnEarlierProcess) {
  const TempDir dir;
  Append(dir / "e", "{\"type\":\"sta");
  EventWriter writer(dir / "e", 0);
  writer.Append({{"type", kStarted}});
  EXPECT_THAT(Slurp(dir / "e"), testing::StartsWith("{\"type\":\"sta\n{"));
}

TEST(EventWriter, WritesBrokenUtf8WithoutThrowing) {
  const TempDir dir;
  EventWriter writer(dir / "e", 0);
  writer.Append(NoticeLine("error", "torn \xe2\x82 glyph"));
  EXPECT_EQ(Lines(dir / "e").size(), 1U);
}

TEST(EventWriter, KeepsLinesOverAFullDiskAndSaysSo) {
  const TempDir dir;
  const std::string path = dir / "e";
  Disk disk{.room = 40};
  EventWriter writer(path, 0, disk.function());
  writer.Append({{"type", kEpochStarted}, {"epoch", 1}});
  const int64_t checkpoint_end =
      writer.Append({{"type", kCheckpointSaved}, {"path", "/c"}});
  EXPECT_FALSE(writer.Flush());
  EXPECT_EQ(Slurp(path).size(), 40U);

  disk.room = 1 << 20;
  EXPECT_TRUE(writer.Flush());
  const std::vector<Json> lines = Lines(path);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1].at("type"), kCheckpointSaved);
  EXPECT_EQ(Slurp(path).find("\n{", static_cast<size_t>(checkpoint_end) - 1),
            static_cast<size_t>(checkpoint_end) - 1);
  EXPECT_THAT(lines[2].at("text").get<std::string>(),
              HasSubstr("could not be written"));
}

TEST(EventWriter, GivesUpOnlyWhatALaterLineReplaces) {
  const TempDir dir;
  const std::string path = dir / "e";
  Disk disk{.room = 0};
  EventWriter writer(path, 0, disk.function());
  for (int step = 0; step < 6000; ++step) writer.Append(Progress(step));
  writer.Append({{"type", kCheckpointSaved}, {"path", "/c"}});
  EXPECT_LT(writer.offset(), 5 << 20);

  disk.room = int64_t{1} << 30;
  EXPECT_TRUE(writer.Flush());
  const std::vector<Json> lines = Lines(path);
  EXPECT_LT(lines.size(), 6000U);
  EXPECT_EQ(lines[lines.size() - 2].at("type"), kCheckpointSaved);
}

TEST(EventWriter, LinesOfManyThreadsStayWhole) {
  const TempDir dir;
  EventWriter writer(dir / "e", 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&writer] {
      for (int step = 0; step < 200; ++step) writer.Append(Progress(step));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Lines(dir / "e").size(), 800U);
}

}  // namespace
}  // namespace epochd::link
