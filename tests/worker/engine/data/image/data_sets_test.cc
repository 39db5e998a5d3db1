// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "tests/worker/engine/data/image/recorded.h"
#include "worker/engine/data/image/folders.h"
#include "worker/engine/data/image/image_cache.h"
#include "worker/engine/data/image/image_source.h"
#include "worker/engine/data/image/pairs.h"

namespace epochd::engine {
namespace {

const SampleSeed kSeed{7, 0};

std::string Json(const std::string& type, const std::string& folder,
                 const std::string& more = "") {
  return R"({"type": ")" + type + R"(", "folder": ")" + folder + "\"" +
         (more.empty() ? "" : ", " + more) + "}";
}

at::Tensor Unit(const at::Tensor& bytes) {
  return bytes.to(at::kFloat).div(255);
}

TEST(ImageFolder, NumbersSortedClassesAndReadsBelowThem) {
  const TempFolder folder;
  CopyImage(folder, "rgb.png", "zebra/b.png");
  CopyImage(folder, "grey.png", "zebra/a.PNG");
  CopyImage(folder, "rgb_420.jpg", "ant/deep/er/x.jpeg");
  folder.Write("ant/notes.txt", "no image");
  CopyImage(folder, "rgb.png", ".ipynb_checkpoints/b.png");
  const auto data = BuildDataset(Json("ImageFolder", folder.path()));
  ASSERT_EQ(data->Size(), 3);
  EXPECT_TRUE(at::equal(data->Column("target"), at::tensor({0, 1, 1})));
  EXPECT_TRUE(at::equal(data->Column("image"), at::tensor({0, 1, 2})));
  EXPECT_FALSE(data->Column("input").defined());
  const char* const recorded[] = {"rgb_420.jpg", "grey.png", "rgb.png"};
  for (int64_t i = 0; i < 3; ++i) {
    const Batch sample = data->Get(i, kSeed);
    EXPECT_TRUE(at::equal(
        sample.At("input"),
        Unit(Recorded("decode/" + std::string(recorded[i]) + "/rgb"))));
    EXPECT_EQ(sample.At("target").item<int64_t>(), i > 0);
    EXPECT_EQ(sample.At("target").scalar_type(), at::kLong);
  }
}

TEST(ImageFolder, TellsWhichNumberIsWhichFolder) {
  const TempFolder folder;
  CopyImage(folder, "rgb.png", "b/x.png");
  CopyImage(folder, "rgb.png", "a/x.png");
  std::vector<std::string> notices;
  BuildDataset(Json("ImageFolder", folder.path()), &notices);
  EXPECT_EQ(notices, std::vector<std::string>{
                         "info experiment.data.train: classes are 0 a, 1 b"});
  notices.clear();
  BuildDataset(Json("ImageFolder", folder.path(), R"("classes": ["b", "a"])"),
               &notices);
  EXPECT_TRUE(notices.empty());
}

TEST(ImageFolder, ClassesMayBeListed) {
  const TempFolder folder;
  CopyImage(folder, "rgb.png", "a/x.png");
  CopyImage(folder, "rgb.png", "b/x.png");
  const auto data = BuildDataset(
      Json("ImageFolder", folder.path(), R"("classes": ["b", "a"])"));
  EXPECT_TRUE(at::equal(data->Column("target"), at::tensor({0, 1})));
  const std::string error = ErrorOf([&] {
    BuildDataset(Json("ImageFolder", folder.path(), R"("classes": ["b"])"));
  });
  EXPECT_NE(error.find("\"a\""), std::string::npos) << error;
}

TEST(ImageFolder, FoldersOfOtherClassesAreNotJoined) {
  const TempFolder folder;
  CopyImage(folder, "rgb.png", "1/cat/x.png");
  CopyImage(folder, "rgb.png", "1/dog/x.png");
  CopyImage(folder, "rgb.png", "2/dog/x.png");
  CopyImage(folder, "rgb.png", "2/fish/x.png");
  const auto join = [&](int other, const std::string& more) {
    return BuildDataset(
        R"({"type": "Concat", "datasets": [)" +
        Json("ImageFolder", folder.path() + "/1", more) + ", " +
        Json("ImageFolder", folder.path() + "/" + std::to_string(other), more) +
        "]}");
  };
  const std::string error = ErrorOf([&] { join(2, ""); });
  EXPECT_NE(error.find("class 0 of datasets[1] is another"), std::string::npos)
      << error;
  EXPECT_TRUE(at::equal(join(1, "")->Column("target"),
                        at::tensor({0, 1, 0, 1}, at::kLong)));
  EXPECT_TRUE(at::equal(
      join(2, R"("classes": ["cat", "dog", "fish"])")->Column("target"),
      at::tensor({0, 1, 1, 2}, at::kLong)));
  std::filesystem::create_directory(folder.path() + "/3");
  EXPECT_NE(ErrorOf([&] {
              join(3, R"("classes": ["cat", "dog"])");
            }).find("holds no folder of `classes`"),
            std::string::npos);
}

TEST(ImageFolder, ImagesOfDifferentSizesAreBatchedOnceTheyAreOfOneSize) {
  const TempFolder folder;
  CopyImage(folder, "rgb.png", "a/x.png");          // 19 x 23
  CopyImage(folder, "degrade.png", "a/y.png");      // 49 x 62
  CopyImage(folder, "degrade_low.png", "b/z.png");  // 24 x 31
  const std::vector<int64_t> all = {2, 0, 1};
  for (const char* type :
       {"Resize", "RandomResizedCrop", "CenterCrop", "RandomCrop"}) {
    SCOPED_TRACE(type);
    const auto data =
        BuildDataset(Json("ImageFolder", folder.path(),
                          R"("transforms": [{"type": ")" + std::string(type) +
                              R"(", "size": [16, 12]},
                  {"type": "Normalize", "mean": 0.5, "std": 0.5}])"));
    const Batch batch = data->GetBatch(all, kSeed);
    ASSERT_EQ(batch.At("input").sizes(), at::IntArrayRef({3, 3, 16, 12}));
    EXPECT_TRUE(at::equal(batch.At("target"), at::tensor({1, 0, 0})));
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(
          at::equal(batch.At("input")[i],
                    data->Get(all[static_cast<size_t>(i)], kSeed).At("input")));
    }
  }
}

