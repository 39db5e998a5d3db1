// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/output.h"

#include <gtest/gtest.h>

#include "epochd/v1/job.pb.h"

namespace epochd::epochctl {
namespace {

TEST(Output, WritesMessagesAsProtobufMapsThem) {
  v1::Job job;
  job.set_name("jobs/a");
  job.set_state(v1::JOB_STATE_RUNNING);
  job.mutable_create_time()->set_seconds(1000000);
  job.mutable_spec()->set_display_name("no");
  job.set_last_sequence(7);
  EXPECT_EQ(Render(ToJson(job), Format::kJson),
            "{\n"
            "  \"name\": \"jobs/a\",\n"
            "  \"spec\": {\n"
            "    \"display_name\": \"no\"\n"
            "  },\n"
            "  \"state\": \"JOB_STATE_RUNNING\",\n"
            "  \"create_time\": \"1970-01-12T13:46:40Z\",\n"
            "  \"last_sequence\": \"7\"\n"
            "}\n");
}

TEST(Output, QuotesInYamlWhatWouldBeReadAsSomethingElse) {
  const nlohmann::ordered_json json = {{"a", "12"},     {"b", 12},
                                       {"c", "true"},   {"d", nullptr},
                                       {"e", {1, 2.5}}, {"f", "text"}};
  EXPECT_EQ(Render(json, Format::kYaml),
            "a: \"12\"\n"
            "b: 12\n"
            "c: \"true\"\n"
            "d: ~\n"
            "e:\n"
            "  - 1\n"
            "  - 2.5\n"
            "f: text\n");
}

}  // namespace
}  // namespace epochd::epochctl
