// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "catalogue/component_form.h"
#include "tests/catalogue/fixture.h"

namespace epochd::catalogue {
namespace {

using ::testing::IsEmpty;

// Written in every form there is.
constexpr const char* kMixed = R"({
  "system": {"device": "cpu"},
  "model": {"_target_": "zoo.mlp", "in_features": 64, "out_features": 10,
            "_partial_": true},
  "data": {"train": {"_target": "Digits", "params": {"file": "d"}},
           "val": {"type": "Digits", "file": "d"}},
  "criterion": {"type": "torch.nn.CrossEntropyLoss", "label_smoothing": null},
  "optimizer": {"_target": "AdamW", "params": {"learning_rate": 0.1}},
  "training_runner": {"type": "TrainingRunner",
                      "optimizer": "${ref:optimizer}"},
  "other": {"type": "Shared", "name": "a"},
  "monitor": {"metric": "val/loss"},
  "trainer": {"type": "EpochTrainer", "epochs": 3},
  "hooks": [{"type": "DWarmup", "batches": 5}, "${ref:other}"]
})";

TEST(Resolve, SpellsOutWhatWasLeftOut) {
  const Json experiment = Json::parse(kMixed);
  EXPECT_THAT(Validate(Fixture(), experiment).violations, IsEmpty());
  EXPECT_EQ(Resolve(Fixture(), experiment), Json::parse(R"({
    "system": {"device": "cpu"},
    "model": {"type": "MLP", "in_features": 64, "hidden": [],
              "out_features": 10},
    "data": {"train": {"type": "Digits", "file": "d", "split": "all",
                       "batch_size": 64, "shuffle": false, "threads": 0,
                       "transforms": []},
             "val": {"type": "Digits", "file": "d", "split": "all",
                     "batch_size": 64, "shuffle": false, "threads": 0,
                     "transforms": []}},
    "criterion": {"type": "CrossEntropy", "name": "cross_entropy",
                  "label_smoothing": 0},
    "optimizer": {"type": "AdamW", "lr": 0.1, "weight_decay": 0.01,
                  "betas": [0.9, 0.999]},
    "training_runner": {"type": "TrainingRunner",
                        "optimizer": "${ref:optimizer}"},
    "other": {"type": "Shared", "name": "a"},
    "monitor": {"metric": "val/loss", "mode": "min"},
    "trainer": {"type": "EpochTrainer", "epochs": 3, "precision": "fp32"},
    "hooks": [{"type": "DiscriminatorWarmup", "batches": 5}, "${ref:other}"],
    "seed": 0,
    "task": "train",
    "metrics": []})"));
}

TEST(Resolve, ChangesNothingTheSecondTimeAndStaysValid) {
  const Json once = Resolve(Fixture(), Json::parse(kMixed));
  EXPECT_THAT(Validate(Fixture(), once).violations, IsEmpty());
  EXPECT_EQ(Resolve(Fixture(), once).dump(), once.dump());
}

TEST(Form, TellsTheThreeWaysApart) {
  struct Case {
    const char* text;
    const char* key;
    const char* name;
    const char* parameters;
  };
  for (const Case& c :
       {Case{R"({"type": "A", "x": 1})", "type", "A",
             R"({"type": "A", "x": 1})"},
        Case{R"({"_target": "m.A", "params": {"x": 1}})", "_target", "m.A",
             R"({"x": 1})"},
        Case{R"({"_target": "m.A"})", "_target", "m.A", "{}"},
        Case{R"({"_target": "m.A", "params": null})", "_target", "m.A", "{}"},
        Case{R"({"_target_": "m.A", "x": 1})", "_target_", "m.A",
             R"({"_target_": "m.A", "x": 1})"}}) {
    const Json value = Json::parse(c.text);
    const auto form = ReadForm(value);
    ASSERT_TRUE(form.has_value()) << c.text;
    EXPECT_EQ(form->key, c.key);
    EXPECT_EQ(form->Name(), c.name);
    ASSERT_NE(form->parameters, nullptr);
    EXPECT_EQ(*form->parameters, Json::parse(c.parameters));
    EXPECT_EQ(form->second_key, "");
  }
  const Json broken = Json::parse(R"({"_target": "A", "params": 3})");
  EXPECT_EQ(ReadForm(broken)->parameters, nullptr);
  const Json doubled = Json::parse(R"({"type": "A", "_target_": "B"})");
  EXPECT_EQ(ReadForm(doubled)->second_key, "_target_");
  EXPECT_EQ(ReadForm(Json::parse(R"({"type": 3})"))->Name(), "");
  EXPECT_FALSE(ReadForm(Json::parse(R"({"name": "A"})")).has_value());
  EXPECT_FALSE(ReadForm(Json("type")).has_value());
}

}  // namespace
}  // namespace epochd::catalogue
