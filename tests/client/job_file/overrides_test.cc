// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/job_file/reader.h"

namespace epochd::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kFile = R"(name: a
experiment:
  seed: 1
  hooks:
    - {type: GradientClip, max_norm: 1}
    - {type: EarlyStopping}
)";

Json After(const std::string& text) {
  Document document = ReadDocument(kFile);
  ApplyOverride(document, text);
  EXPECT_THAT(document.problems, IsEmpty()) << text;
  return document.value;
}

TEST(Overrides, ReachEveryPlace) {
  struct Case {
    const char* text;
    const char* field;
    const char* value;
  };
  for (const Case& c : {
           Case{"name=b", "name", R"("b")"},
           Case{"seed=2", "experiment.seed", "2"},
           Case{"experiment.seed=3", "experiment.seed", "3"},
           Case{"hooks.0.max_norm=5", "experiment.hooks[0].max_norm", "5"},
           Case{"hooks[1].patience=5", "experiment.hooks[1].patience", "5"},
           Case{"hooks.2={type: StepRatio}", "experiment.hooks[2].type",
                R"("StepRatio")"},
           Case{"hooks.2.type=StepRatio", "experiment.hooks[2].type",
                R"("StepRatio")"},
           Case{"hooks=[]", "experiment.hooks", "[]"},
           Case{"resources.nodes.labels.zone=a", "resources.nodes.labels.zone",
                R"("a")"},
           Case{"system={a: [1, 2.5]}", "experiment.system.a[1]", "2.5"},
           Case{"system.text='3'", "experiment.system.text", R"("3")"},
           Case{"system.b=x=y", "experiment.system.b", R"("x=y")"},
           Case{R"(system["a.b"]=1)", R"(experiment.system["a.b"])", "1"},
       }) {
    Json value = After(c.text);
    const Json* found = FindField(value, c.field);
    ASSERT_NE(found, nullptr) << c.text;
    EXPECT_EQ(*found, Json::parse(c.value)) << c.text;
  }
}

TEST(Overrides, TakeAwayWhatIsSetToNull) {
  EXPECT_FALSE(After("seed=null")["experiment"].contains("seed"));
  EXPECT_FALSE(After("seed=")["experiment"].contains("seed"));
  EXPECT_FALSE(After("name=~").contains("name"));
  const Json hooks = After("hooks.0=null")["experiment"]["hooks"];
  ASSERT_THAT(hooks, SizeIs(1));
  EXPECT_EQ(hooks[0]["type"], "EarlyStopping");
}

TEST(Overrides, TakeNothingAwayWhereNothingIs) {
  const Json before = ReadDocument(kFile).value;
  for (const char* text :
       {"lr_scheduler=null", "lr_scheduler.gamma=null",
        "a.b.c=", "hooks.0.patience=~", "resources.replicas=null",
        "resources.nodes.labels.zone=null", "experiment.x.y=null"}) {
    EXPECT_EQ(After(text), before) << text;
  }
  Document empty = ReadDocument("");
  ApplyOverride(empty, "seed=null");
  EXPECT_THAT(empty.problems, IsEmpty());
  EXPECT_TRUE(empty.value.is_null());
}

TEST(Overrides, RefuseToTakeAwayWhatIsMisspelt) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& c : {
           Case{"sed=null",
                "there is no 'sed' in experiment, did you mean 'seed'?"},
           Case{"hokks.0=null",
                "there is no 'hokks' in experiment, did you mean 'hooks'?"},
           Case{"hooks.0.max_nrm=~",
                "there is no 'max_nrm' in experiment.hooks[0], did you mean "
                "'max_norm'?"},
           Case{"hooks.2=null",
                "there is no '2' in experiment.hooks, which has 2 elements: 0 "
                "to 1 name one, 2 with a value adds one"},
       }) {
    Document document = ReadDocument(kFile);
    const Json before = document.value;
    ApplyOverride(document, c.text);
    ASSERT_THAT(document.problems, SizeIs(1)) << c.text;
    EXPECT_THAT(document.problems[0].message, HasSubstr(c.message));
    EXPECT_EQ(document.value, before) << c.text;
  }
}

