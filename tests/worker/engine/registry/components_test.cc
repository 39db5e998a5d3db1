// SPDX-License-Identifier: Apache-2.0
//
// The catalogue as a whole, and components that are named nowhere else.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <string>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/registry/build_scope.h"

namespace epochd::engine {
namespace {

// A reader that is strict, such as the coordinator, takes it; rules name
// parameters that there are.
TEST(CatalogueOfTheEngineTest, SurvivesTheWayToTheCoordinator) {
  const catalogue::Json json = catalogue::ToJson(TestRegistry().catalogue());
  EXPECT_EQ(catalogue::ToJson(catalogue::FromJson(json)), json);
}

// A default that is not accepted would be refused with no one having said it.
TEST(CatalogueOfTheEngineTest, DefaultsAreAccepted) {
  for (const catalogue::Component& component :
       TestRegistry().catalogue().components) {
    if (component.kind == "experiment" || component.kind == "section") continue;
    catalogue::Json value = {{"type", component.name}};
    for (const catalogue::Parameter& parameter : component.parameters) {
      if (!parameter.default_value.is_null()) {
        value[parameter.name] = parameter.default_value;
      }
    }
    for (const catalogue::Violation& each : catalogue::ValidateComponent(
             TestRegistry().catalogue(), component.kind, value, "it")) {
      // What is required has no default, and rules may ask for more.
      EXPECT_TRUE(each.description.starts_with("missing, "))
          << component.name << ": " << each.field << ": " << each.description;
    }
  }
}

// Fragments, so that they fit behind a name: no capital unless it is a name,
// and no stop.
TEST(CatalogueOfTheEngineTest, HelpTextsAreOfOneStyle) {
  const auto check = [](const std::string& help, const std::string& where) {
    if (help.empty()) return;
    EXPECT_TRUE(!help.ends_with(".") || help.ends_with("..."))
        << where << ": " << help;
    for (size_t at = help.find(". "); at != std::string::npos;
         at = help.find(". ", at + 1)) {
      EXPECT_FALSE(at + 2 < help.size() &&
                   std::isupper(static_cast<unsigned char>(help[at + 2])))
          << where << ": " << help;
    }
    const std::string word = help.substr(0, help.find_first_of(" ,;:'"));
    const bool is_capital = word.size() > 1 &&
                            std::isupper(static_cast<unsigned char>(word[0])) &&
                            std::islower(static_cast<unsigned char>(word[1]));
    const bool is_name = word == "Butterworth" || word == "He" ||
                         word == "Glorot" || word == "Hz" || word == "Huber" ||
                         word == "Sobel" || word == "Adam" || word == "Lion";
    const bool has_more = word.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 1) !=
                          std::string::npos;
    EXPECT_TRUE(!is_capital || is_name || has_more) << where << ": " << help;
  };
  for (const catalogue::Component& component :
       TestRegistry().catalogue().components) {
    check(component.help, component.name);
    for (const catalogue::Parameter& parameter : component.parameters) {
      check(parameter.help, component.name + "." + parameter.name);
    }
  }
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(IdxTest, GivesImagesWithTheirLabels) {
  const TempFolder folder;
  using std::string_literals::operator""s;
  // Two images of 1 x 2 pixels, and their labels: type, dimensions, sizes.
  WriteBytes(folder / "images",
             "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02"s + "\0\xff\x33\x66"s);
  WriteBytes(folder / "labels", "\0\0\x08\x01\0\0\0\x02"s + "\x07\x03"s);
  const Json nothing = Json::object();
  BuildScope scope(TestRegistry(), nothing, "experiment");
  const auto data = scope.MakeAs<Dataset>({{"type", "Idx"},
                                           {"images", folder / "images"},
                                           {"labels", folder / "labels"}},
                                          "experiment.data.train");
  ASSERT_EQ(data->Size(), 2);
  const Batch sample = data->Get(1, {});
  EXPECT_TRUE(
      at::allclose(sample.At("input").flatten(), at::tensor({0.2f, 0.4f})));
  EXPECT_EQ(sample.At("target").item<int64_t>(), 3);
}

TEST(BenchmarkRunnerTest, NeedsNoLoss) {
  Json experiment = DigitsExperiment(1);
  experiment["task"] = "benchmark";
  experiment["validation_runner"] = {{"type", "BenchmarkRunner"}};
  experiment["data"]["test"] = experiment["data"]["val"];
  experiment.erase("loss");
  experiment.erase("monitor");
  TestRun run(experiment);
  EXPECT_FALSE(run.trainer().Evaluate("test").empty());
}

}  // namespace
}  // namespace epochd::engine
