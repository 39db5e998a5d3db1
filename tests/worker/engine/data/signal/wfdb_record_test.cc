// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_record.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <numeric>

#include "tests/worker/engine/data/signal/signal_files.h"

namespace epochd::engine {
namespace {

using testing::HasSubstr;

// float32 bits as the generator writes them.
std::vector<int64_t> Bits(const at::Tensor& row) {
  std::vector<int64_t> bits;
  const float* values = row.const_data_ptr<float>();
  for (int64_t i = 0; i < row.numel(); ++i) {
    int32_t raw = 0;
    std::memcpy(&raw, values + i, sizeof raw);
    bits.push_back(std::isnan(values[i]) ? -1 : raw);
  }
  return bits;
}

std::vector<int> All(const WfdbRecord& record) {
  std::vector<int> all(record.signals().size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// A mean of several samples may differ in the last bit.
void ExpectNearBits(int64_t ours, int64_t theirs) {
  if (theirs == -1 || ours == -1) {
    EXPECT_EQ(ours, theirs);
  } else {
    EXPECT_LE(std::abs(ours - theirs), 1);
  }
}

TEST(WfdbRecord, ReadsWhatThePythonPackageReads) {
  const auto recorded = RecordedJson("wfdb.json");
  int windows = 0;
  for (const auto& [name, expected] : recorded.at("records").items()) {
    SCOPED_TRACE(name);
    const WfdbRecord record(Recorded(name), ChecksumPolicy::kError);
    EXPECT_EQ(record.fs(), expected.at("fs").get<double>());
    ASSERT_EQ(record.num_frames(), expected.at("num_frames").get<int64_t>());
    EXPECT_EQ(record.comments(),
              expected.at("comments").get<std::vector<std::string>>());
    for (const auto& window : expected.at("windows")) {
      const auto from = window.at("from").get<int64_t>();
      const auto to = window.at("to").get<int64_t>();
      SCOPED_TRACE("[" + std::to_string(from) + ", " + std::to_string(to) +
                   ")");
      const auto& names = window.at("names");
      const auto& physical = window.at("physical");
      // A window that lies in some segments only has signals only of them in
      // wfdb; here it has all.
      for (size_t i = 0; i < names.size(); ++i) {
        const int signal = names[i].is_null() ? static_cast<int>(i)
                                              : record.FindSignal(names[i]);
        ASSERT_GE(signal, 0);
        const at::Tensor row = record.Physical(from, to, {signal});
        const std::vector<int64_t> bits = Bits(row[0]);
        ASSERT_EQ(bits.size(), physical[i].size());
        for (size_t k = 0; k < bits.size(); ++k) {
          ExpectNearBits(bits[k], physical[i][k].get<int64_t>());
        }
        if (record.signals()[signal].samples_per_frame == 1 &&
            name.starts_with("f")) {
          EXPECT_EQ(bits, physical[i].get<std::vector<int64_t>>());
        }
      }
      ++windows;
    }
  }
  EXPECT_GT(windows, 130);
}

TEST(WfdbRecord, AWindowIsAPartOfTheWhole) {
  for (const char* name :
       {"f212x3", "f310x3", "f311x1", "f24x3", "frames", "fixed", "variable"}) {
    SCOPED_TRACE(name);
    const WfdbRecord record(Recorded(name));
    const at::Tensor whole =
        record.Physical(0, record.num_frames(), All(record));
    for (int64_t from = 0; from < record.num_frames(); from += 3) {
      for (int64_t to : {from, from + 1, from + 4, record.num_frames()}) {
        to = std::min(to, record.num_frames());
        const at::Tensor window = record.Physical(from, to, All(record));
        EXPECT_TRUE(at::allclose(window, whole.slice(1, from, to), 0, 0,
                                 /*equal_nan=*/true))
            << from << " " << to;
      }
    }
  }
}

TEST(WfdbRecord, GivesSignalsInTheOrderAskedFor) {
  const WfdbRecord record(Recorded("f16x3"));
  const at::Tensor both = record.Physical(3, 9, {2, 0, 2});
  EXPECT_EQ(Bits(both[0]), Bits(record.Physical(3, 9, {2})[0]));
  EXPECT_EQ(Bits(both[1]), Bits(record.Physical(3, 9, {0})[0]));
  EXPECT_EQ(Bits(both[2]), Bits(both[0]));
  EXPECT_NE(Bits(both[1]), Bits(both[0]));
}

TEST(WfdbRecord, ASkewMovesTheLastFramesOut) {
  const WfdbRecord record(Recorded("frames"));
  ASSERT_EQ(record.num_frames(), 30);
  const at::Tensor end = record.Physical(26, 30, {0, 1, 2});
  const auto missing = [&](int64_t row) {
    return at::isnan(end[row]).sum().item<int64_t>();
  };
  EXPECT_EQ(missing(0), 2);
  EXPECT_EQ(missing(1), 0);
  EXPECT_EQ(missing(2), 3);
}

using WfdbRecordFiles = SignalFiles;

TEST_F(WfdbRecordFiles, AWrongChecksumIsAnErrorWhereItIsAskedFor) {
  Write("a.dat", std::string("\x01\0\x02\0", 4));
  const std::string path = Write("a.hea", "a 1 100 2\na.dat 16 1 16 0 1 4\n");
  const WfdbRecord strict(path, ChecksumPolicy::kError);
  EXPECT_THAT(
      ErrorOf([&] { strict.Physical(0, 2, {0}); }),
      HasSubstr("a.dat\": byte 0: signal 0 (\"\") sums to 3; its header "
                "tells of 4"));
  // A part has no checksum.
  EXPECT_EQ(strict.Physical(1, 2, {0}).item<float>(), 2);
  // Told, and read all the same, where a warning is enough.
  struct Heard : c10::WarningHandler {
    void process(const c10::Warning& warning) override {
      messages.push_back(warning.msg());
    }
    std::vector<std::string> messages;
  } heard;
  {
    const c10::WarningUtils::WarningHandlerGuard guard(&heard);
    const WfdbRecord warns(path, ChecksumPolicy::kWarn);
    // Once, however often it is read.
    for (int epoch = 0; epoch < 3; ++epoch) {
      EXPECT_EQ(warns.Physical(0, 2, {0})[0][1].item<float>(), 2);
    }
  }
  ASSERT_EQ(heard.messages.size(), 1);
  EXPECT_THAT(heard.messages[0], HasSubstr("a.dat\": byte 0: signal 0"));
  const WfdbRecord lax(path, ChecksumPolicy::kIgnore);
  EXPECT_EQ(lax.Physical(0, 2, {0})[0][1].item<float>(), 2);
}

TEST_F(WfdbRecordFiles, ATruncatedFileIsRefusedWhenTheRecordIsOpened) {
  Write("a.dat", "\x01\x02\x03");
  const std::string path = Write("a.hea", "a 2 100 1\na.dat 16\na.dat 16\n");
  EXPECT_THAT(
      ErrorOf([&] { WfdbRecord record(path); }),
      HasSubstr("a.dat\": byte 3: ends after 0 frames of format 16 from "
                "byte 0; its header tells of 1"));
}

TEST_F(WfdbRecordFiles, AFileThatShrankLaterIsRefusedByNameAndByte) {
  const std::string data = Write("a.dat", "abcdef");
  const WfdbRecord record(Write("a.hea", "a 1 100 3\na.dat 16\n"));
  std::filesystem::resize_file(data, 4);
  const std::string error = ErrorOf([&] { record.Physical(1, 3, {0}); });
  EXPECT_THAT(error, HasSubstr("a.dat"));
  EXPECT_THAT(error, HasSubstr("byte 4: ends; 2 bytes more are needed"));
}

TEST_F(WfdbRecordFiles, WhatIsMissingOrNoFileIsNamed) {
  EXPECT_THAT(ErrorOf([&] { WfdbRecord record(Path("b")); }),
              HasSubstr("b.hea"));
  const std::string path = Write("a.hea", "a 1 100 3\na.dat 16\n");
  EXPECT_THAT(ErrorOf([&] { WfdbRecord record(path); }), HasSubstr("a.dat"));
  ASSERT_EQ(mkfifo(Path("a.dat").c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf([&] { WfdbRecord record(path); }),
              HasSubstr("not a regular file"));
}

TEST_F(WfdbRecordFiles, SegmentsMustFit) {
  Write("s.dat", "abcd");
  Write("s.hea", "s 1 100 2\ns.dat 16\n");
  Write("t.hea", "t 1 200 2\ns.dat 16\n");
  const struct {
    const char* header;
    const char* problem;
  } kCases[] = {
      {"r/1 1 100 2\nr 2\n", "r.hea\" line 1: is a segment of a record and"},
      {"r/1 1 100 3\ns 3\n",
       "r.hea\" line 2: segment \"s\" has 2 frames; the record's header tells "
       "of 3"},
      {"r/1 1 100 5\ns 2\n", "r.hea\" line 1: its segments have 2 frames"},
      {"#\nr/1 1 100\nt 2\n", "r.hea\" line 3: segment \"t\" has 200"},
      {"r/1 2 100 2\ns 2\n", "line 1: tells of 2 signals, its first segment"},
      {"r/1 1 100 2\n~ 2\n", "line 1: has nothing but gaps"},
      {"r/1 1 100 2\nnone 2\n", "none.hea"},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.header);
    const std::string path = Write("r.hea", each.header);
    EXPECT_THAT(ErrorOf([&] { WfdbRecord record(path); }),
                HasSubstr(each.problem));
  }
}

TEST_F(WfdbRecordFiles, SignalsOfOneNameKeepTheirOrderInEachSegment) {
  Write("l.hea",
        "l 3 100 0\n~ 0 1 16 0 0 0 0 ECG\n~ 0 1 16 0 0 0 0 Resp\n"
        "~ 0 1 16 0 0 0 0 ECG\n");
  Write("s.dat", std::string("\x01\0\x02\0", 4));
  Write("s.hea",
        "s 2 100 1\ns.dat 16 1 16 0 0 0 0 ECG\n"
        "s.dat 16 1 16 0 0 0 0 ECG\n");
  Write("t.dat", std::string("\x03\0", 2));
  Write("t.hea", "t 1 100 1\nt.dat 16 1 16 0 0 0 0 ECG\n");
  const WfdbRecord record(Write("r.hea", "r/3 3 100 2\nl 0\ns 1\nt 1\n"));
  const at::Tensor both = record.Physical(0, 2, {0, 2});
  EXPECT_EQ(both[0][0].item<float>(), 1);
  EXPECT_EQ(both[1][0].item<float>(), 2);
  EXPECT_EQ(both[0][1].item<float>(), 3);
  EXPECT_TRUE(at::isnan(both[1][1]).item<bool>());
}

TEST_F(WfdbRecordFiles, WindowsBeyondTheRecordAndHugeOnesAreRefused) {
  Write("s.dat", "abcd");
  const WfdbRecord record(Write("s.hea", "s 1 100 2\ns.dat 16\n"));
  EXPECT_THAT(ErrorOf([&] { record.Physical(1, 3, {0}); }),
              HasSubstr("frames [1, 3) are asked for; it has 2"));
  EXPECT_THAT(ErrorOf([&] { record.Physical(0, 1, {1}); }),
              HasSubstr("signal 1 is asked for; it has 1"));
  const WfdbRecord gap(
      Write("g.hea", "g/2 1 100 200000000002\ns 2\n~ 200000000000\n"));
  EXPECT_THAT(ErrorOf([&] { gap.Physical(0, gap.num_frames(), {0}); }),
              HasSubstr("too many"));
  EXPECT_TRUE(at::isnan(gap.Physical(5, 6, {0})).item<bool>());
}

}  // namespace
}  // namespace epochd::engine