TEST(ImageFolder, SaysWhatIsMissingOrNotRead) {
  const TempFolder folder;
  const auto error_of = [&](const std::string& more = "") {
    return ErrorOf(
        [&] { BuildDataset(Json("ImageFolder", folder.path(), more)); });
  };
  EXPECT_NE(error_of().find("holds no folder"), std::string::npos);
  CopyImage(folder, "rgb.png", "a/x.png");
  std::filesystem::create_directory(folder.path() + "/b");
  EXPECT_NE(error_of().find("/b\": holds no .png"), std::string::npos)
      << error_of();
  folder.Write("b/y.bmp", "BM");
  EXPECT_NE(error_of().find("y.bmp"), std::string::npos) << error_of();
  CopyImage(folder, "rgb.png", "b/x.png");
  EXPECT_NE(error_of().find("y.bmp"), std::string::npos);
  EXPECT_EQ(error_of(R"("exclude": ["*.bmp"])"), "");
  for (const char* other : {"gif", "jpe", "JFIF", "avif", "heic"}) {
    const TempFolder images;
    CopyImage(images, "rgb.png", "x.png");
    images.Write(std::string("y.") + other, "no image");
    EXPECT_NE(ErrorOf([&] {
                BuildDataset(Json("ImageFiles", images.path()));
              }).find("y."),
              std::string::npos)
        << other;
  }
  EXPECT_NE(ErrorOf([&] {
              BuildDataset(Json("ImageFolder", folder.path() + "/none"));
            }).find("/none"),
            std::string::npos);
}

