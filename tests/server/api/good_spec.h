// SPDX-License-Identifier: Apache-2.0
//
// A spec that breaks no rule, as protobuf JSON and an experiment, to be changed
// by tests; and the catalogue of tests/catalogue.
#pragma once

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "epochd/v1/job.pb.h"
#include "server/api/catalogues.h"

namespace epochd::api {

using Json = nlohmann::ordered_json;

inline constexpr char kGoodExperiment[] = R"({
  "seed": 42,
  "model": {"type": "MLP", "in_features": 64, "hidden": [128], "out_features": 10},
  "data": {"train": {"type": "Digits", "file": "/data/digits.csv.gz", "batch_size": 64}},
  "loss": {"type": "CrossEntropy"},
  "optimizer": {"type": "AdamW", "lr": 0.003},
  "trainer": {"type": "EpochTrainer", "epochs": 30}})";

// `change` is merged over a good spec in protobuf's JSON; under its key
// `experiment` stands a change of the experiment, under `experiment_text` what
// to send in its place.
inline v1::JobSpec MakeSpec(const std::string& change = "{}") {
  Json spec = {{"display_name", "digits"}};
  Json experiment = Json::parse(kGoodExperiment);
  Json patch = Json::parse(change);
  std::string text;
  if (patch.contains("experiment_text")) {
    text = patch["experiment_text"].get<std::string>();
    patch.erase("experiment_text");
  } else {
    if (patch.contains("experiment")) {
      experiment.merge_patch(patch["experiment"]);
      patch.erase("experiment");
    }
    text = experiment.dump();
  }
  spec.merge_patch(patch);
  v1::JobSpec out;
  const auto status =
      google::protobuf::util::JsonStringToMessage(spec.dump(), &out);
  EXPECT_TRUE(status.ok()) << status << " " << spec.dump();
  if (!out.has_command() && text != "none") out.set_experiment_json(text);
  return out;
}

inline std::string FixtureCatalogue() {
  const char* root = std::getenv("EPOCHD_TEST_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) +
                     "/tests/catalogue/fixture.json");
  EXPECT_TRUE(file.good());
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace epochd::api
