// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "catalogue/accepted_text.h"
#include "catalogue/catalogue.h"

namespace epochd::catalogue {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A catalogue of an experiment whose one key is a thing with these parameters
// and rules.
Catalogue WithThing(const std::string& parameters, const std::string& rules) {
  return FromJson(Json::parse(
      R"({"version": 1, "components": [
        {"kind": "experiment", "name": "Experiment", "open": true,
         "parameters": [
          {"name": "thing", "type": "component<thing>"}]},
        {"kind": "thing", "name": "Thing", "parameters": )" +
      parameters + R"(, "rules": )" + rules + "}]}"));
}

// Of an experiment with this thing, and `others`.
std::vector<std::string> LinesOf(const Catalogue& catalogue,
                                 const std::string& given,
                                 const std::string& others = "{}") {
  Json experiment = Json::parse(others);
  experiment["thing"] = Json::parse(given);
  experiment["thing"]["type"] = "Thing";
  std::vector<std::string> lines;
  for (const Violation& violation :
       Validate(catalogue, experiment).violations) {
    lines.push_back(violation.field + ": " + violation.description);
  }
  return lines;
}

struct RuleCase {
  const char* parameters;
  const char* rules;
  const char* good;
  const char* bad;
  const char* line;
};

constexpr const char* kTexts =
    R"([{"name": "a", "type": "string", "aliases": ["alpha"]},
        {"name": "b", "type": "string"}, {"name": "c", "type": "string"},
        {"name": "mode", "type": "string", "default": "x"}])";
constexpr const char* kNumbers =
    R"([{"name": "fold", "type": "int"},
        {"name": "folds", "type": "int", "default": 5}])";
constexpr const char* kLists =
    R"([{"name": "values", "type": "list<float>", "scalar_ok": true},
        {"name": "milestones", "type": "list<int>"},
        {"name": "channels", "type": "int", "default": 3},
        {"name": "names", "type": "list<string>"},
        {"name": "name", "type": "string"},
        {"name": "map", "type": "map<int>"}])";
constexpr const char* kHolder =
    R"([{"name": "a", "type": "string", "aliases": ["alpha"]},
        {"name": "inner", "type": "list<component<thing>>"},
        {"name": "map", "type": "map<component<thing>>"}])";
constexpr const char* kEquation =
    R"([{"name": "expression", "type": "expression"},
        {"name": "coordinates", "type": "list<string>",
         "default": ["t", "x"]},
        {"name": "unknowns", "type": "list<string>", "default": ["u"]},
        {"name": "parameters", "type": "map<constant>"}])";

