// SPDX-License-Identifier: Apache-2.0
//
// Records that the disk changed. That whole ones come back as they were is the
// conformance suite's.
#include "server/store/records.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/conformance/job_samples.h"

namespace epochd::store {
namespace {

struct Kind {
  const char* name;
  std::string record;
  std::function<absl::Status(std::string_view)> decode;
};

std::vector<Kind> Kinds() {
  SampleJob sample(1);
  sample.Begin();
  sample.Fill();
  return {
      {"spec", EncodeSpec(FullSpec()),
       [](std::string_view record) { return DecodeSpec(record).status(); }},
      {"job", EncodeJob(sample.job()),
       [](std::string_view record) { return DecodeJob(record).status(); }},
      {"event", EncodeEvent(sample.events().back()),
       [](std::string_view record) { return DecodeEvent(record).status(); }},
      {"worker", EncodeWorker(FullWorker("w")),
       [](std::string_view record) { return DecodeWorker(record).status(); }},
  };
}

TEST(RecordsTest, AreReadAsTheyWereWritten) {
  for (const Kind& kind : Kinds()) {
    EXPECT_TRUE(kind.decode(kind.record).ok()) << kind.name;
  }
}

TEST(RecordsTest, AnyFlippedBitIsNoticed) {
  for (const Kind& kind : Kinds()) {
    for (size_t at = 0; at < kind.record.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = kind.record;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        EXPECT_EQ(kind.decode(damaged).code(), absl::StatusCode::kDataLoss)
            << kind.name << " byte " << at << " bit " << bit;
      }
    }
  }
}

TEST(RecordsTest, ACutRecordIsNoticedWhereverItWasCut) {
  for (const Kind& kind : Kinds()) {
    for (size_t size = 0; size < kind.record.size(); ++size) {
      EXPECT_EQ(kind.decode(kind.record.substr(0, size)).code(),
                absl::StatusCode::kDataLoss)
          << kind.name << " after " << size << " bytes";
    }
    EXPECT_FALSE(kind.decode(kind.record + "x").ok()) << kind.name;
    EXPECT_FALSE(kind.decode(kind.record + kind.record).ok()) << kind.name;
  }
}

}  // namespace
}  // namespace epochd::store
