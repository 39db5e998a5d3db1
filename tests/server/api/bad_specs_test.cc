// SPDX-License-Identifier: Apache-2.0
//
// The table of bad specs: what people write wrong, the field that is named and
// what is said about it.
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/api/spec_check.h"
#include "tests/server/api/good_spec.h"

namespace epochd::api {
namespace {

struct BadSpec {
  const char* what;
  // See MakeSpec.
  std::string change;
  std::string field;
  // Part of the description: the value and what would be accepted.
  std::string words;
};

std::string Repeat(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

std::string ManyFiles(int count) {
  std::string files;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&files, i == 0 ? "" : ",", R"({"path":"f)", i,
                    R"(","sha256":")", std::string(64, 'a'), R"("})");
  }
  return absl::StrCat(R"({"files":[)", files, "]}");
}

std::string File(const std::string& path) {
  return absl::StrCat(R"({"files":[{"path":")", path, R"(","sha256":")",
                      std::string(64, 'a'), R"("}]})");
}

std::vector<BadSpec> BadSpecs() {
  return {
      // Who.
      {"upper case in the name", R"({"display_name": "Digits"})", "name",
       "bad name 'Digits', lower-case letters, digits and '-'"},
      {"dash at the end", R"({"display_name": "digits-"})", "name",
       "bad name 'digits-'"},
      {"name of 64", R"({"display_name": ")" + Repeat("a", 64) + R"("})",
       "name", "at most 63"},
      {"path in the name", R"({"display_name": "../digits"})", "name",
       "bad name '../digits'"},
      {"look-alike letter", R"({"display_name": "digіts"})", "name",
       "bad name "},
      {"line break in the name", R"({"display_name": "a\nb"})", "name",
       R"(bad name 'a\nb')"},
      {"space in the project", R"({"project": "my project"})", "project",
       "bad name 'my project'"},
      {"priority too high", R"({"priority": 101})", "priority",
       "'101' is out of range, 0 to 100 is accepted"},
      {"priority negative", R"({"priority": -1})", "priority",
       "'-1' is out of range, 0 to 100"},
      {"label name", R"({"labels": {"te am": "vision"}})", "labels[\"te am\"]",
       "bad label name 'te am'"},
      {"label value", R"({"labels": {"team": "vision!"}})", "labels.team",
       "bad label value 'vision!'"},
      {"relative storage", R"({"storage": "shared"})", "storage",
       "relative path 'shared', an absolute path is accepted"},
      {"storage that climbs", R"({"storage": "/shared/../etc"})", "storage",
       "part '..' in 'shared/../etc'"},
      // Where.
      {"no replica", R"({"resources": {"replicas": {"min": 0, "max": 0}}})",
       "resources.replicas", "'0' is out of range, 1 to 1024 is accepted"},
      {"a billion replicas",
       R"({"resources": {"replicas": {"min": 1000000000, "max": 1000000000}}})",
       "resources.replicas", "'1000000000' is out of range, 1 to 1024"},
      {"min above max", R"({"resources": {"replicas": {"min": 4, "max": 2}}})",
       "resources.replicas", "min '4' is more than max '2'"},
      {"negative min", R"({"resources": {"replicas": {"min": -1, "max": 2}}})",
       "resources.replicas.min", "'-1' is out of range"},
      {"unknown device", R"({"resources": {"device": 7}})", "resources.device",
       "unknown value '7', cpu or gpu is accepted"},
      {"negative cpus", R"({"resources": {"cpus": -2}})", "resources.cpus",
       "'-2' is out of range, 1 to 1024"},
      {"negative memory", R"({"resources": {"memory_bytes": "-1"}})",
       "resources.memory", "'-1' is out of range"},
      {"empty model", R"({"resources": {"models": ["H200", ""]}})",
       "resources.model[1]", "empty model ''"},
      {"node label", R"({"resources": {"node_labels": {"zone": "a b"}}})",
       "resources.nodes.labels.zone", "bad label value 'a b'"},
      {"unknown placement", R"({"resources": {"same_node": 9}})",
       "resources.same_node", "preferred or required is accepted"},
      // What to do when it breaks.
      {"negative restarts", R"({"restart": {"max": -1}})", "restart.max",
       "'-1' is out of range, 0 to 1000"},
      {"reason that is an end",
       R"({"restart": {"reasons": ["ATTEMPT_REASON_HANG", "ATTEMPT_REASON_COMPLETED"]}})",
       "restart.reasons[1]", "reason 'completed' does not restart a job"},
      {"unknown reason", R"({"restart": {"reasons": [77]}})",
       "restart.reasons[0]", "reason '77' does not restart a job"},
      {"negative backoff", R"({"restart": {"backoff": "-1s"}})",
       "restart.backoff", "'-1s' is out of range, 0 to 1h"},
      {"impatient lease", R"({"restart": {"worker_lost_after": "1s"}})",
       "restart.worker_lost_after", "'1s' is out of range, 5s to 24h"},
      {"no time at all", R"({"limits": {"max_time": "0s"}})", "limits.max_time",
       "'0' is out of range, 1s to 8760h"},
      {"every zero epochs", R"({"checkpoints": {"every": {"epochs": "0"}}})",
       "checkpoints.every", "'0' is out of range, 1 to"},
      {"every negative steps", R"({"checkpoints": {"every": {"steps": "-5"}}})",
       "checkpoints.every", "'-5' is out of range"},
      {"every few milliseconds",
       R"({"checkpoints": {"every": {"duration": "0.005s"}}})",
       "checkpoints.every", "'5ms' is out of range, 1s to"},
      {"keep no checkpoint", R"({"checkpoints": {"keep_last": 0}})",
       "checkpoints.keep_last", "'0' is out of range, 1 to 1000"},
      {"keep fewer than none", R"({"checkpoints": {"keep_best": -1}})",
       "checkpoints.keep_best", "'-1' is out of range, 0 to 1000"},
      // Files and environment.
      {"file that climbs", File("../secret"), "files[0]",
       "part '..' in '../secret'"},
      {"file inside that climbs", File("a/../../b"), "files[0]", "part '..'"},
      {"absolute file", File("/etc/passwd"), "files[0]",
       "absolute path '/etc/passwd'"},
      {"file without a name", File(""), "files[0]", "part '' in ''"},
      {"doubled slash", File("a//b"), "files[0]", "part '' in 'a//b'"},
      {"dot", File("./a"), "files[0]", "part '.' in './a'"},
      {"NUL in a path", File("a\\u0000b"), "files[0]", "control character"},
      {"path of 4 KiB", File(Repeat("abc/", 1024) + "d"), "files[0]",
       "4097 bytes long, at most 1024"},
      {"name of 256", File(Repeat("a", 256)), "files[0]", "name of 256 bytes"},
      {"hash in upper case",
       R"({"files":[{"path":"a","sha256":")" + Repeat("A", 64) + R"("}]})",
       "files[0]", "64 lower-case hex digits are accepted"},
      {"file twice",
       R"({"files":[{"path":"a","sha256":")" + Repeat("a", 64) +
           R"("},{"path":"a","sha256":")" + Repeat("b", 64) + R"("}]})",
       "files[1]", "path 'a' is given twice"},
      {"file too large",
       R"({"files":[{"path":"a","size_bytes":"999999999","sha256":")" +
           Repeat("a", 64) + R"("}]})",
       "files[0]", "'999999999' is out of range, 0 to 1000"},
      {"too many files", ManyFiles(65), "files", "65 files, at most 64"},
      {"variable with a dash", R"({"env": {"MY-VAR": "1"}})", "env.MY-VAR",
       "bad variable name 'MY-VAR'"},
      {"variable with '='", R"({"env": {"A=B": "1"}})", "env[\"A=B\"]",
       "bad variable name 'A=B'"},
      {"digit first", R"({"env": {"1A": "1"}})", "env.1A", "no digit first"},
      {"our own variable", R"({"env": {"EPOCHD_RANK": "1"}})",
       "env.EPOCHD_RANK", "is epochd's own"},
      {"NUL in a variable", R"({"env": {"A": "x\u0000y"}})", "env.A",
       "NUL byte"},
      // What to train.
      {"nothing to do", R"({"experiment_text": "none"})", "experiment",
       "missing, an experiment or a command is accepted"},
      {"empty command", R"({"command": {"argv": []}})", "command",
       "empty, a program and its arguments"},
      {"command without program", R"({"command": {"argv": ["", "x"]}})",
       "command", "empty, a program"},
      {"NUL in an argument", R"({"command": {"argv": ["a", "b\u0000c"]}})",
       "command[1]", "NUL byte"},
      {"empty experiment", R"({"experiment_text": "{}"})", "experiment",
       "empty, at least a model"},
      {"experiment that is a list", R"({"experiment_text": "[]"})",
       "experiment", "no mapping"},
      {"no JSON", R"({"experiment_text": "model: MLP"})", "experiment",
       "no valid JSON at byte 1"},
      {"key twice",
       R"({"experiment_text": "{\"model\": {\"type\": \"A\", \"type\": \"B\"}}"})",
       "experiment.model.type", "key 'type' is given twice"},
      {"nested too deep",
       R"({"experiment_text": "{\"a\": )" + Repeat("[", 70) + Repeat("]", 70) +
           R"(}"})",
       "experiment", "nested too deep, at most 64 levels"},
      {"number too large", R"({"experiment_text": "{\"seed\": 1e999}"})",
       "experiment.seed", "number out of range"},
      // Judged by the catalogue.
      {"misspelt parameter",
       R"({"experiment": {"optimizer": {"lr": null, "lrr": 0.1}}})",
       "experiment.optimizer.lrr", "lr"},
      {"unknown model", R"({"experiment": {"model": {"type": "MLPP"}}})",
       "experiment.model.type", "MLP"},
      {"negative rate", R"({"experiment": {"optimizer": {"lr": -0.1}}})",
       "experiment.optimizer.lr", "-0.1"},
      {"text for a number",
       R"({"experiment": {"trainer": {"epochs": "thirty"}}})",
       "experiment.trainer.epochs", "thirty"},
      {"choice that is none",
       R"({"experiment": {"data": {"train": {"split": "dev"}}}})",
       "experiment.data.train.split", "dev"},
      {"missing parameter",
       R"({"experiment": {"model": {"in_features": null}}})",
       "experiment.model.in_features", "missing, MLP needs it"},
      {"missing model", R"({"experiment": {"model": null}})",
       "experiment.model", "missing, Experiment needs it"},
      {"GAN on two devices",
       R"({"resources": {"replicas": {"min": 2, "max": 2}},
           "experiment": {"runner": {"type": "GanTrainingRunner",
             "d_loss": {"type": "RaGanDiscriminatorLoss"},
             "g_loss": {"type": "RaGanGeneratorLoss"}}}})",
       "resources.replicas",
       "GanTrainingRunner (experiment.runner) runs on at most 1 replica"},
      {"GAN that may grow",
       R"({"resources": {"replicas": {"min": 1, "max": 2}},
           "experiment": {"runner": {"type": "GanTrainingRunner",
             "d_loss": {"type": "RaGanDiscriminatorLoss"},
             "g_loss": {"type": "RaGanGeneratorLoss"}}}})",
       "resources.replicas", "got 2"},
  };
}

class BadSpecsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto known = catalogues_.Report("fixture", FixtureCatalogue());
    ASSERT_TRUE(known.ok()) << known.status();
    known_ = *known;
  }
  CheckedSpec Check(const v1::JobSpec& spec) const {
    return CheckSpec(spec, known_.get(), /*max_file_bytes=*/1000);
  }

  Catalogues catalogues_;
  std::shared_ptr<const KnownCatalogue> known_;
};

TEST_F(BadSpecsTest, TheSpecThatIsChangedIsGood) {
  for (const auto& violation : Check(MakeSpec()).violations) {
    ADD_FAILURE() << violation.field << ": " << violation.description;
  }
}

TEST_F(BadSpecsTest, EachIsRefusedNamingFieldAndValue) {
  const auto rows = BadSpecs();
  EXPECT_GE(rows.size(), 50u);
  for (const BadSpec& row : rows) {
    const CheckedSpec checked = Check(MakeSpec(row.change));
    bool found = false;
    std::string said;
    for (const auto& violation : checked.violations) {
      absl::StrAppend(&said, "\n  ", violation.field, ": ",
                      violation.description);
      found =
          found || (violation.field == row.field &&
                    violation.description.find(row.words) != std::string::npos);
    }
    EXPECT_TRUE(found) << row.what << "\nwanted " << row.field << ": "
                       << row.words << "\ngot" << said;
  }
}

