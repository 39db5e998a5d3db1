// SPDX-License-Identifier: Apache-2.0
#include "hooks/prediction_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/npy.h"

namespace epochd::hooks {
namespace {

namespace fs = std::filesystem;
using Format = PredictionFile::Format;

// Five samples in batches whose order is not that of the data set.
void AddAll(PredictionFile& file) {
  file.Add({{"score", at::tensor({3.5f, 0.5f, 4.5f}).view({3, 1})},
            {"label", at::tensor({30, 0, 40}, at::kLong)}},
           {3, 0, 4});
  file.Add({{"score", at::tensor({1.5f, 2.5f}).view({2, 1})},
            {"label", at::tensor({10, 20}, at::kLong)}},
           {1, 2});
}

TEST(PredictionFileTest, PutsSamplesWhereTheDataSetHasThem) {
  const engine::TempFolder folder;
  PredictionFile file(folder / "out", Format::kSafetensors);
  AddAll(file);
  EXPECT_EQ(file.rows(), 5);
  file.Finish(5);
  const auto tensors =
      engine::ReadSafetensors(folder / "out/predictions.safetensors");
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "score");
  EXPECT_TRUE(
      at::equal(tensors[0].tensor,
                at::tensor({.5f, 1.5f, 2.5f, 3.5f, 4.5f}).view({5, 1})));
  EXPECT_TRUE(
      at::equal(tensors[1].tensor, at::tensor({0, 10, 20, 30, 40}, at::kLong)));
  // Nothing but the result is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "out"),
                          fs::directory_iterator()),
            1);
}

TEST(PredictionFileTest, WritesNumpyFilesThatCanBeRead) {
  const engine::TempFolder folder;
  PredictionFile file(folder / "out", Format::kNpy);
  AddAll(file);
  file.Finish(5);
  ASSERT_EQ(file.files().size(), 2u);
  EXPECT_TRUE(
      at::equal(engine::ReadNpy(folder / "out/score.npy"),
                at::tensor({.5f, 1.5f, 2.5f, 3.5f, 4.5f}).view({5, 1})));
  EXPECT_TRUE(at::equal(engine::ReadNpy(folder / "out/label.npy"),
                        at::tensor({0, 10, 20, 30, 40}, at::kLong)));
  EXPECT_EQ((fs::file_size(folder / "out/score.npy") - 5 * 4) % 64, 0u);
}

TEST(PredictionFileTest, WritesTheRowsOfSeveralRanks) {
  const engine::TempFolder folder;
  PredictionFile first(folder / "out", Format::kCsv);
  PredictionFile second(folder / "out", Format::kCsv);
  first.Add({{"p", at::tensor({.25, 1.0, .75, 3.0}).view({2, 2})}}, {0, 2});
  second.Add({{"p", at::tensor({.5, 2.0, 1.0, 4.0}).view({2, 2})}}, {1, 3});
  first.Finish(std::max(first.rows(), second.rows()));
  std::ifstream stream(folder / "out/predictions.csv");
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  EXPECT_EQ(text, "index,p.0,p.1\n0,0.25,1\n1,0.5,2\n2,0.75,3\n3,1,4\n");
}

TEST(PredictionFileTest, SamplesThatWereNotPredictedAreLeftOut) {
  const engine::TempFolder folder;
  const auto add = [](PredictionFile& file) {
    file.Add({{"p", at::tensor({5.5, 1.5, 2.5})}}, {5, 1, 2});
    file.Finish(file.rows());
  };
  const at::Tensor rows = at::tensor({1.5, 2.5, 5.5});
  const at::Tensor places = at::tensor({1, 2, 5}, at::kLong);
  PredictionFile csv(folder / "csv", Format::kCsv);
  add(csv);
  std::ifstream stream(folder / "csv/predictions.csv");
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  EXPECT_EQ(text, "index,p\n1,1.5\n2,2.5\n5,5.5\n");
  PredictionFile npy(folder / "npy", Format::kNpy);
  add(npy);
  EXPECT_TRUE(at::equal(engine::ReadNpy(folder / "npy/p.npy"), rows));
  EXPECT_TRUE(
      at::equal(engine::ReadNpy(folder / "npy/sample_index.npy"), places));
  PredictionFile one(folder / "one", Format::kSafetensors);
  add(one);
  const auto tensors =
      engine::ReadSafetensors(folder / "one/predictions.safetensors");
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_TRUE(at::equal(tensors[0].tensor, rows));
  EXPECT_EQ(tensors[1].name, "sample_index");
  EXPECT_TRUE(at::equal(tensors[1].tensor, places));
  // Nothing but the result is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "one"),
                          fs::directory_iterator()),
            1);
}

TEST(PredictionFileTest, HalvesThatFormatsLackBecomeFloats) {
  const engine::TempFolder folder;
  PredictionFile file(folder / "out", Format::kSafetensors);
  file.Add({{"x", at::full({2}, 1.5, at::kBFloat16)}}, {0, 1});
  file.Finish(2);
  EXPECT_EQ(engine::ReadSafetensors(folder / "out/predictions.safetensors")[0]
                .tensor.scalar_type(),
            at::kFloat);
}

TEST(PredictionFileTest, NamesTheFieldWhoseShapeChanges) {
  const engine::TempFolder folder;
  PredictionFile file(folder / "out", Format::kNpy);
  file.Add({{"p", at::zeros({2, 3})}}, {0, 1});
  try {
    file.Add({{"p", at::zeros({2, 4})}}, {2, 3});
    FAIL() << "no error";
  } catch (const engine::Error& error) {
    EXPECT_NE(std::string(error.what()).find("field \"p\" changed to [2, 4]"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace epochd::hooks
