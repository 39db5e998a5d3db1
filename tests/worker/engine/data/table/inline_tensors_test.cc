// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/table/inline_tensors.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/engine/data/signal/signal_files.h"

namespace epochd::engine {
namespace {

using catalogue::Json;
using testing::HasSubstr;

TEST(InlineTensors, HaveTheTypeOfTheirNumbers) {
  const Json table = Json::parse("[[0, 0], [0, 1]]");
  EXPECT_TRUE(at::equal(TensorOf(table, "input", "", false),
                        at::tensor({0.f, 0.f, 0.f, 1.f}).view({2, 2})));
  EXPECT_EQ(TensorOf(table, "target", "", true).scalar_type(), at::kLong);
  EXPECT_EQ(TensorOf(Json::parse("[0.5, 1]"), "target", "", true).scalar_type(),
            at::kFloat);
  EXPECT_EQ(
      TensorOf(Json::parse("[true, false]"), "m", "", false).scalar_type(),
      at::kBool);
  EXPECT_EQ(TensorOf(table, "x", "int64", false).scalar_type(), at::kLong);
}

TEST(InlineTensors, ErrorsNameFieldAndEntry) {
  const struct {
    const char* json;
    const char* problem;
  } kCases[] = {
      {"5", "is 5; a list with an entry per sample is needed"},
      {"[]", "is a list that is empty"},
      {"[[1, 2], [3]]", "entry [1] is [3]; a list of 2"},
      {"[[1, 2], [3, \"x\"]]", "entry [1][1] is \"x\"; a number"},
      {"[[1], 2]", "entry [1] is 2; a list of 1"},
      {"[1, [2]]", "entry [1] is [2]; a number"},
  };
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.json);
    EXPECT_THAT(
        ErrorOf([&] { TensorOf(Json::parse(each.json), "f", "", false); }),
        HasSubstr(std::string("field \"f\": ") + each.problem));
  }
  EXPECT_THAT(ErrorOf([] { TensorOf(Json::parse("[0.5]"), "f", "int64", 0); }),
              HasSubstr("int64 needs whole ones"));
}

}  // namespace
}  // namespace epochd::engine
