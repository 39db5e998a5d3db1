// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/catalogue_markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/catalogue/fixture.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;

TEST(CatalogueMarkdown, DescribesEveryComponentAndParameter) {
  const std::string page = CatalogueMarkdown(catalogue::Fixture());
  EXPECT_THAT(page, HasSubstr("## experiment\n\n### Experiment\n"));
  EXPECT_THAT(page, HasSubstr("### AdamW\n\n"
                              "| parameter | accepts | default | what |\n"
                              "| --- | --- | --- | --- |\n"
                              "| `lr` | `float`, more than 0 | `0.001` | Also "
                              "`learning_rate` |\n"));
  EXPECT_THAT(page, HasSubstr("Also called `CrossEntropyLoss`.\n"));
  EXPECT_THAT(page, HasSubstr("At most 1 replica.\n"));
  EXPECT_THAT(page, HasSubstr("| `t_max` | `int`, at least 1 | required | "));
  EXPECT_THAT(page, HasSubstr("one of `fp32`, `bf16`, `fp16`"));
  EXPECT_LT(page.find("## experiment"), page.find("## model"));
}

}  // namespace
}  // namespace epochd::epochctl
