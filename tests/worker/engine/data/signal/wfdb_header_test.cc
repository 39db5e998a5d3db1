// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/engine/data/signal/signal_files.h"

namespace epochd::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(WfdbHeader, ReadsEveryField) {
  const WfdbHeader header = ParseWfdbHeader(
      "#first\n"
      "rec 2 360.5/1000.25(-12.5) 65 10:00:01.5 17/06/1980\r\n"
      "sub/rec.dat 212x2:5+24 200.5(-7)/mm^2 11 1024 995 -22131 0 lead V5 x\n"
      "\n"
      "rec.d2 61 1e2/uV\n"
      "  # Dx: 1,2 \n",
      "h");
  EXPECT_EQ(header.name, "rec");
  EXPECT_EQ(header.fs, 360.5);
  EXPECT_EQ(header.counter_frequency, 1000.25);
  EXPECT_EQ(header.base_counter, -12.5);
  EXPECT_EQ(header.num_frames, 65);
  EXPECT_EQ(header.base_time, "10:00:01.5");
  EXPECT_EQ(header.base_date, "17/06/1980");
  EXPECT_THAT(header.comments, ElementsAre("first", "Dx: 1,2"));
  ASSERT_EQ(header.signals.size(), 2);
  const WfdbSignal& signal = header.signals[0];
  EXPECT_EQ(signal.file, "sub/rec.dat");
  EXPECT_EQ(signal.format, 212);
  EXPECT_EQ(signal.samples_per_frame, 2);
  EXPECT_EQ(signal.skew, 5);
  EXPECT_EQ(signal.byte_offset, 24);
  EXPECT_EQ(signal.gain, 200.5);
  EXPECT_EQ(signal.baseline, -7);
  EXPECT_EQ(signal.units, "mm^2");
  EXPECT_EQ(signal.adc_resolution, 11);
  EXPECT_EQ(signal.adc_zero, 1024);
  EXPECT_EQ(signal.initial_value, 995);
  EXPECT_EQ(signal.checksum, -22131);
  EXPECT_EQ(signal.block_size, 0);
  EXPECT_EQ(signal.description, "lead V5 x");
  EXPECT_EQ(header.signals[1].gain, 100);
  EXPECT_EQ(header.signals[1].units, "uV");
}

TEST(WfdbHeader, FillsInTheDefaults) {
  const WfdbHeader header =
      ParseWfdbHeader("rec 3\na.dat 16\na.dat 16 0 12 512\nb 80 100(0)\n", "h");
  EXPECT_EQ(header.fs, 250);
  EXPECT_FALSE(header.num_frames);
  EXPECT_EQ(header.signals[0].gain, 200);
  EXPECT_EQ(header.signals[0].units, "mV");
  EXPECT_EQ(header.signals[0].samples_per_frame, 1);
  EXPECT_FALSE(header.signals[0].checksum);
  // A gain of 0 means "not calibrated"; the baseline is the ADC's zero.
  EXPECT_EQ(header.signals[1].gain, 200);
  EXPECT_EQ(header.signals[1].baseline, 512);
  EXPECT_EQ(header.signals[2].baseline, 0);
}

TEST(WfdbHeader, ReadsSegments) {
  const WfdbHeader header =
      ParseWfdbHeader("r/3 4 100 30\nlayout 0\n~ 10\nr_1 20\n", "h");
  EXPECT_TRUE(header.is_multi_segment());
  EXPECT_TRUE(header.has_variable_layout());
  ASSERT_EQ(header.segments.size(), 3);
  EXPECT_EQ(header.segments[1].name, "~");
  EXPECT_EQ(header.segments[2].num_frames, 20);
  EXPECT_EQ(header.num_signals, 4);
}

TEST(WfdbHeader, RefusesNamingFileAndLine) {
  const struct {
    const char* text;
    const char* problem;
  } kCases[] = {
      {"", "line 0: there is no record line"},
      {"# only a comment\n", "line 1: there is no record line"},
      {"rec\n", "line 1: the number of signals is \"\""},
      {"rec -1\n", "the number of signals is \"-1\""},
      {"rec 5000\n", "a whole number from 0 to 4096"},
      {"/2 1\n", "has no record name"},
      {"rec/0 1\n", "the number of segments is \"0\""},
      {"rec/x 1\n", "the number of segments is \"x\""},
      {"rec/99999999 1\n", "the number of segments is \"99999999\""},
      {"rec 1 fast\n", "the sampling frequency is \"fast\""},
      {"rec 1 0\n", "the sampling frequency is not above 0"},
      {"rec 1 nan\n", "the sampling frequency is \"nan\""},
      {"rec 1 100/5(2\n", "the base counter is not closed"},
      {"rec 1 100 -3\n", "the number of samples is \"-3\""},
      {"rec 1 100 99999999999999999999\n", "the number of samples"},
      {"rec 2 100 3\na.dat 16\n", "line 2: has 1 signals; 2 are told"},
      {"rec 0 100 3\na.dat 16\n", "line 2: is one signal more than the 0"},
      {"rec/1 1\na 1\nb 2\n", "line 3: is one segment more than the 1"},
      {"rec/2 1\na 1\n", "has 1 segments; 2 are told"},
      {"rec/1 1\na\n", "the segment's length is \"\""},
      {"rec/2 1\n~ 281474976710656\n~ 1\n",
       "line 3: brings the segments to 281474976710657 frames"},
      {"rec 1\na.dat\n", "line 2: has no format"},
      {"rec 1\na.dat 17\n", "the format is 17; one of 16, 24, 32, 61, 80"},
      {"rec 1\na.dat 0\n", "the format is 0"},
      {"rec 1\na.dat 16x0\n", "samples per frame is \"0\""},
      {"rec 1\na.dat 16x99999999\n", "samples per frame"},
      {"rec 1\na.dat 16:-1\n", "the skew is \"-1\""},
      {"rec 1\na.dat 16+-1\n", "the byte offset is \"-1\""},
      {"rec 1\na.dat 16+1x2\n", "the byte offset is \"1x2\""},
      {"rec 1\na.dat 16 2(3\n", "the baseline is not closed"},
      {"rec 1\na.dat 16 2(3)x\n", "\"x\" follows the gain"},
      {"rec 1\na.dat 16 inf\n", "the gain is \"inf\""},
      {"rec 1\na.dat 16 2 12 x\n", "the ADC zero is \"x\""},
      {"rec 1\n/etc/passwd 16\n", "names the file \"/etc/passwd\""},
      {"rec 1\n../a.dat 16\n", "a file beside the header is needed"},
      {"rec 1\nx/../../a 16\n", "a file beside the header is needed"},
      {"rec 1\n- 16\n", "names the file \"-\""},
      {"rec/1 1\n../r 5\n", "a file beside the header is needed"},
      {"rec 2\na.dat 16\na.dat 212\n", "differ in format or byte offset"},
      {"rec 2\na.dat 16\na.dat 16+2\n", "differ in format or byte offset"},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.text);
    const std::string error =
        ErrorOf([&] { ParseWfdbHeader(each.text, "some.hea"); });
    EXPECT_THAT(error, HasSubstr("\"some.hea\""));
    EXPECT_THAT(error, HasSubstr(each.problem));
  }
}

}  // namespace
}  // namespace epochd::engine