TEST(ImageFiles, GivesBytesWhenAskedToAndChoosesFiles) {
  const TempFolder folder;
  CopyImage(folder, "rgb.png", "b.png");
  CopyImage(folder, "grey.png", "a.png");
  CopyImage(folder, "rgb_420.jpg", "c.jpg");
  const auto data = BuildDataset(
      Json("ImageFiles", folder.path(),
           R"("include": "*.png", "exclude": "a*", "dtype": "uint8",
              "mode": "grey")"));
  ASSERT_EQ(data->Size(), 1);
  const at::Tensor image = data->Get(0, kSeed).At("input");
  EXPECT_TRUE(at::equal(image, Recorded("decode/rgb.png/grey")));
  // What a transform does in place must not reach the cache.
  image.zero_();
  EXPECT_TRUE(at::equal(data->Get(0, kSeed).At("input"),
                        Recorded("decode/rgb.png/grey")));
}

TEST(ImageFiles, LinkThatLeadsNowhereIsAnImageThatCannotBeRead) {
  const TempFolder folder;
  CopyImage(folder, "rgb.png", "a.png");
  std::filesystem::create_symlink(folder.path() + "/gone",
                                  folder.path() + "/b.png");
  const std::string error = ErrorOf([&] {
    const auto data = BuildDataset(Json("ImageFiles", folder.path()));
    ASSERT_EQ(data->Size(), 2);
    data->Get(1, kSeed);
  });
  EXPECT_NE(error.find("b.png"), std::string::npos) << error;
}

TEST(ImageFiles, AGridLeavesOutImagesWithoutAHeader) {
  const TempFolder folder;
  CopyImage(folder, "rgb.png", "a.png");
  const std::string more = R"("patch_size": 8, "crop": "grid")";
  const int64_t whole =
      BuildDataset(Json("ImageFiles", folder.path(), more))->Size();
  std::ofstream(folder.path() + "/b.png") << "no PNG";
  const auto data = BuildDataset(Json("ImageFiles", folder.path(), more));
  EXPECT_EQ(data->Size(), whole);
  ASSERT_EQ(data->Unreadable().size(), 1u);
  EXPECT_NE(std::string(data->Unreadable()[0].what()).find("b.png"),
            std::string::npos);
  std::filesystem::remove(folder.path() + "/a.png");
  EXPECT_NE(ErrorOf([&] {
              BuildDataset(Json("ImageFiles", folder.path(), more));
            }).find("b.png"),
            std::string::npos);
}

TEST(ImageFiles, LinksAreFollowedButNotInCircles) {
  namespace fs = std::filesystem;
  const TempFolder folder;
  const TempFolder other;
  CopyImage(folder, "rgb.png", "a.png");
  CopyImage(other, "rgb.png", "c.png");
  const fs::path root = folder.path();
  fs::create_directories(root / "one");
  fs::create_directories(root / "two");
  fs::copy_file(root / "a.png", root / "two/b.png");
  fs::create_directory_symlink(other.path(), root / "one/other");
  fs::create_directory_symlink(root, root / "one/up");
  fs::create_directory_symlink(root / "two", root / "one/two");
  fs::create_directory_symlink(root / "one", root / "two/one");
  fs::create_directory_symlink("self", root / "self");
  const auto data = BuildDataset(Json("ImageFiles", folder.path()));
  // a, one/other/c, one/two/b, two/b, two/one/other/c.
  EXPECT_EQ(data->Size(), 5);
}

TEST(ImageFiles, RandomPatchesDependOnSeedEpochAndIndexAlone) {
  const TempFolder folder;
  CopyImage(folder, "rgb.png", "a.png");
  CopyImage(folder, "rgb_444.jpg", "b.jpg");
  const std::string more = R"("patch_size": 8, "repeat": 5)";
  const auto data = BuildDataset(Json("ImageFiles", folder.path(), more));
  const auto uncached = BuildDataset(
      Json("ImageFiles", folder.path(), more + R"(, "cache": "1KiB")"));
  ASSERT_EQ(data->Size(), 10);
  EXPECT_TRUE(at::equal(data->Column("image"),
                        at::tensor({0, 1, 0, 1, 0, 1, 0, 1, 0, 1})));
  int64_t same = 0;
  for (int64_t i = 9; i >= 0; --i) {
    const at::Tensor patch = uncached->Get(i, kSeed).At("input");
    EXPECT_EQ(patch.sizes(), at::IntArrayRef({3, 8, 8}));
    EXPECT_TRUE(at::equal(patch, data->Get(i, kSeed).At("input")));
    same += at::equal(patch, data->Get(i, {7, 1}).At("input"));
  }
  EXPECT_LT(same, 5);
  EXPECT_FALSE(at::equal(data->Get(0, kSeed).At("input"),
                         data->Get(2, kSeed).At("input")));
}

TEST(ImageFiles, CenterAndGrid) {
  const TempFolder folder;
  CopyImage(folder, "rgb.png", "a.png");     // 19 x 23
  CopyImage(folder, "exif_6.jpg", "b.jpg");  // turned: 23 x 19
  const at::Tensor first = Unit(Recorded("decode/rgb.png/rgb"));
  const auto center = BuildDataset(Json(
      "ImageFiles", folder.path(), R"("patch_size": 8, "crop": "center")"));
  ASSERT_EQ(center->Size(), 2);
  EXPECT_TRUE(at::equal(center->Get(0, kSeed).At("input"),
                        first.slice(1, 5, 13).slice(2, 7, 15)));
  const auto grid = BuildDataset(
      Json("ImageFiles", folder.path(),
           R"("patch_size": 9, "crop": "grid", "exif_orientation": true)"));
  ASSERT_EQ(grid->Size(), 8);
  EXPECT_TRUE(
      at::equal(grid->Column("image"), at::tensor({0, 0, 0, 0, 1, 1, 1, 1})));
  EXPECT_TRUE(at::equal(grid->Get(1, kSeed).At("input"),
                        first.slice(1, 0, 9).slice(2, 9, 18)));
  EXPECT_TRUE(at::equal(
      grid->Get(6, kSeed).At("input"),
      Unit(Recorded("turned/exif_6.jpg")).slice(1, 9, 18).slice(2, 0, 9)));
  EXPECT_NE(ErrorOf([&] {
              BuildDataset(Json("ImageFiles", folder.path(),
                                R"("patch_size": 24, "crop": "grid")"));
            }),
            "");
  const auto large =
      BuildDataset(Json("ImageFiles", folder.path(), R"("patch_size": 20)"));
  const std::string error = ErrorOf([&] { large->Get(0, kSeed); });
  EXPECT_NE(error.find("a.png"), std::string::npos) << error;
  EXPECT_NE(error.find("23x19"), std::string::npos) << error;
}

TEST(ImageSource, DecodesOnceWhatFitsTheCache) {
  const TempFolder folder;
  const std::vector<std::string> files = {
      CopyImage(folder, "rgb.png", "a.png"),
      CopyImage(folder, "rgb.png", "b.png"),
      CopyImage(folder, "rgb.png", "c.png")};
  constexpr int64_t kImage = 3 * 19 * 23;
  const auto cache = std::make_shared<ImageCache>(3, 2 * kImage + 1);
  const ImageSource source(files, {}, cache, 0);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(at::equal(source.Whole(i), Recorded("decode/rgb.png/rgb")));
    }
  }
  // Two images stay; the third is decoded each time.
  EXPECT_EQ(cache->counts().hits, 4);
  EXPECT_EQ(cache->counts().misses, 5);
  EXPECT_EQ(cache->counts().bytes, 2 * kImage);
  // What is cached needs no file any more.
  std::filesystem::remove(files[0]);
  EXPECT_EQ(source.Whole(0).size(0), 3);
  std::filesystem::remove(files[2]);
  EXPECT_NE(ErrorOf([&] { source.Whole(2); }), "");
}

