// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/bar.h"

#include <gtest/gtest.h>

#include <string>

#include "client/terminal/width.h"

namespace epochd::terminal {
namespace {

Style OfWidth(int width, bool unicode) {
  Style style;
  style.width = width;
  style.unicode = unicode;
  return style;
}

const Bar kBar = {"epoch 3/30 train", 13, 26, "loss 0.1234  ETA 12s"};

TEST(Bar, FillsByTheFraction) {
  EXPECT_EQ(RenderBar(kBar, OfWidth(80, false)),
            "epoch 3/30 train [###############...............]  50%  loss "
            "0.1234  ETA 12s");
  EXPECT_EQ(RenderBar(kBar, OfWidth(80, true)),
            "epoch 3/30 train ▕███████████████               ▏  50%  loss "
            "0.1234  ETA 12s");
}

TEST(Bar, ShrinksTheBarThenTheText) {
  EXPECT_EQ(RenderBar(kBar, OfWidth(60, false)),
            "epoch 3/30 train [######.......]  50%  loss 0.1234  ETA 12s");
  EXPECT_EQ(RenderBar(kBar, OfWidth(45, false)),
            "epoch 3/30 train [####....]  50%  loss 0.12~");
  EXPECT_EQ(RenderBar(kBar, OfWidth(20, false)), "epoch 3/30 train");
}

TEST(Bar, NeverTakesTheLastColumn) {
  for (int width = 20; width < 140; ++width) {
    for (double done = 0; done <= 26; done += 0.5) {
      Bar bar = kBar;
      bar.done = done;
      const std::string text = RenderBar(bar, OfWidth(width, true));
      ASSERT_LT(DisplayWidth(text), static_cast<size_t>(width)) << text;
    }
  }
}

TEST(Bar, DrawsNoneWhereTheTotalIsUnknown) {
  EXPECT_EQ(RenderBar({"epoch 1", 3, 0, "loss 1"}, OfWidth(80, false)),
            "epoch 1  loss 1");
  EXPECT_NE(RenderBar({"x", 9, 3, ""}, OfWidth(80, false)).find("100%"),
            std::string::npos);
}

}  // namespace
}  // namespace epochd::terminal
