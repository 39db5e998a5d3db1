// SPDX-License-Identifier: Apache-2.0
#include "server/job/ids.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace epochd::job {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(JobIdTest, ReadsBackWhatItWrites) {
  for (const JobId id : {JobId(), JobId(1, 0), JobId(0, 1), JobId(kMax, kMax),
                         JobId(0x0123456789abcdef, 0xfedcba9876543210)}) {
    const auto again = JobId::Parse(id.ToString());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, id);
    EXPECT_EQ(id.ToString().size(), 26u);
  }
}

TEST(JobIdTest, DifferentIdsHaveDifferentTexts) {
  std::set<std::string> texts;
  for (int bit = 0; bit < 64; ++bit) {
    texts.insert(JobId(1ull << bit, 0).ToString());
    texts.insert(JobId(0, 1ull << bit).ToString());
  }
  EXPECT_EQ(texts.size(), 128u);
}

TEST(JobIdTest, RefusesWhatIsNotAnId) {
  const std::string good = JobId(7, 9).ToString();
  for (const std::string& bad :
       {std::string(), std::string("x"), good + "0", good.substr(1),
        "8" + good.substr(1), good.substr(0, 25) + "u",
        good.substr(0, 25) + "A", good.substr(0, 25) + std::string(1, '\0'),
        "../" + good.substr(3)}) {
    const auto parsed = JobId::Parse(bad);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument)
        << "'" << bad << "'";
  }
}

TEST(AttemptIdTest, ReadsBackWhatItWrites) {
  const AttemptId id{JobId(3, 4), AttemptNumber(12)};
  const auto again = AttemptId::Parse(id.ResourceName());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, id);
}

TEST(AttemptIdTest, OneAttemptHasOneName) {
  const std::string job = JobId(3, 4).ResourceName();
  for (const std::string& bad :
       {job, job + "/attempts/", job + "/attempts/0", job + "/attempts/01",
        job + "/attempts/+1", job + "/attempts/-1", job + "/attempts/1/",
        job + "/attempts/99999999999999999999", std::string("jobs//attempts/1"),
        job.substr(5) + "/attempts/1"}) {
    EXPECT_EQ(AttemptId::Parse(bad).status().code(),
              absl::StatusCode::kInvalidArgument)
        << bad;
  }
}

}  // namespace
}  // namespace epochd::job