TEST(ImageSource, ThreadsShareTheCacheWithinItsBound) {
  const TempFolder folder;
  std::vector<std::string> files;
  for (int i = 0; i < 8; ++i) {
    files.push_back(CopyImage(folder, "rgb.png", std::to_string(i) + ".png"));
  }
  const auto cache = std::make_shared<ImageCache>(8, 5 * 3 * 19 * 23);
  const ImageSource source(files, {}, cache, 0);
  const at::Tensor& expected = Recorded("decode/rgb.png/rgb");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 64; ++i) {
        if (!at::equal(source.Whole((i * 3 + t) % 8), expected)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache->counts().bytes, 5 * 3 * 19 * 23);
  EXPECT_EQ(cache->counts().hits + cache->counts().misses, 4 * 64);
}

// Writes the source of resizing as it can only be: through a reader.
void ExpectDegraded(const std::string& kernel, int64_t scale) {
  const TempFolder folder;
  CopyImage(folder, "degrade.png", "a.png");
  const std::string more =
      R"("kernel": ")" + kernel + R"(", "scale": )" + std::to_string(scale);
  const auto data = BuildDataset(Json("SuperResolution", folder.path(), more));
  ASSERT_EQ(data->Size(), 1);
  const Batch sample = data->Get(0, kSeed);
  const at::Tensor& low =
      Recorded("degrade/" + kernel + "/" + std::to_string(scale));
  EXPECT_TRUE(at::equal(sample.At("input"), Unit(low)));
  const at::Tensor high = Unit(Recorded("resize/source"))
                              .slice(1, 0, low.size(1) * scale)
                              .slice(2, 0, low.size(2) * scale);
  EXPECT_TRUE(at::equal(sample.At("target"), high));

  // Patches show the same part, with or without the cache.
  const std::string patches = more + R"(, "patch_size": )" +
                              std::to_string(6 * scale) + R"(, "repeat": 30)";
  const auto cached =
      BuildDataset(Json("DegradedImages", folder.path(), patches));
  const auto uncached = BuildDataset(
      Json("DegradedImages", folder.path(), patches + R"(, "cache": "1B")"));
  std::set<std::pair<int64_t, int64_t>> places;
  for (int64_t i = 0; i < 30; ++i) {
    const Batch patch = cached->Get(i, kSeed);
    const Batch other = uncached->Get(i, kSeed);
    EXPECT_TRUE(at::equal(patch.At("input"), other.At("input"))) << i;
    EXPECT_TRUE(at::equal(patch.At("target"), other.At("target"))) << i;
    bool found = false;
    for (int64_t y = 0; y + 6 <= low.size(1); ++y) {
      for (int64_t x = 0; x + 6 <= low.size(2); ++x) {
        if (!at::equal(patch.At("input"),
                       Unit(low).slice(1, y, y + 6).slice(2, x, x + 6))) {
          continue;
        }
        found = at::equal(patch.At("target"),
                          high.slice(1, y * scale, (y + 6) * scale)
                              .slice(2, x * scale, (x + 6) * scale));
        places.insert({y, x});
      }
    }
    EXPECT_TRUE(found) << i;
  }
  EXPECT_GT(places.size(), 15u);
}