const std::vector<RuleCase> kRuleCases = {
    {kTexts, R"([{"check": "one_of", "of": ["a", "b"]}])", R"({"b": "1"})",
     R"({})", "experiment.thing.a: missing, Thing needs one of a or b"},
    {kTexts, R"([{"check": "one_of", "of": ["a", "b"]}])", R"({"alpha": "1"})",
     R"({"a": "1", "b": "2"})",
     "experiment.thing.b: given beside 'a', expected one of a or b"},
    {kTexts, R"([{"check": "at_most_one", "of": ["b", "a"]}])", R"({})",
     R"({"b": "1", "alpha": "2"})",
     "experiment.thing.alpha: given beside 'b', expected one of b or a"},
    {kTexts, R"([{"check": "together", "of": ["a", "b"]}])", R"({})",
     R"({"b": "1"})", "experiment.thing.a: missing, b needs it"},
    {kTexts, R"([{"check": "needs", "of": ["a", "b"]}])", R"({"b": "1"})",
     R"({"a": "1", "b": ""})", "experiment.thing.b: empty, a needs it"},
    {kTexts,
     R"([{"check": "needs", "of": ["a"],
          "when": [{"parameter": "mode", "values": ["y", "z"]}]}])",
     R"({})", R"({"mode": "y"})",
     "experiment.thing.a: missing, Thing with mode: y or z needs it"},
    {kTexts,
     R"([{"check": "absent", "of": ["a"],
          "when": [{"parameter": "mode", "values": ["x"]}]}])",
     R"({"mode": "y", "a": "1"})", R"({"a": "1"})",
     "experiment.thing.a: not accepted with mode: x, got \"1\""},
    {kTexts,
     R"([{"check": "is", "of": ["mode"], "values": ["x", "y"],
          "when": [{"parameter": "a"}]}])",
     R"({"mode": "z"})", R"({"mode": "z", "a": "1"})",
     "experiment.thing.mode: expected \"x\" or \"y\" with a, got \"z\""},
    {kNumbers, R"([{"check": "less", "of": ["fold", "folds"]}])",
     R"({"fold": 4})", R"({"fold": 5})",
     "experiment.thing.fold: expected less than folds, which is 5, got 5"},
    {kNumbers, R"([{"check": "at_most", "of": ["folds", "fold"]}])",
     R"({"fold": 5})", R"({"fold": 4})",
     "experiment.thing.fold: expected at least folds, which is 5, got 4"},
    {kNumbers, R"([{"check": "divides", "of": ["fold", "folds"]}])",
     R"({"fold": 3, "folds": 9})", R"({"fold": 2, "folds": 9})",
     "experiment.thing.fold: expected a divisor of folds, which is 9, got 2"},
    {kLists, R"([{"check": "same_length", "of": ["values", "milestones"]}])",
     R"({"values": 1, "milestones": [3]})",
     R"({"values": [1, 2], "milestones": [3]})",
     "experiment.thing.values: expected 1 value, as many as milestones has, "
     "got 2"},
    {kLists, R"([{"check": "one_shorter", "of": ["milestones", "values"]}])",
     R"({"values": [1, 2], "milestones": [3]})",
     R"({"values": [1, 2], "milestones": [3, 4]})",
     "experiment.thing.milestones: expected 1 value, one less than values "
     "has, got 2"},
    {kLists, R"([{"check": "one_for_each", "of": ["values", "channels"]}])",
     R"({"values": 1})", R"({"values": [1, 2]})",
     "experiment.thing.values: expected 3 values, as many as channels says, "
     "got 2"},
    {kLists, R"([{"check": "sum_at_most", "of": ["values"], "values": [1]}])",
     R"({"values": [0.7, 0.2, 0.1]})", R"({"values": [0.8, 0.3]})",
     "experiment.thing.values: expected numbers that add up to at most 1, "
     "got [0.8,0.3], which add up to 1.1"},
    {kLists, R"([{"check": "among", "of": ["name", "names"]}])",
     R"({"name": "in", "names": ["in"]})",
     R"({"name": "im", "names": ["in", "out"]})",
     "experiment.thing.name: 'im' is none of names, did you mean 'in'?"},
    {kLists, R"([{"check": "among", "of": ["names", "map"]}])",
     R"({"names": ["a"], "map": {"a": 1}})",
     R"({"names": ["zzz"], "map": {"a": 1}})",
     "experiment.thing.names: 'zzz' is none of map, known are a"},
    {kLists, R"([{"check": "from_zero", "of": ["map"]}])",
     R"({"map": {"12": 1, "0": 1}})", R"({"map": {"12": 1}})",
     "experiment.thing.map: expected 0 among the keys, got 12"},
    {kLists, R"([{"check": "from_zero", "of": ["map"]}])", R"({})",
     R"({"map": {}})",
     "experiment.thing.map: expected 0 among the keys, got none"},
    {kLists, R"([{"check": "from_zero", "of": ["map"]}])",
     R"({"map": {"0": 1}})", R"({"map": {"0": 1, "00": 1}})",
     "experiment.thing.map.00: expected a whole number from 0 on as the "
     "key, got '00'"},
    {kLists, R"([{"check": "distinct", "of": ["names"]}])",
     R"({"names": ["a", "b"]})", R"({"names": ["a", "b", "a"]})",
     "experiment.thing.names[2]: expected each value once, got \"a\" again"},
    {kLists, R"([{"check": "from_zero", "of": ["map"]}])",
     R"({"map": {"0": 1}})", R"({"map": {"0": 1, "-1": 1}})",
     "experiment.thing.map.-1: expected a whole number from 0 on as the "
     "key, got '-1'"},
    {kHolder,
     R"([{"check": "absent", "of": ["inner", "map"],
          "values": ["a", "alpha"]}])",
     R"({"inner": [{"type": "Thing", "inner": []}], "map": {}})",
     R"({"inner": [{"_target": "x.Thing", "params": {"alpha": "1"}}]})",
     "experiment.thing.inner[0]: has a alpha; it belongs to the thing around "
     "it, Thing (experiment.thing)"},
    {kHolder, R"([{"check": "absent", "of": ["map"], "values": ["a"]}])",
     R"({"a": "1"})", R"({"map": {"x": {"type": "Thing", "a": "1"}}})",
     "experiment.thing.map.x: has a a; it belongs to the thing around it, "
     "Thing "
     "(experiment.thing)"},
    {kEquation,
     R"([{"check": "variables",
          "of": ["expression", "coordinates", "unknowns", "parameters"]}])",
     R"({"expression": "u_t + c*u_xx + x",
         "parameters": {"c": "1/pi"}})",
     R"({"expression": "u_t + c*v"})",
     "experiment.thing.expression: expression \"u_t + c*v\": \"c\" is not "
     "known; the unknowns (u), the coordinates (t, x), derivatives such as "
     "u_xx up to order 4, and parameters are accepted"},
    {kEquation,
     R"([{"check": "variables",
          "of": ["expression", "coordinates", "unknowns", "parameters"]}])",
     R"({"expression": 3})", R"({"expression": "1/c", "parameters": {"c": 0}})",
     "experiment.thing.expression: expression \"1/c\": character 4: the part "
     "before it is not finite; finite numbers are accepted"},
};

