// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/synthetic_ecg.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/worker/engine/data/signal/signal_files.h"
#include "worker/engine/data/signal/ecg_model.h"
#include "worker/engine/data/signal/wfdb_records.h"
#include "worker/engine/data/signal/wfdb_writer.h"

namespace epochd::engine {
namespace {

using testing::HasSubstr;

Ecg Made(EcgRhythm rhythm, uint64_t seed, double noise = 0) {
  Random patient({seed});
  Random random({seed, 1});
  return MakeEcg(
      DrawEcgPatient(2, patient),
      {.rhythm = rhythm, .seconds = 60, .fs = 100, .noise = noise, .wander = 0},
      random);
}

// Seconds between beats.
std::vector<double> Intervals(const Ecg& ecg) {
  std::vector<double> intervals;
  for (size_t i = 1; i < ecg.beats.size(); ++i) {
    intervals.push_back(
        static_cast<double>(ecg.beats[i].sample - ecg.beats[i - 1].sample) /
        100);
  }
  return intervals;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Standard deviation over mean.
double Spread(const std::vector<double>& values) {
  const double mean = Mean(values);
  double sum = 0;
  for (double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size())) / mean;
}

TEST(EcgModel, RhythmsHaveTheirRates) {
  const struct {
    EcgRhythm rhythm;
    double least;
    double most;
  } kCases[] = {{EcgRhythm::kSinus, 60, 100},
                {EcgRhythm::kBradycardia, 40, 60},
                {EcgRhythm::kTachycardia, 100, 153}};
  for (const auto& each : kCases) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const double rate = 60 / Mean(Intervals(Made(each.rhythm, seed)));
      EXPECT_GT(rate, each.least);
      EXPECT_LT(rate, each.most);
    }
  }
}

TEST(EcgModel, FibrillationIsIrregularAndSinusIsNot) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_GT(Spread(Intervals(Made(EcgRhythm::kFibrillation, seed))), 0.1);
    EXPECT_LT(Spread(Intervals(Made(EcgRhythm::kSinus, seed))), 0.06);
  }
}

TEST(EcgModel, EverySecondBeatOfBigeminyIsEarlyAndVentricular) {
  const Ecg ecg = Made(EcgRhythm::kBigeminy, 3);
  const std::vector<double> intervals = Intervals(ecg);
  for (size_t i = 1; i < ecg.beats.size(); ++i) {
    EXPECT_NE(ecg.beats[i].is_ventricular, ecg.beats[i - 1].is_ventricular);
    if (i < intervals.size()) {
      EXPECT_EQ(intervals[i] > intervals[i - 1], ecg.beats[i].is_ventricular);
    }
  }
}

TEST(EcgModel, BeatsStandAtPeaks) {
  const Ecg ecg = Made(EcgRhythm::kSinus, 5);
  for (const auto& lead : ecg.leads) {
    ASSERT_EQ(lead.size(), 6000);
    const float top = *std::max_element(lead.begin() + 200, lead.end());
    EXPECT_GT(top, 0.2);
    EXPECT_LT(top, 4);
    for (const EcgBeat& beat : ecg.beats) {
      if (beat.sample < 200 || beat.sample > 5990) continue;
      EXPECT_GT(lead[beat.sample], 0.4 * top);
    }
  }
}

using SyntheticEcgTest = SignalFiles;

TEST_F(SyntheticEcgTest, WritesRecordsThatTheReaderReads) {
  const SyntheticEcgOptions options{
      .folder = Path("ecg"), .patients = 3, .seconds = 20};
  SyntheticEcg(options).Prepare();
  WfdbRecordsOptions records;
  records.records = Path("ecg");
  records.windows.window = 10;
  records.labels = LabelSource::kAnnotation;
  records.classes.names = {"N", "SBR", "ST", "AFIB", "B"};
  records.group = LabelSource::kComment;
  records.checksums = ChecksumPolicy::kError;
  records.verify = true;
  const auto dataset = LoadWfdbRecords(records);
  ASSERT_EQ(dataset->Size(), 3 * 5 * 2);
  EXPECT_EQ(dataset->Get(0, {}).At("input").sizes(),
            at::IntArrayRef({2, 1000}));
  const at::Tensor target = dataset->Column("target");
  EXPECT_TRUE(at::equal(target.slice(0, 0, 10),
                        at::tensor({0, 0, 1, 1, 2, 2, 3, 3, 4, 4}, at::kLong)));
  EXPECT_EQ(dataset->Column("group").max().item<int64_t>(), 2);
  // The same for the comment of the header.
  records.labels = LabelSource::kComment;
  records.label_key = "Rhythm";
  EXPECT_TRUE(at::equal(LoadWfdbRecords(records)->Column("target"), target));
}

TEST_F(SyntheticEcgTest, TheSameOptionsGiveTheSameBytesAndKeepWhatIsThere) {
  SyntheticEcgOptions options{.folder = Path("a"), .patients = 1, .seconds = 5};
  SyntheticEcg(options).Prepare();
  options.folder = Path("b");
  SyntheticEcg(options).Prepare();
  const auto bytes = [&](const std::string& name) {
    std::ifstream file(Path(name), std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  for (const char* name : {"p000_N.dat", "p000_AFIB.hea", "p000_B.atr"}) {
    EXPECT_FALSE(bytes(std::string("a/") + name).empty());
    EXPECT_EQ(bytes(std::string("a/") + name), bytes(std::string("b/") + name));
  }
  Write("b/p000_N.dat", "kept");
  SyntheticEcg(options).Prepare();
  EXPECT_EQ(bytes("b/p000_N.dat"), "kept");
  options.seconds = 6;
  EXPECT_THAT(ErrorOf([&] { SyntheticEcg(options).Prepare(); }),
              HasSubstr("holds records of other options"));
  options.folder = Write("file", "x") + "/below";
  EXPECT_THAT(ErrorOf([&] { SyntheticEcg(options).Prepare(); }),
              HasSubstr("folder \""));
}

TEST(WfdbWriter, AnnotationsComeBack) {
  const std::vector<WfdbAnnotation> written = {
      {.sample = 0, .code = 28, .symbol = "+", .aux = "(AFIB"},
      {.sample = 1023, .code = 1, .symbol = "N"},
      {.sample = 2047, .code = 5, .symbol = "V", .aux = "even"},
      {.sample = 5000000000 % (1 << 30), .code = 1, .symbol = "N"}};
  EXPECT_EQ(ParseWfdbAnnotations(EncodeWfdbAnnotations(written), "x").all,
            written);
}

}  // namespace
}  // namespace epochd::engine
