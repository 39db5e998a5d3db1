// SPDX-License-Identifier: Apache-2.0
//
// Data sets and transforms of signals and tables as a job file names them.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/engine/data/signal/signal_files.h"
#include "worker/engine/core/dataset.h"
#include "worker/engine/data/data_module.h"
#include "worker/engine/data/transform.h"
#include "worker/engine/registry/build_scope.h"
#include "worker/engine/registry/builtin.h"
#include "worker/engine/registry/registry.h"

namespace epochd::engine {
namespace {

using catalogue::Json;
using testing::HasSubstr;

const Registry& SignalComponents() {
  static const Registry* registry = [] {
    auto* made = new Registry();
    AddBuiltins(*made);
    made->Freeze();
    return made;
  }();
  return *registry;
}

template <class T>
std::shared_ptr<T> Build(const Json& job) {
  const Json experiment = Json::object();
  BuildScope scope(SignalComponents(), experiment, "experiment");
  return scope.MakeAs<T>(job, "experiment.x");
}

at::Tensor ApplyNamed(const std::string& job, const at::Tensor& input) {
  Batch sample{{"input", input}, {"target", at::tensor({1.f, 0.f})}};
  Random random({1});
  Build<Transform>(Json::parse(job))->Apply(sample, random);
  return sample.At("input");
}

TEST(SignalComponents, TransformsAreBuiltByTheirNamesAndThoseOfTorchEcg) {
  const at::Tensor wave =
      at::sin(at::arange(600, at::kFloat) / 5).view({2, 300});
  for (const char* job : {
           R"({"type": "BaselineWander", "fs": 100, "p": 1})",
           R"({"type": "baseline_wander", "fs": 100, "prob": 1,
               "bw_fs": [1, 2], "ampl_ratio": [[0.1, 0.2]]})",
           R"({"type": "SignalNoise", "p": 1})",
           R"({"type": "random_flip", "prob": [1, 1]})",
           R"({"type": "random_masking", "fs": 100, "prob": [1, 0.9]})",
           R"({"type": "stretch_compress", "ratio": 20, "prob": 1})",
           R"({"type": "LeadDropout", "p": 1})",
           R"({"type": "random_renormalize", "prob": 1})",
           R"({"type": "SignalNormalize", "per_channel": true})",
           R"({"type": "SignalNormalize", "method": "min-max"})",
           R"({"type": "SignalResample", "fs": 100, "to": 50})",
           R"({"type": "BandPass", "fs": 100, "lowcut": 1, "highcut": 20})",
       }) {
    SCOPED_TRACE(job);
    EXPECT_FALSE(at::equal(ApplyNamed(job, wave), wave));
  }
  EXPECT_THAT(ErrorOf([&] {
                ApplyNamed(R"({"type": "SignalMask", "fs": 100,
                               "width": [0.1, 0.2, 0.3]})",
                           wave);
              }),
              HasSubstr("experiment.x.width: expected 1 to 2 values, got 3"));
  EXPECT_THAT(ErrorOf([&] {
                ApplyNamed(R"({"type": "BaselineWander", "fs": 100,
                               "amplitudes": [[0.1]]})",
                           wave);
              }),
              HasSubstr("a row of amplitudes has 1 values; 4"));
}

using SignalComponentFiles = SignalFiles;

TEST_F(SignalComponentFiles, RecordsAreWrittenAndReadByNames) {
  const Json module = {{"type", "SyntheticEcg"},
                       {"folder", Path("ecg")},
                       {"patients", 2},
                       {"seconds", 6},
                       {"leads", 3}};
  Build<DataModule>(module)->Prepare();
  Json records = {{"type", "WfdbRecords"},
                  {"records", Path("ecg")},
                  {"leads", {"III", "I"}},
                  {"window", 2},
                  {"fs", 50},
                  {"labels", "rhythm"},
                  {"classes", {"N", "AFIB"}},
                  {"unknown_label", "skip"},
                  {"group", "comment"},
                  {"checksums", "error"},
                  {"verify", true}};
  const auto dataset = Build<Dataset>(records);
  EXPECT_EQ(dataset->Size(), 2 * 2 * 3);
  EXPECT_EQ(dataset->Get(0, {}).At("input").sizes(), at::IntArrayRef({2, 100}));
  EXPECT_EQ(dataset->Column("target").sum().item<int64_t>(), 6);
  records.erase("classes");
  EXPECT_THAT(ErrorOf([&] { Build<Dataset>(records); }),
              HasSubstr("experiment.x.classes: missing"));
  records["labels"] = "csv";
  records["classes"] = {"N"};
  EXPECT_THAT(ErrorOf([&] { Build<Dataset>(records); }),
              HasSubstr("experiment.x.label_file: missing"));
}

TEST_F(SignalComponentFiles, RecordsInOtherUnitsAreANotice) {
  Write("a.dat", std::string(8, '\0'));
  Write("a.hea", "a 1 10 4\na.dat 16 1/mV 16 0 0 0 0 I\n");
  Write("b.hea", "b 1 10 4\na.dat 16 1/uV 16 0 0 0 0 I\n");
  const Json experiment = Json::object();
  BuildScope scope(SignalComponents(), experiment, "experiment");
  std::vector<std::string> told;
  scope.SetNotices([&told](std::string_view severity, const std::string& text) {
    told.push_back(std::string(severity) + " " + text);
  });
  scope.MakeAs<Dataset>({{"type", "WfdbRecords"}, {"records", folder_.path()}},
                        "experiment.x");
  ASSERT_EQ(told.size(), 1);
  EXPECT_THAT(told[0], testing::StartsWith("warning experiment.x: lead \"I\""));
}

TEST_F(SignalComponentFiles, TablesByNames) {
  const std::string file = Write("t.csv", "a;b;y\n1;2;0\n3;4;1\n");
  const auto csv = Build<Dataset>({{"type", "Csv"},
                                   {"file", file},
                                   {"sep", ";"},
                                   {"target", "y"},
                                   {"input", {"b"}}});
  EXPECT_EQ(csv->Get(1, {}).At("input").item<float>(), 4);
  EXPECT_EQ(csv->Get(1, {}).At("target").item<int64_t>(), 1);
  EXPECT_THAT(
      ErrorOf([&] {
        Build<Dataset>({{"type", "Csv"}, {"file", file}, {"delimiter", "ab"}});
      }),
      HasSubstr("experiment.x.delimiter: \"ab\""));
  const auto tensors = Build<Dataset>(Json::parse(
      R"({"type": "Tensors", "fields": {"input": [[0, 1], [1, 1]],
          "target": [1, 0]}, "types": {"target": "float32"}})"));
  EXPECT_EQ(tensors->Size(), 2);
  EXPECT_EQ(tensors->Get(0, {}).At("target").scalar_type(), at::kFloat);
  EXPECT_EQ(tensors->Get(0, {}).At("target").item<float>(), 1);
  const auto edf = Build<Dataset>({{"type", "EdfRecords"},
                                   {"records", Recorded("plus.edf")},
                                   {"leads", {"I"}},
                                   {"window", 2}});
  EXPECT_EQ(edf->Size(), 2);
}

}  // namespace
}  // namespace epochd::engine
