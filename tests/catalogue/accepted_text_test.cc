// SPDX-License-Identifier: Apache-2.0
#include "catalogue/accepted_text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/catalogue/fixture.h"

namespace epochd::catalogue {
namespace {

TEST(ValueText, SaysWhatOneWrites) {
  const std::pair<Parameter, const char*> cases[] = {
      {{.type = "bool"}, "true or false"},
      {{.type = "int", .min = 1}, "an integer, at least 1"},
      {{.type = "float"}, "a number"},
      {{.type = "string"}, "text"},
      {{.type = "string", .choices = {"a", "b"}}, "a or b"},
      {{.type = "path"}, "a path"},
      {{.type = "every"}, "an interval such as '1 epoch'"},
      {{.type = "every", .choices = {"steps"}},
       "an interval such as '100 steps'"},
      {{.type = "component<model>"}, "a model such as {type: MLP, ...}"},
      {{.type = "component<optimizer>"},
       "an optimizer such as {type: AdamW, ...}"},
      {{.type = "component<loss_balancer>"}, "a loss balancer"},
      {{.type = "list<component<loss>>", .scalar_ok = true},
       "a loss such as {type: CrossEntropy, ...}, or a list of such"},
      {{.type = "list<int>", .min = 0},
       "a list, each value an integer, at "
       "least 0"},
      {{.type = "map<component<dataset>>", .choices = {"train"}},
       "a mapping, each value a dataset such as {type: Digits, ...}"},
      {{.type = "map"}, "a mapping"},
      {{.type = "section<Monitor>"}, "a mapping"}};
  for (const auto& [parameter, text] : cases) {
    EXPECT_EQ(ValueText(Fixture(), parameter), text) << parameter.type;
  }
}

}  // namespace
}  // namespace epochd::catalogue
