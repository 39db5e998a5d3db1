// SPDX-License-Identifier: Apache-2.0
//
// The schema accepts and refuses what `epochctl validate` does.
#include "client/epochctl/job_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "client/job_file/job_file.h"
#include "client/job_file/reader.h"
#include "tests/catalogue/fixture.h"
#include "tests/client/epochctl/harness.h"
#include "tests/client/epochctl/schema_checker.h"

namespace epochd::epochctl {
namespace {

using client::Json;

constexpr const char* kGood = R"(name: a-1
experiment:
  system: {rate: 0.5}
  model: {type: MLP, in_features: 64, hidden: 8, out_features: 10}
  data:
    train: {type: Digits, file: d, transforms: [{type: Normalize}]}
    val: {type: Digits, file: d, transforms: "${data.train.transforms}"}
  loss: {_target: torch.nn.CrossEntropyLoss, params: {label_smoothing: 0.1}}
  optimizer: {_target_: zoo.AdamW, learning_rate: "${system.rate}", _partial_: true}
  trainer: {type: EpochTrainer, epochs: 3, limit: 10m}
  teacher: {type: MLP, in_features: 1, out_features: 1}
  hooks: [{type: stop_condition, patience: 3}, {type: BatchImageSaver, every: 2 epochs, extra: "${ref:teacher}"}]
  monitor: {metric: val/loss, mode: max}
  seed: null
)";

class JobSchemaTest : public testing::Test {
 protected:
  JobSchemaTest()
      : catalogue_(catalogue::Fixture()), schema_(JobSchema(catalogue_)) {}

  bool Validates(const std::string& text,
                 const std::vector<std::string>& overrides = {}) const {
    client::LoadOptions options;
    options.catalogue = &catalogue_;
    options.overrides = overrides;
    return client::ParseJobFile("j", text, "/f", options).problems.empty();
  }

