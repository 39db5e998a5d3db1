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

TEST(CatalogueMarkdown, BeginsWithTheServicesOwnKeys) {
  const std::string page = CatalogueMarkdown(catalogue::Fixture());
  const std::string keys = page.substr(0, page.find("## experiment"));
  for (const char* line : {
           "| `defaults` | `list<path>` or a single one |  | files that ",
           "| `priority` | `int`, at least 0, at most 100 | `50` | ",
           "| `resources.replicas` | `int` or `{min, max}` | `1` | ",
           "| `resources.device` | one of `cpu`, `gpu` | `\"cpu\"` | ",
           "| `resources.nodes.labels` | `map<string>` |  | ",
           "| `restart.backoff` | `duration` | `\"1s\"` | ",
           "| `checkpoints.keep_best` | `int`, at least 0, at most 1000 | `1` "
           "|",
           "| `experiment` | mapping |  | ",
       }) {
    EXPECT_THAT(keys, HasSubstr(line));
  }
  // Sections stand in place, not under names of their own.
  EXPECT_EQ(keys.find("JobResources"), std::string::npos);
  EXPECT_EQ(page.find("### JobResources"), std::string::npos);
}

TEST(AcceptedText, SaysTypeChoicesAndBounds) {
  using catalogue::Parameter;
  struct Case {
    Parameter parameter;
    const char* text;
  };
  for (const Case& c : {
           Case{{.name = "a", .type = "int"}, "`int`"},
           Case{{.name = "a", .type = "int", .min = 1, .max = 9},
                "`int`, at least 1, at most 9"},
           Case{{.name = "a", .type = "float", .min = 0, .exclusive_min = true},
                "`float`, more than 0"},
           Case{{.name = "a", .type = "float", .max = 0.5},
                "`float`, at most 0.5"},
           Case{{.name = "a", .type = "string", .choices = {"x", "y"}},
                "one of `x`, `y`"},
           Case{{.name = "a", .type = "list<string>", .choices = {"x"}},
                "list of `x`"},
           Case{{.name = "a", .type = "map<int>", .choices = {"x"}},
                "`map<int>` with the keys `x`"},
           Case{{.name = "a", .type = "list<int>", .scalar_ok = true},
                "`list<int>` or a single one"},
       }) {
    EXPECT_EQ(AcceptedText(c.parameter), c.text);
  }
}

}  // namespace
}  // namespace epochd::epochctl