TEST(DegradedImages, ArePillowsOrMatlabsAndPatchesAreAligned) {
  for (const char* kernel : {"pillow", "matlab"}) {
    for (int64_t scale : {2, 3, 4}) ExpectDegraded(kernel, scale);
  }
}

TEST(DegradedImages, WholePairsOfDifferentSizesAreBatchedOnceTheyAreCut) {
  const TempFolder folder;
  CopyImage(folder, "rgb.png", "a.png");
  CopyImage(folder, "degrade.png", "b.png");
  const auto data = BuildDataset(
      Json("SuperResolution", folder.path(),
           R"("scale": 2, "transforms": [{"type": "RandomCrop", "size": 8,
                                           "fields": ["input", "target"]}])"));
  const std::vector<int64_t> all = {1, 0};
  const Batch batch = data->GetBatch(all, kSeed);
  EXPECT_EQ(batch.At("input").sizes(), at::IntArrayRef({2, 3, 8, 8}));
  EXPECT_EQ(batch.At("target").sizes(), at::IntArrayRef({2, 3, 16, 16}));
}

TEST(DegradedImages, GridCoversTheImageOnce) {
  const TempFolder folder;
  CopyImage(folder, "degrade.png", "a.png");  // 49 x 62
  const auto data = BuildDataset(Json("DegradedImages", folder.path(),
                                      R"("patch_size": 16, "crop": "grid")"));
  ASSERT_EQ(data->Size(), 9);
  const at::Tensor high = Unit(Recorded("resize/source"));
  for (int64_t i = 0; i < 9; ++i) {
    const int64_t top = i / 3 * 16;
    const int64_t left = i % 3 * 16;
    EXPECT_TRUE(
        at::equal(data->Get(i, kSeed).At("target"),
                  high.slice(1, top, top + 16).slice(2, left, left + 16)));
  }
}