TEST(Overrides, BuildWhatIsMissingOnTheWay) {
  Document empty = ReadDocument("");
  ApplyOverride(empty, "optimizer.groups={a: 1}");
  ApplyOverride(empty, "resources.replicas=2");
  EXPECT_THAT(empty.problems, IsEmpty());
  EXPECT_EQ(empty.value,
            Json::parse(R"({"experiment": {"optimizer": {"groups": {"a": 1}}},
                            "resources": {"replicas": 2}})"));
}

TEST(Overrides, BeginAListThatIsMissing) {
  const Json after = After("callbacks.0={type: EMA}");
  EXPECT_EQ(after["experiment"]["callbacks"].dump(), R"([{"type":"EMA"}])");
  EXPECT_EQ(After("callbacks.0.type=EMA")["experiment"]["callbacks"].dump(),
            R"([{"type":"EMA"}])");
}

TEST(Overrides, TheLaterOneWins) {
  Document document = ReadDocument(kFile);
  for (const char* text : {"seed=2", "seed=null", "seed=3", "hooks.2={type: A}",
                           "hooks.0=null", "hooks.1.type=B"}) {
    ApplyOverride(document, text);
  }
  EXPECT_THAT(document.problems, IsEmpty());
  EXPECT_EQ(document.value["experiment"]["seed"], 3);
  EXPECT_EQ(document.value["experiment"]["hooks"][1]["type"], "B");
  EXPECT_THAT(document.value["experiment"]["hooks"], SizeIs(2));
}

TEST(Overrides, StandAtNoLine) {
  Document document = ReadDocument(kFile);
  ApplyOverride(document, "hooks.0={type: StepRatio, ratio: 2}");
  EXPECT_EQ(Locate(document.positions, "experiment.hooks[0].ratio").line, 0);
  EXPECT_EQ(Locate(document.positions, "experiment.hooks[1].type").line, 6);
  EXPECT_EQ(document.positions.count("experiment.hooks[0].max_norm"), 0u);
}

TEST(Overrides, DoNotTouchKeysThatOnlyBeginAlike) {
  Document document = ReadDocument("experiment:\n  seed: 1\n  seeds: 2\n");
  ApplyOverride(document, "seed=5");
  EXPECT_EQ(Locate(document.positions, "experiment.seeds").line, 3);
}

TEST(Overrides, RefuseWhatCannotBe) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& c : {
           Case{"seed", "expected FIELD=VALUE"},
           Case{"=1", "expected FIELD=VALUE"},
           Case{"hooks.3=1",
                "there is no '3' in experiment.hooks, which has 2 elements: 0 "
                "to 1 name one, 2 with a value adds one"},
           Case{"hooks.-1=1", "there is no '-1' in experiment.hooks"},
           Case{"hooks.x=1", "there is no 'x' in experiment.hooks"},
           Case{"hooks.0.type.x=1",
                "there is no 'x' in "
                "experiment.hooks[0].type"},
           Case{"seed=[1", "--set seed=[1: "},
           Case{"seed=&a 1", "an anchor"},
       }) {
    Document document = ReadDocument(kFile);
    const Json before = document.value;
    ApplyOverride(document, c.text);
    ASSERT_THAT(document.problems, SizeIs(1)) << c.text;
    EXPECT_THAT(document.problems[0].message, HasSubstr(c.message));
    EXPECT_EQ(document.value, before) << c.text;
  }
  std::string deep = "a";
  for (int i = 0; i < 100; ++i) deep += ".a";
  Document document = ReadDocument(kFile);
  ApplyOverride(document, deep + "=1");
  ASSERT_THAT(document.problems, SizeIs(1));
  EXPECT_THAT(document.problems[0].message, HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace epochd::client
