// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/wfdb_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace epochd::engine {
namespace {

using testing::ElementsAre;

std::vector<int32_t> Decode(int code, std::vector<uint8_t> bytes, int64_t skip,
                            size_t count) {
  std::vector<int32_t> out(count);
  DecodeWfdb(*FindWfdbFormat(code), bytes, skip, out);
  return out;
}

TEST(WfdbSamples, DecodesEachFormat) {
  EXPECT_THAT(Decode(16, {1, 0, 0xff, 0xff, 0, 0x80}, 0, 3),
              ElementsAre(1, -1, -32768));
  EXPECT_THAT(Decode(24, {1, 0, 0, 0xfe, 0xff, 0xff, 0, 0, 0x80}, 0, 3),
              ElementsAre(1, -2, -8388608));
  EXPECT_THAT(Decode(32, {0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff}, 0, 2),
              ElementsAre(256, -1));
  EXPECT_THAT(Decode(61, {0, 1, 0xff, 0xfe}, 0, 2), ElementsAre(1, -2));
  EXPECT_THAT(Decode(80, {0, 128, 255}, 0, 3), ElementsAre(-128, 0, 127));
  EXPECT_THAT(Decode(160, {0, 0, 0, 0x80}, 0, 2), ElementsAre(-32768, 0));
  // 0x123 and -1 (0xfff).
  EXPECT_THAT(Decode(212, {0x23, 0xf1, 0xff}, 0, 2), ElementsAre(0x123, -1));
}

TEST(WfdbSamples, EntersABlockAtAnySample) {
  // 311: 1, 2 and 3, then 4.
  const std::vector<uint8_t> bytes{0x01, 0x08, 0x30, 0x00, 0x04, 0x00};
  EXPECT_THAT(Decode(311, bytes, 0, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Decode(311, bytes, 1, 2), ElementsAre(2, 3));
  EXPECT_THAT(Decode(311, bytes, 2, 2), ElementsAre(3, 4));
}

TEST(WfdbSamples, CountsBytesAndSamplesBothWays) {
  for (int code : {16, 24, 32, 61, 80, 160, 212, 310, 311}) {
    SCOPED_TRACE(code);
    const WfdbFormat& format = *FindWfdbFormat(code);
    for (int64_t count = 0; count < 20; ++count) {
      const int64_t bytes = format.BytesOf(count);
      // Two samples of format 310 take the bytes of three.
      EXPECT_GE(format.SamplesIn(bytes), count);
      EXPECT_EQ(format.BytesOf(format.SamplesIn(bytes)), bytes);
      if (count == 0) continue;
      EXPECT_LT(format.SamplesIn(bytes - 1), count);
    }
  }
  EXPECT_EQ(FindWfdbFormat(8), nullptr);
}

}  // namespace
}  // namespace epochd::engine