TEST_F(BadSpecsTest, AllViolationsAreReportedAtOnce) {
  const CheckedSpec checked = Check(MakeSpec(
      R"({"display_name": "A", "priority": 200,
          "resources": {"cpus": -1, "replicas": {"min": 0, "max": 0}},
          "env": {"1": "x"},
          "experiment": {"optimizer": {"lr": -1}, "trainer": {"epochs": 0}}})"));
  std::vector<std::string> fields;
  for (const auto& violation : checked.violations) {
    fields.push_back(violation.field);
  }
  for (const char* field :
       {"name", "priority", "resources.replicas", "resources.cpus", "env.1",
        "experiment.optimizer.lr", "experiment.trainer.epochs"}) {
    EXPECT_NE(std::find(fields.begin(), fields.end(), field), fields.end())
        << field;
  }
}

TEST_F(BadSpecsTest, AnOversizeSpecIsRefusedWithoutReadingOn) {
  v1::JobSpec spec = MakeSpec(R"({"priority": 200})");
  spec.set_experiment_json(std::string(300 << 10, '['));
  const CheckedSpec checked = Check(spec);
  ASSERT_EQ(checked.violations.size(), 1u);
  EXPECT_EQ(checked.violations[0].field, "");
  EXPECT_NE(checked.violations[0].description.find("at most 262144"),
            std::string::npos);
}

TEST_F(BadSpecsTest, HostileExperimentsAreRefusedQuickly) {
  std::string wide = "{\"a\":[0";
  for (int i = 0; i < 100000; ++i) wide += ",0";
  wide += "]}";
  std::string keys = "{\"k\":0";
  for (int i = 0; i < 20000; ++i) absl::StrAppend(&keys, ",\"", i, "\":0");
  keys += "}";
  for (const std::string& text :
       {wide, keys, "{\"a\":" + std::string(200000, '[')}) {
    v1::JobSpec spec = MakeSpec();
    spec.set_experiment_json(text);
    // Of this process: others may keep the machine busy.
    const std::clock_t start = std::clock();
    EXPECT_FALSE(Check(spec).violations.empty());
    EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC) << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace epochd::api