  const catalogue::Catalogue catalogue_;
  const SchemaChecker schema_;
};

TEST_F(JobSchemaTest, AcceptsTheExamples) {
  for (const char* name :
       {"examples/digits.yaml", "examples/digits_gan.yaml"}) {
    std::ifstream file(SourceFile(name));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(text.empty());
    EXPECT_TRUE(schema_.Accepts(client::ReadDocument(text).value)) << name;
  }
}

TEST_F(JobSchemaTest, AgreesWithValidateOnEachChange) {
  struct Case {
    const char* field;
    const char* value;
    bool is_good;
  };
  const std::vector<Case> cases = {
      {"priority", "0", true},
      {"priority", "101", false},
      {"name", "\"A b\"", false},
      {"labels", R"({"a": 1})", false},
      {"labels", R"({"a": "1"})", true},
      {"resources", R"({"replicas": 4})", true},
      {"resources", R"({"replicas": {"min": 1, "max": 4}})", true},
      {"resources", R"({"replicas": 0})", false},
      {"resources", R"({"replicas": 1025})", false},
      {"resources", R"({"replicas": {"mim": 1}})", false},
      {"resources", R"({"device": "tpu"})", false},
      {"resources", R"({"memory": "1G"})", false},
      {"resources", R"({"memory": "1.5GiB", "model": "H200"})", true},
      {"resources", R"({"gpus": 1})", false},
      {"restart", R"({"reasons": ["hang"], "backoff": "5s"})", true},
      {"restart", R"({"reasons": ["hunger"]})", false},
      {"restart", R"({"backoff": 5})", false},
      {"checkpoints", R"({"every": "epoch"})", false},
      {"checkpoints", R"({"every": "2 epochs", "keep_last": 1})", true},
      {"checkpoints", R"({"keep_last": 0})", false},
      {"nmae", "\"x\"", false},
      {"command", R"(["a"])", false},
      {"env", R"({"A": "1"})", true},
      {"experiment.seed", "3", true},
      {"experiment.seed", "-1", false},
      {"experiment.seed", "2.0", true},
      {"experiment.seed", "1.5", false},
      {"experiment.seed", "\"3\"", false},
      {"experiment.task", "\"trian\"", false},
      {"experiment.task", "\"validate\"", true},
      {"experiment.model", "null", false},
      {"experiment.model", "\"MLP\"", false},
      {"experiment.model", R"({"in_features": 1, "out_features": 1})", false},
      {"experiment.model", R"({"type": "MPL", "in_features": 1})", false},
      {"experiment.model", R"({"type": "AdamW"})", false},
      {"experiment.model", R"("${ref:teacher}")", true},
      {"experiment.model.hiden", "[1]", false},
      {"experiment.model.hidden", "[8, 0]", false},
      {"experiment.model.hidden", "[8, 4]", true},
      {"experiment.model.in_features", "null", false},
      {"experiment.model.type", "\"zoo.mlp\"", true},
      {"experiment.model.type", "\"mlpx\"", false},
      {"experiment.data.train.shuffle", "\"yes\"", false},
      {"experiment.data.train.file", "\"\"", false},
      {"experiment.data.train.transforms[0].std", "0", false},
      {"experiment.data.trian", R"({"type": "Digits", "file": "d"})", false},
      {"experiment.data.test", R"({"type": "Digits", "file": "d"})", true},
      {"experiment.loss.params.label_smoothing", "2", false},
      {"experiment.loss.lr", "2", false},
      {"experiment.loss.params", "null", true},
      {"experiment.optimizer.lr_", "2", false},
      {"experiment.optimizer.weight_decay", "-1", false},
      {"experiment.optimizer.betas", "[0.9, \"x\"]", false},
      {"experiment.optimizer._partial_", "false", true},
      {"experiment.trainer.epochs", "\"many\"", false},
      {"experiment.trainer.limit", "\"10\"", false},
      {"experiment.trainer.limit", "\"1.5h\"", true},
      {"experiment.hooks[1].every", "5", false},
      {"experiment.hooks[1].names", R"({"a": 1})", false},
      {"experiment.hooks[1].extra", R"({"any": [1, {}]})", true},
      {"experiment.optimizers", R"({"g": {"type": "SGD", "lr": 1}})", true},
      {"experiment.optimizers", R"({"g": [{"type": "SGD", "lr": 1}]})", true},
      {"experiment.optimizers", R"({"g": [{"type": "SGD"}]})", false},
      {"experiment.optimizers", R"({"g": 3})", false},
      {"experiment.monitor.mode", "\"most\"", false},
      {"experiment.monitor.metrik", "\"val/loss\"", false},
      {"experiment.teacher", R"({"type": "Nothing"})", false},
      {"experiment.teacher", "3", false},
      {"experiment.student", R"([{"type": "Normalize"}])", true},
      {"experiment.epochs_total", "3", false},
  };
  ASSERT_TRUE(Validates(kGood));
  for (const Case& c : cases) {
    client::Document document = client::ReadDocument(kGood);
    Json& value = document.value;
    // Puts the value there.
    Json* at = &value;
    for (const std::string& part : client::SplitField(c.field)) {
      at = at->is_array() ? &at->at(std::stoul(part)) : &(*at)[part];
    }
    *at = Json::parse(c.value);
    EXPECT_EQ(Validates(value.dump()), c.is_good) << c.field << " " << c.value;
    EXPECT_EQ(schema_.Accepts(value), c.is_good) << c.field << " " << c.value;
  }
}

TEST_F(JobSchemaTest, WantsSomethingToRunUnlessThereAreDefaults) {
  EXPECT_TRUE(schema_.Accepts(Json::parse(R"({"command": ["a"]})")));
  EXPECT_FALSE(schema_.Accepts(Json::parse(R"({"name": "a"})")));
  EXPECT_FALSE(schema_.Accepts(Json::parse("[]")));
  EXPECT_TRUE(schema_.Accepts(Json::parse(
      R"({"defaults": ["b.yaml"], "experiment": {"model": {"hidden": 3}}})")));
  EXPECT_FALSE(schema_.Accepts(
      Json::parse(R"({"defaults": ["b.yaml"], "priority": "high"})")));
}

TEST_F(JobSchemaTest, DescribesAndNamesEverything) {
  const Json schema = JobSchema(catalogue_);
  EXPECT_EQ(schema.at("$schema"),
            "https://json-schema.org/draft/2020-12/schema");
  for (const catalogue::Component& component : catalogue_.components) {
    const std::string name = component.kind == "experiment"
                                 ? "section.Experiment"
                                 : component.kind + "." + component.name;
    ASSERT_TRUE(schema.at("$defs").contains(name)) << name;
    const Json& def = schema.at("$defs").at(name);
    for (const catalogue::Parameter& parameter : component.parameters) {
      const Json& property = def.at("properties").at(parameter.name);
      EXPECT_TRUE(property.contains("description")) << parameter.name;
      for (const std::string& alias : parameter.aliases) {
        EXPECT_EQ(def.at("properties").at(alias), property);
      }
      if (!parameter.default_value.is_null()) {
        EXPECT_EQ(property.at("default"), parameter.default_value);
      }
    }
  }
}

class SchemaCommandTest : public CommandTest {};

TEST_F(SchemaCommandTest, PrintsTheSchemaOfWhatIsInstalled) {
  ASSERT_EQ(Run({"schema", "--offline"}), 0) << err();
  EXPECT_EQ(Json::parse(out()), JobSchema(catalogue::Fixture()));
  EXPECT_EQ(Run({"schema", "--catalogue", "/nowhere.json"}), 3);
}

}  // namespace
}  // namespace epochd::epochctl