TEST(DegradedImages, RefusesWhatDoesNotFit) {
  const TempFolder folder;
  CopyImage(folder, "degrade.png", "a.png");
  const auto error_of = [&](const std::string& more) {
    return ErrorOf([&] {
      BuildDataset(Json("DegradedImages", folder.path(), more))->Get(0, kSeed);
    });
  };
  EXPECT_NE(
      error_of(R"("patch_size": 15)").find("expected a multiple of scale"),
      std::string::npos);
  EXPECT_NE(error_of(R"("patch_size": 50)").find("a.png"), std::string::npos);
  EXPECT_NE(error_of(R"("repeat": 2)").find("repeat"), std::string::npos);
  EXPECT_NE(error_of(R"("patch_size": 16, "repeat": 1000000000000000)")
                .find("repeat: 1000000000000000"),
            std::string::npos);
  EXPECT_NE(error_of(R"("mode": "rgb", "max_pixels": 100)").find("62x49"),
            std::string::npos);
}

TEST(PairedImages, MatchesByStemAndKeepsPatchesAligned) {
  const TempFolder folder;
  // 19 x 23 at both sides: scale 1.
  CopyImage(folder, "rgb.png", "low/ax2.png");
  CopyImage(folder, "rgb_444.jpg", "low/bx2.jpg");
  CopyImage(folder, "rgb.png", "high/a.png");
  CopyImage(folder, "rgb.png", "high/b.png");
  const std::string start = R"({"type": "PairedImages", "low": ")" +
                            folder.path() + R"(/low", "high": ")" +
                            folder.path() + R"(/high")";
  const auto data = BuildDataset(
      start + R"(, "low_suffix": "x2", "patch_size": 7, "repeat": 4})");
  ASSERT_EQ(data->Size(), 8);
  for (int64_t i = 0; i < 8; i += 2) {
    const Batch sample = data->Get(i, kSeed);
    EXPECT_TRUE(at::equal(sample.At("input"), sample.At("target")));
  }
  EXPECT_FALSE(at::equal(data->Get(1, kSeed).At("input"),
                         data->Get(1, kSeed).At("target")));
  std::string error = ErrorOf([&] { BuildDataset(start + "}"); });
  EXPECT_NE(error.find("high/a.png"), std::string::npos) << error;
  error = ErrorOf([&] {
    BuildDataset(start + R"(, "low_suffix": "x2", "scale": 2})")->Get(0, kSeed);
  });
  EXPECT_NE(error.find("larger by 2"), std::string::npos) << error;
  std::filesystem::remove(folder.path() + "/high/b.png");
  error = ErrorOf([&] { BuildDataset(start + R"(, "low_suffix": "x2"})"); });
  EXPECT_NE(error.find("bx2.jpg"), std::string::npos) << error;
}

TEST(PairedImages, TargetsMayBeClasses) {
  const TempFolder folder;
  CopyImage(folder, "rgb.png", "images/a.png");
  CopyImage(folder, "grey.png", "masks/a.png");
  const std::string start = R"({"type": "PairedImages", "low": ")" +
                            folder.path() + R"(/images", "high": ")" +
                            folder.path() + R"(/masks", )";
  const at::Tensor& grey = Recorded("decode/grey.png/grey");
  const auto data =
      BuildDataset(start + R"("target_dtype": "int64", "transforms":
        [{"type": "RandomCrop", "size": 8, "fields": ["input", "target"]}]})");
  const std::vector<int64_t> all = {0};
  EXPECT_EQ(data->GetBatch(all, kSeed).At("target").sizes(),
            at::IntArrayRef({1, 8, 8}));
  const Batch sample =
      BuildDataset(start + R"("target_dtype": "int64"})")->Get(0, kSeed);
  EXPECT_TRUE(
      at::equal(sample.At("input"), Unit(Recorded("decode/rgb.png/rgb"))));
  EXPECT_TRUE(at::equal(sample.At("target"), grey[0].to(at::kLong)));
  EXPECT_TRUE(at::equal(BuildDataset(start + R"("target_mode": "grey"})")
                            ->Get(0, kSeed)
                            .At("target"),
                        Unit(grey)));
  CopyImage(folder, "rgb.png", "masks/a.png");
  EXPECT_NE(
      ErrorOf([&] {
        BuildDataset(start + R"("target_dtype": "int64"})")->Get(0, kSeed);
      }).find("masks/a.png\": has 3 channels; 1, of classes"),
      std::string::npos);
}

