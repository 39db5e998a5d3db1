// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "tests/worker/engine/data/image/recorded.h"
#include "worker/engine/data/image/exif.h"
#include "worker/engine/data/image/image.h"

namespace epochd::engine {
namespace {

at::Tensor DecodeFile(const std::string& name, const DecodeOptions& options) {
  return DecodeImage(ReadBytes(GoldenPath("images/" + name)), name, options);
}

// How many values differ, and by how much at most.
std::string Difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return "shapes differ";
  const at::Tensor apart = (a.to(at::kInt) - b.to(at::kInt)).abs();
  const auto count = apart.count_nonzero().item<int64_t>();
  return count == 0 ? ""
                    : std::to_string(count) + " differ, by up to " +
                          std::to_string(apart.max().item<int>());
}

TEST(Decode, GivesWhatPillowGivesOfEveryKindOfFile) {
  const std::string prefix = "decode/";
  int cases = 0;
  for (const auto& [name, expected] : RecordedImages()) {
    if (!name.starts_with(prefix)) continue;
    const size_t slash = name.rfind('/');
    const std::string file = name.substr(prefix.size(), slash - prefix.size());
    const at::Tensor image =
        DecodeFile(file, {.mode = ParseImageMode(name.substr(slash + 1))});
    EXPECT_TRUE(image.is_contiguous());
    EXPECT_EQ(Difference(image, expected), "") << name;
    ++cases;
  }
  EXPECT_EQ(cases, 27 * 3 + 9);
}

TEST(Decode, KeepsTheChannelsOfTheFileWhenAskedTo) {
  const std::vector<std::pair<std::string, int64_t>> channels = {
      {"grey.png", 1},    {"grey_alpha.png", 2}, {"rgb.png", 3},
      {"rgba.png", 4},    {"palette.png", 3},    {"palette_alpha.png", 4},
      {"rgb_key.png", 4}, {"one_bit.png", 1},    {"grey_16bit.png", 1},
      {"rgb_420.jpg", 3}, {"grey.jpg", 1},       {"cmyk.jpg", 3}};
  const DecodeOptions options{.mode = ImageMode::kUnchanged};
  for (const auto& [file, count] : channels) {
    const at::Tensor image = DecodeFile(file, options);
    EXPECT_EQ(image.size(0), count) << file;
    const ImageInfo info =
        InspectImage(ReadBytes(GoldenPath("images/" + file)), file, options);
    EXPECT_EQ(info.channels, count) << file;
    EXPECT_EQ(info.height, image.size(1));
    EXPECT_EQ(info.width, image.size(2));
  }
  const at::Tensor grey_alpha = DecodeFile("grey_alpha.png", options);
  const at::Tensor& rgba = Recorded("decode/grey_alpha.png/rgba");
  EXPECT_TRUE(at::equal(grey_alpha[0], rgba[0]));
  EXPECT_TRUE(at::equal(grey_alpha[1], rgba[3]));
}

TEST(Decode, TurnsByExifOnlyWhenAskedTo) {
  int cases = 0;
  for (const auto& [name, expected] : RecordedImages()) {
    if (!name.starts_with("turned/")) continue;
    const std::string file = name.substr(7);
    const DecodeOptions options{.exif_orientation = true};
    const std::string bytes = ReadBytes(GoldenPath("images/" + file));
    const at::Tensor image = DecodeImage(bytes, file, options);
    EXPECT_EQ(Difference(image, expected), "") << file;
    const ImageInfo info = InspectImage(bytes, file, options);
    EXPECT_EQ(info.height, expected.size(1)) << file;
    EXPECT_EQ(info.width, expected.size(2)) << file;
    const Window window{2, 3, 5, 7};
    EXPECT_TRUE(at::equal(DecodeWindow(bytes, file, window, options),
                          expected.slice(1, 2, 7).slice(2, 3, 10)))
        << file;
    ++cases;
  }
  EXPECT_EQ(cases, 9);
}

TEST(Decode, AWindowHasTheValuesOfTheWhole) {
  const std::vector<Window> windows = {{0, 0, 19, 23},
                                       {0, 0, 1, 1},
                                       {18, 22, 1, 1},
                                       {3, 5, 8, 16},
                                       {7, 0, 12, 9}};
  for (const auto& entry :
       std::filesystem::directory_iterator(GoldenPath("images"))) {
    const std::string path = entry.path();
    const std::string bytes = ReadBytes(path);
    for (ImageMode mode : {ImageMode::kGrey, ImageMode::kRgb, ImageMode::kRgba,
                           ImageMode::kUnchanged}) {
      const at::Tensor whole = DecodeImage(bytes, path, {.mode = mode});
      for (const Window& window : windows) {
        const at::Tensor part =
            DecodeWindow(bytes, path, window, {.mode = mode});
        EXPECT_TRUE(at::equal(
            part, whole.slice(1, window.top, window.top + window.height)
                      .slice(2, window.left, window.left + window.width)))
            << path;
      }
    }
  }
}

TEST(Decode, RefusesAWindowThatIsNotInside) {
  const std::string bytes = ReadBytes(GoldenPath("images/rgb.png"));
  for (const Window& window :
       {Window{0, 0, 20, 1}, Window{0, 23, 1, 1}, Window{-1, 0, 2, 2},
        Window{0, 0, 0, 1}, Window{0, 1, 1, INT64_MAX}}) {
    const std::string error =
        ErrorOf([&] { DecodeWindow(bytes, "a.png", window); });
    EXPECT_NE(error.find("\"a.png\""), std::string::npos) << error;
    EXPECT_NE(error.find("23x19"), std::string::npos) << error;
  }
}

TEST(Exif, ReadsEitherByteOrderAndSurvivesNonsense) {
  using std::string_literals::operator""s;
  const std::string little =
      "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"s;
  const std::string big =
      "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0"s;
  EXPECT_EQ(ExifOrientation(little), 6);
  EXPECT_EQ(ExifOrientation(big), 8);
  for (const std::string& whole : {little, big}) {
    for (size_t n = 0; n < 22; ++n) {
      EXPECT_EQ(ExifOrientation(whole.substr(0, n)), 1) << n;
    }
  }
  std::string wrong = little;
  wrong[18] = 9;
  EXPECT_EQ(ExifOrientation(wrong), 1);
  EXPECT_EQ(ExifOrientation("II*\0\xff\xff\xff\xff"s), 1);
}

}  // namespace
}  // namespace epochd::engine