TEST(Rules, RefuseWhatBreaksThemAndNothingElse) {
  for (const RuleCase& each : kRuleCases) {
    const Catalogue catalogue = WithThing(each.parameters, each.rules);
    EXPECT_THAT(LinesOf(catalogue, each.good), IsEmpty()) << each.rules;
    EXPECT_THAT(LinesOf(catalogue, each.bad), ElementsAre(each.line))
        << each.rules;
  }
}

TEST(Rules, AboutWhatAComponentHoldsFollowReferences) {
  const Catalogue catalogue = WithThing(
      kHolder,
      R"([{"check": "absent", "of": ["inner", "map"], "values": ["a"]}])");
  const std::string named = R"({"list": ["${ref:one}", "${ref:one}"],
                                "one": "${ref:other}",
                                "other": {"type": "Thing", "a": "1"}})";
  const std::string problem =
      ": 'other' has a a; it belongs to the thing around it, Thing "
      "(experiment.thing)";
  EXPECT_THAT(LinesOf(catalogue, R"({"inner": "${ref:list}"})", named),
              ElementsAre("experiment.thing.inner" + problem));
  EXPECT_THAT(LinesOf(catalogue, R"({"map": {"x": "${ref:other}"}})", named),
              ElementsAre("experiment.thing.map.x" + problem));
  EXPECT_THAT(LinesOf(catalogue, R"({})", named), IsEmpty());
}

TEST(Rules, AreNotLookedAtWhereAValueIsWrong) {
  const Catalogue catalogue =
      WithThing(kNumbers, R"([{"check": "less", "of": ["fold", "folds"]}])");
  EXPECT_THAT(LinesOf(catalogue, R"({"fold": "five"})"),
              ElementsAre("experiment.thing.fold: expected an integer, got "
                          "\"five\""));
}

TEST(Rules, SurviveTheWayThroughJson) {
  for (const RuleCase& each : kRuleCases) {
    const Catalogue catalogue = WithThing(each.parameters, each.rules);
    const Json json = ToJson(catalogue);
    EXPECT_EQ(ToJson(FromJson(json)), json) << each.rules;
    EXPECT_FALSE(RuleText(catalogue.components[1].rules[0]).empty());
  }
}

