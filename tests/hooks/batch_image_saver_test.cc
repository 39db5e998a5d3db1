// SPDX-License-Identifier: Apache-2.0
#include "hooks/batch_image_saver.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "hooks/image_grid.h"
#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"

namespace epochd::hooks {
namespace {

namespace fs = std::filesystem;
using engine::Json;

at::Tensor Decode(const std::string& png) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, png.data(), png.size()),
            0);
  image.format = PNG_FORMAT_GRAY;
  at::Tensor pixels = at::zeros({image.height, image.width}, at::kByte);
  EXPECT_NE(
      png_image_finish_read(&image, nullptr, pixels.data_ptr(), 0, nullptr), 0);
  return pixels;
}

TEST(ImageGridTest, LaysImagesOutInRows) {
  at::Tensor images = at::zeros({3, 1, 2, 2});
  images[1].fill_(1.0);
  images[2].fill_(0.5);
  const at::Tensor grid = MakeGrid(images, 2, std::pair(0.0, 1.0));
  EXPECT_EQ(grid.sizes(), (at::IntArrayRef{1, 5, 5}));
  EXPECT_EQ(grid[0][0][0].item<int>(), 0);
  EXPECT_EQ(grid[0][0][3].item<int>(), 255);
  EXPECT_EQ(grid[0][0][2].item<int>(), 0);  // the line between
  EXPECT_EQ(grid[0][3][0].item<int>(), 128);
  EXPECT_TRUE(Decode(EncodePng(grid)).equal(grid[0]));
}

TEST(ImageGridTest, RefusesWhatIsNoImage) {
  EXPECT_THROW(MakeGrid(at::zeros({3, 2, 4, 4}), 2, {}), engine::Error);
  EXPECT_THROW(MakeGrid(at::zeros({3, 4}), 2, {}), engine::Error);
}

TEST(BatchImageSaverTest, SavesSamplesWithoutChangingTheTraining) {
  Json json = engine::GanExperiment(4);
  engine::TestRun plain(json);
  plain.trainer().Start();
  plain.trainer().Run();
  const engine::TempFolder output;
  json["hooks"] = {{{"type", "BatchImageSaver"},
                    {"every", "2 epochs"},
                    {"count", 16},
                    {"columns", 4}}};
  engine::TestRun run(json, output.path());
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_TRUE(run.Weights().equal(plain.Weights()));
  EXPECT_FALSE(fs::exists(output / "images/epoch-0001.png"));
  for (const char* name : {"images/epoch-0002.png", "images/epoch-0004.png"}) {
    std::ifstream file(output / name, std::ios::binary);
    const std::string png(std::istreambuf_iterator<char>(file), {});
    ASSERT_FALSE(png.empty()) << name;
    EXPECT_EQ(Decode(png).sizes(), (at::IntArrayRef{35, 35}));
  }
}

// A generator that makes images of what the batch holds, and a run that goes on
// within an epoch.
TEST(BatchImageSaverTest, SamplesAGeneratorOfTheBatchAlsoAfterAResume) {
  Json json = engine::GanExperiment(2);
  const engine::TempFolder images;
  fs::copy_file(fs::path(std::getenv("EPOCHD_TEST_SOURCE_DIR")) /
                    "tests/golden/images/rgb.png",
                images / "a.png");
  json["model"]["generator"] = {
      {"type", "EDSR"}, {"features", 4}, {"blocks", 1}, {"upscale", 2}};
  json["model"]["discriminator"] = {{"type", "UNetDiscriminator"},
                                    {"features", 2}};
  json["model"]["real"] = "target";
  json["data"]["train"] = {{"type", "DegradedImages"},
                           {"folder", images.path()},
                           {"scale", 2},
                           {"patch_size", 16},
                           {"repeat", 16},
                           {"batch_size", 4},
                           {"shuffle", true}};
  json["hooks"] = {{{"type", "BatchImageSaver"}, {"count", 4}}};
  const engine::TempFolder folder;
  engine::Snapshot snapshot;
  {
    engine::TestRun run(json, folder / "first");
    run.trainer().on_step_boundary.Bind([&](engine::TrainerContext& context) {
      if (context.ending) {
        snapshot = engine::KeptSnapshot(run.trainer());
      } else if (run.trainer().position().batch == 2) {
        run.trainer().RequestStop();
      }
    });
    run.trainer().Start();
    EXPECT_EQ(run.trainer().Run(), engine::Trainer::Outcome::kStopped);
    // Of four.
    EXPECT_EQ(run.trainer().position().batch, 3);
  }
  engine::TestRun run(json, folder / "second");
  run.trainer().Restore(snapshot);
  run.trainer().Run();
  EXPECT_TRUE(fs::exists(folder / "second/images/epoch-0001.png"));
  EXPECT_TRUE(fs::exists(folder / "second/images/epoch-0002.png"));
}

TEST(BatchImageSaverTest, KeepsThoseOfEachValidationOfAnEpoch) {
  const engine::TempFolder output;
  engine::Json json = engine::DigitsExperiment(1);
  json["data"]["val"]["image"] = true;
  json["trainer"]["val_interval"] = 0.5;
  json["hooks"] = {
      {{"type", "BatchImageSaver"}, {"field", "input"}, {"count", 4}}};
  engine::TestRun run(json, output.path());
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_TRUE(fs::exists(output / "images/epoch-0001-iteration-000006.png"));
  EXPECT_TRUE(fs::exists(output / "images/epoch-0001.png"));
}

TEST(BatchImageLoggerTest, PutsGridsIntoAnEventFileBesideTheScores) {
  const engine::TempFolder output;
  engine::Json json = engine::DigitsExperiment(2);
  json["data"]["val"]["image"] = true;
  json["hooks"] = engine::Json::array(
      {{{"type", "BatchImageLogger"}, {"field", "input"}, {"count", 4}},
       {{"type", "MetricLogger"}}});
  engine::TestRun run(json, output.path());
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_TRUE(run.sink.Of("notice").empty());
  EXPECT_FALSE(std::filesystem::exists(output / "images"));
  size_t files = 0, pictures = 0;
  for (const auto& each :
       std::filesystem::directory_iterator(output / "tensorboard")) {
    ++files;
    if (!each.path().string().ends_with(".images")) continue;
    std::ifstream file(each.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    for (size_t at = bytes.find("\x89PNG"); at != std::string::npos;
         at = bytes.find("\x89PNG", at + 1)) {
      ++pictures;
    }
    EXPECT_NE(bytes.find("input"), std::string::npos);
  }
  EXPECT_EQ(files, 2u);
  EXPECT_EQ(pictures, 2u);
}

}  // namespace
}  // namespace epochd::hooks
