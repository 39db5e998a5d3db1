// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/registry.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"
#include "worker/engine/registry/build_scope.h"

namespace epochd::engine {
namespace {

struct Thing {
  std::string label;
  std::vector<int64_t> sizes;
  std::shared_ptr<Thing> inner;
};

std::shared_ptr<Thing> MakeThing(const Params& params) {
  auto thing = std::make_shared<Thing>();
  thing->label = params.String("label");
  thing->sizes = params.Ints("sizes");
  thing->inner = params.Make<Thing>("inner");
  return thing;
}

Registry Things() {
  Registry registry;
  registry.Add<Thing>(
      {{{.kind = "thing",
         .name = "Thing",
         .aliases = {"Ding"},
         .parameters =
             {{.name = "label",
               .type = "string",
               .default_value = "none",
               .aliases = {"title"}},
              {.name = "sizes", .type = "list<int>", .scalar_ok = true},
              {.name = "inner", .type = "component<thing>"}}},
        &MakeThing}});
  registry.Freeze();
  return registry;
}

TEST(RegistryTest, BuildsByNameAliasAndTarget) {
  const Registry registry = Things();
  const Json experiment = Json::object();
  BuildScope scope(registry, experiment, "experiment");
  for (const char* text :
       {R"({"type": "Thing", "label": "a"})",
        R"({"type": "Ding", "title": "a"})",
        R"({"_target": "some.path.Thing", "params": {"label": "a"}})"}) {
    EXPECT_EQ(scope.MakeAs<Thing>(Json::parse(text), "experiment.x")->label,
              "a")
        << text;
  }
  EXPECT_EQ(scope.MakeAs<Thing>({{"type", "Thing"}}, "experiment.x")->label,
            "none");
  EXPECT_EQ(
      scope.MakeAs<Thing>({{"type", "Thing"}, {"sizes", 3}}, "experiment.x")
          ->sizes,
      std::vector<int64_t>{3});
}

TEST(RegistryTest, BindsOneObjectInSeveralPlaces) {
  const Registry registry = Things();
  const Json experiment = Json::parse(R"({
      "shared": {"type": "Thing", "label": "shared"},
      "again": "${ref:shared}",
      "a": {"type": "Thing", "inner": "${ref:shared}"},
      "b": {"type": "Thing", "inner": "${ref:again}"}})");
  BuildScope scope(registry, experiment, "experiment");
  auto a = scope.MakeAs<Thing>(experiment["a"], "experiment.a");
  auto b = scope.MakeAs<Thing>(experiment["b"], "experiment.b");
  auto direct = scope.MakeAs<Thing>(experiment["shared"], "experiment.shared");
  EXPECT_EQ(a->inner, b->inner);
  EXPECT_EQ(a->inner, direct);
}

TEST(RegistryTest, RefusesCirclesMissingObjectsAndUnknownNames) {
  const Registry registry = Things();
  const Json experiment = Json::parse(R"({
      "a": {"type": "Thing", "inner": "${ref:b}"},
      "b": {"type": "Thing", "inner": "${ref:a}"},
      "self": "${ref:self}"})");
  struct Case {
    const char* value;
    const char* reason;
  };
  const Case kCases[] = {
      {R"("${ref:a}")", "circle"},
      {R"("${ref:self}")", "circle"},
      {R"("${ref:nobody}")", "no object is called \"nobody\""},
      {R"({"type": "Thong"})", "there are Thing"},
      {R"(17)", "a mapping {type: Name, ...}"}};
  for (const Case& each : kCases) {
    BuildScope scope(registry, experiment, "experiment");
    try {
      scope.MakeAs<Thing>(Json::parse(each.value), "experiment.x");
      ADD_FAILURE() << "accepted " << each.value;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadSpec);
      EXPECT_NE(std::string(error.what()).find(each.reason), std::string::npos)
          << error.what();
    }
  }
}

TEST(RegistryTest, RefusesANameThatIsTakenAndChangesAfterFreezing) {
  Registry registry = Things();
  EXPECT_THROW(registry.Declare({.kind = "thing", .name = "Other"}),
               std::logic_error);
  Registry open;
  open.Declare({.kind = "thing", .name = "Thing"});
  EXPECT_THROW(open.Declare({.kind = "thing", .name = "Thing"}),
               std::logic_error);
}

TEST(RegistryTest, SurvivesTheTripThroughJson) {
  const catalogue::Catalogue& own = TestRegistry().catalogue();
  const Json json = catalogue::ToJson(own);
  EXPECT_EQ(catalogue::ToJson(catalogue::FromJson(json)), json);
}

TEST(RegistryTest, DeclaresEveryKindAndHelpForEveryParameter) {
  std::set<std::string> kinds;
  for (const auto& component : TestRegistry().catalogue().components) {
    kinds.insert(component.kind);
    EXPECT_FALSE(component.help.empty()) << component.name;
    for (const auto& parameter : component.parameters) {
      EXPECT_FALSE(parameter.help.empty())
          << component.name << "." << parameter.name;
    }
  }
  for (const char* kind : {"experiment", "model", "dataset", "transform",
                           "loss", "metric", "optimizer", "scheduler", "runner",
                           "validation_runner", "trainer", "hook"}) {
    EXPECT_TRUE(kinds.count(kind)) << kind;
  }
}

}  // namespace
}  // namespace epochd::engine