TEST(Rules, ThatNameNoParameterAreRefusedWithTheCatalogue) {
  for (const char* rules : {R"([{"check": "less", "of": ["fold", "fields"]}])",
                            R"([{"check": "less", "of": ["fold"]}])",
                            R"([{"check": "lesser", "of": ["fold", "folds"]}])",
                            R"([{"check": "is", "of": ["fold"]}])", R"([3])"}) {
    EXPECT_THROW(WithThing(kNumbers, rules), std::invalid_argument) << rules;
  }
}

struct ValueCase {
  const char* parameter;
  const char* good;
  const char* bad;
  const char* line;
};

TEST(Bounds, RefuseWhatIsOutsideWithWhatIsAccepted) {
  const std::vector<ValueCase> cases = {
      {R"("type": "int", "numbers": [2, 3, 4, 8])", "4", "5",
       ": expected 2, 3, 4 or 8, got 5"},
      {R"("type": "float", "min": 0, "max": 1, "exclusive_max": true)", "0.5",
       "1", ": expected less than 1, got 1"},
      {R"("type": "int", "min": 1, "odd": true)", "3", "4",
       ": expected an odd number, got 4"},
      {R"("type": "list<int>", "scalar_ok": true, "min_items": 1,
          "max_items": 2)",
       "7", "[1, 2, 3]", ": expected 1 to 2 values, got 3: [1,2,3]"},
      {R"("type": "list<int>", "min_items": 2, "max_items": 2)", "[1, 1]", "[]",
       ": expected 2 values, got 0: []"},
      {R"("type": "map<int>", "min_items": 1)", R"({"a": 1})", "{}",
       ": expected at least 1 value, got 0: {}"},
      {R"("type": "list<list<int>>", "max_items": 1)", "[[1], [2]]",
       "[[1], [2, 3]]", "[1]: expected at most 1 value, got 2: [2,3]"},
      {R"("type": "list<float>", "order": "rising")", "[1, 2]", "[1, 1]",
       "[1]: expected more than 1, the number before it, got 1"},
      {R"("type": "list<float>", "order": "not_falling")", "[1, 1]", "[1, 0.5]",
       "[1]: expected at least 1, the number before it, got 0.5"},
      {R"("type": "constant")", R"("0.01/pi")", R"("2*x")",
       ": expression \"2*x\": \"x\" is not known; numbers and pi are "
       "accepted"},
      {R"("type": "constant")", "1e3", "[1]",
       ": expected a number or text such as 0.01/pi, got [1]"},
      {R"("type": "expression")", "\"-sin(pi*x)\"", "\"sin(x\"",
       ": expression \"sin(x\": character 6: \")\" is missing"},
      {R"("type": "expression")", "0", "true",
       ": expected a number or an expression such as sin(pi*x), got true"},
      {R"("type": "every", "choices": ["epochs"])", R"("2 epochs")", R"("10m")",
       ": expected '1 epoch', got \"10m\""},
      {R"("type": "every", "choices": ["epochs", "steps"])", R"("2 steps")",
       R"("10m")", ": expected '1 epoch' or '100 steps', got \"10m\""},
  };
  for (const ValueCase& each : cases) {
    const Catalogue catalogue = WithThing(
        R"([{"name": "p", )" + std::string(each.parameter) + "}]", "[]");
    const auto with = [](const std::string& value) {
      return R"({"p": )" + value + "}";
    };
    EXPECT_THAT(LinesOf(catalogue, with(each.good)), IsEmpty())
        << each.parameter;
    EXPECT_THAT(LinesOf(catalogue, with(each.bad)),
                ElementsAre("experiment.thing.p" + std::string(each.line)))
        << each.parameter;
    const Json json = ToJson(catalogue);
    EXPECT_EQ(ToJson(FromJson(json)), json) << each.parameter;
  }
}

}  // namespace
}  // namespace epochd::catalogue
