// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/resample.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/worker/engine/data/image/recorded.h"

namespace epochd::engine {
namespace {

Resampling Named(const std::string& name) {
  if (name == "pillow_bilinear") return Resampling::kPillowBilinear;
  if (name == "pillow_lanczos") return Resampling::kPillowLanczos;
  if (name == "matlab_bicubic") return Resampling::kMatlabBicubic;
  return Resampling::kPillowBicubic;
}

constexpr Resampling kAll[] = {
    Resampling::kPillowBilinear, Resampling::kPillowBicubic,
    Resampling::kPillowLanczos, Resampling::kMatlabBicubic};

int64_t Apart(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kInt) - b.to(at::kInt)).abs().max().item<int64_t>();
}

TEST(Resize, IsPillowsAndMatlabsToTheBit) {
  int cases = 0;
  for (const auto& [name, expected] : RecordedImages()) {
    int height = 0;
    int width = 0;
    char kind[32];
    if (std::sscanf(name.c_str(), "resize/%31[a-z_]/%dx%d", kind, &height,
                    &width) != 3) {
      continue;
    }
    const at::Tensor image =
        Resize(Recorded("resize/source"), height, width, Named(kind));
    ASSERT_EQ(image.sizes(), expected.sizes()) << name;
    EXPECT_EQ(Apart(image, expected), 0) << name;
    ++cases;
  }
  EXPECT_EQ(cases, 24);
}

TEST(Resize, OfTheSameSizeIsTheImage) {
  const at::Tensor& source = Recorded("resize/source");
  for (Resampling each : kAll) {
    EXPECT_TRUE(at::equal(Resize(source, 49, 62, each), source));
  }
}

TEST(Resize, APartIsThatOfTheWhole) {
  const at::Tensor& source = Recorded("resize/source");
  for (Resampling each : kAll) {
    for (const auto& [height, width] :
         {std::pair<int64_t, int64_t>{24, 31}, {12, 62}, {80, 75}}) {
      const at::Tensor whole = Resize(source, height, width, each);
      for (const Window& out : {Window{0, 0, 1, 1}, Window{3, 4, 7, 9},
                                Window{height - 2, width - 5, 2, 5}}) {
        const PartialResize resize{49, 62, height, width, out, each};
        const Window needs = resize.Needs();
        const at::Tensor part =
            source.slice(1, needs.top, needs.top + needs.height)
                .slice(2, needs.left, needs.left + needs.width);
        EXPECT_TRUE(at::equal(resize.Apply(part),
                              whole.slice(1, out.top, out.top + out.height)
                                  .slice(2, out.left, out.left + out.width)));
      }
    }
  }
}

// BasicSR resizes floats, without rounding between the axes.
TEST(Resize, MatlabsIsWithinRoundingOfBasicSr) {
  for (const int64_t scale : {2, 3, 4}) {
    const at::Tensor& exact =
        Recorded("degrade/basicsr/" + std::to_string(scale));
    const at::Tensor& rounded =
        Recorded("degrade/matlab/" + std::to_string(scale));
    const at::Tensor apart = (exact.clamp(0, 255) - rounded).abs();
    EXPECT_LT(apart.max().item<float>(), 1.2f) << scale;
    EXPECT_LT(apart.mean().item<float>(), 0.35f) << scale;
  }
}

TEST(Resize, RefusesWhatIsNoImage) {
  const at::Tensor image = at::zeros({3, 4, 5}, at::kByte);
  EXPECT_NE(ErrorOf([&] {
              Resize(image.to(at::kFloat), 2, 2, Resampling::kPillowBicubic);
            }),
            "");
  EXPECT_NE(ErrorOf([&] { Resize(image, 0, 2, Resampling::kPillowBicubic); }),
            "");
  EXPECT_NE(
      ErrorOf([&] { Resize(image[0], 2, 2, Resampling::kMatlabBicubic); }), "");
}

}  // namespace
}  // namespace epochd::engine