TEST(PairedImages, FindsTheScaleOfTheFirstPair) {
  const TempFolder folder;
  CopyImage(folder, "degrade_low.png", "low/a.png");
  CopyImage(folder, "degrade_even.png", "high/a.png");
  const auto data = BuildDataset(R"({"type": "PairedImages", "low": ")" +
                                 folder.path() + R"(/low", "high": ")" +
                                 folder.path() + R"(/high", "patch_size": 8})");
  const Batch sample = data->Get(0, kSeed);
  EXPECT_EQ(sample.At("input").sizes(), at::IntArrayRef({3, 4, 4}));
  EXPECT_EQ(sample.At("target").sizes(), at::IntArrayRef({3, 8, 8}));
}

// ---- CIFAR ------------------------------------------------------------------

std::string CifarRecord(const std::string& labels, int first) {
  std::string record = labels;
  for (int i = 0; i < 3072; ++i) record += static_cast<char>(first + i * 7);
  return record;
}

TEST(Cifar, ReadsTheFilesOfASplitInOrder) {
  const TempFolder folder;
  for (int i = 1; i <= 5; ++i) {
    folder.Write("data_batch_" + std::to_string(i) + ".bin",
                 CifarRecord(std::string(1, static_cast<char>(i)), i));
  }
  folder.Write("test_batch.bin", CifarRecord("\x09", 77));
  const auto train =
      BuildDataset(Json("CIFAR10", folder.path(), R"("dtype": "uint8")"));
  ASSERT_EQ(train->Size(), 5);
  EXPECT_TRUE(at::equal(train->Column("target"),
                        at::tensor({1, 2, 3, 4, 5}).to(at::kLong)));
  const Batch sample = train->Get(2, kSeed);
  const at::Tensor image = sample.At("input");
  EXPECT_EQ(image.sizes(), at::IntArrayRef({3, 32, 32}));
  // Green, row 1, column 2: byte 1024 + 32 + 2.
  EXPECT_EQ(image[1][1][2].item<int>(), (3 + 1058 * 7) % 256);
  EXPECT_EQ(sample.At("target").item<int64_t>(), 3);
  const auto test =
      BuildDataset(Json("CIFAR10", folder.path(), R"("split": "test")"));
  ASSERT_EQ(test->Size(), 1);
  EXPECT_FLOAT_EQ(test->Get(0, kSeed).At("input")[0][0][0].item<float>(),
                  77 / 255.0f);
  const std::vector<int64_t> rows = {4, 0};
  const Batch batch = train->GetBatch(rows, kSeed);
  EXPECT_TRUE(
      at::equal(batch.At("input")[1], train->Get(0, kSeed).At("input")));
  EXPECT_EQ(batch.At("target")[0].item<int64_t>(), 5);
}

TEST(Cifar, HundredHasTwoKindsOfLabels) {
  const TempFolder folder;
  folder.Write("train.bin", CifarRecord("\x13\x63", 0));
  EXPECT_TRUE(
      at::equal(BuildDataset(Json("CIFAR100", folder.path()))->Column("target"),
                at::tensor({99}).to(at::kLong)));
  EXPECT_TRUE(at::equal(
      BuildDataset(Json("CIFAR100", folder.path(), R"("labels": "coarse")"))
          ->Column("target"),
      at::tensor({19}).to(at::kLong)));
}

TEST(Cifar, RefusesPartsOfRecordsAndWrongLabels) {
  const TempFolder folder;
  const auto error_of = [&](const std::string& bytes) {
    folder.Write("test_batch.bin", bytes);
    return ErrorOf([&] {
      BuildDataset(Json("CIFAR10", folder.path(), R"("split": "test")"));
    });
  };
  EXPECT_EQ(error_of(CifarRecord("\x01", 0)), "");
  for (const auto& [bytes, offset] :
       {std::pair<std::string, std::string>{"", "byte 0:"},
        {CifarRecord("\x01", 0) + "x", "byte 3073:"},
        {CifarRecord("\x01", 0) + CifarRecord("\x0a", 0), "byte 3073:"},
        {CifarRecord("\x01", 0).substr(1), "byte 0:"}}) {
    const std::string error = error_of(bytes);
    EXPECT_NE(error.find(offset), std::string::npos) << error;
    EXPECT_NE(error.find("test_batch.bin"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace epochd::engine
