// SPDX-License-Identifier: Apache-2.0
#include "server/store/seal.h"

#include <gtest/gtest.h>

#include "server/store/records.h"
#include "tests/conformance/job_samples.h"

namespace epochd::store {
namespace {

TEST(SealTest, ReturnsWhatWasSealed) {
  for (const std::string& bytes :
       {std::string(), std::string("abc"), std::string("a\0b", 3)}) {
    EXPECT_EQ(Unseal(Seal(bytes)), bytes);
  }
}

TEST(SealTest, NoticesEveryFlippedBitAndEveryCut) {
  const std::string sealed = Seal("some bytes of a record");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = sealed;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_FALSE(Unseal(changed).has_value()) << i << "." << bit;
    }
    EXPECT_FALSE(Unseal(std::string_view(sealed).substr(0, i)).has_value());
  }
}

TEST(RecordsTest, DamageIsDataLossAndNeverAnotherValue) {
  std::string record = EncodeSpec(FullSpec());
  ASSERT_TRUE(DecodeSpec(record).ok());
  record[record.size() / 2] ^= 1;
  EXPECT_EQ(DecodeSpec(record).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeEvent("").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeJob("").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeWorker("").status().code(), absl::StatusCode::kDataLoss);
}

TEST(RecordsTest, AnEventOfAnUnknownKindIsDataLoss) {
  // Field 900 alone: what a newer version might write.
  EXPECT_EQ(DecodeEvent(Seal("\xa2\x38")).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeEvent(Seal("")).status().code(), absl::StatusCode::kDataLoss);
}

TEST(RecordsTest, FieldsOfANewerVersionAreSkipped) {
  const std::string record = EncodeWorker(FullWorker(""));
  // Field 900 = 1, behind what is known.
  std::string newer = record.substr(0, record.size() - 4) + "\xa0\x38\x01";
  const auto worker = DecodeWorker(Seal(newer));
  ASSERT_TRUE(worker.ok()) << worker.status();
  EXPECT_EQ(*worker, FullWorker(""));
}

}  // namespace
}  // namespace epochd::store
