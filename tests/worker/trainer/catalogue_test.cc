// SPDX-License-Identifier: Apache-2.0
//
// What `epochd-trainer --catalogue` prints, as coordinator and client use it.
#include "catalogue/catalogue.h"

#include <gtest/gtest.h>

#include "tests/worker/engine/digits_run.h"
#include "worker/trainer/components.h"

namespace epochd::trainer {
namespace {

using catalogue::Catalogue;
using engine::Json;

// What the program prints, read back.
const Catalogue& Printed() {
  static const Catalogue catalogue =
      catalogue::FromJson(catalogue::ToJson(Components().catalogue()));
  return catalogue;
}

std::string Violations(const Json& experiment, int replicas) {
  std::string all;
  for (const auto& each :
       catalogue::Validate(Printed(), experiment,
                           {.root = "experiment", .max_replicas = replicas})
           .violations) {
    all += each.field + ": " + each.description + "\n";
  }
  return all;
}

TEST(CatalogueTest, AcceptsTheExamples) {
  EXPECT_EQ(Violations(engine::DigitsExperiment(1), 4), "");
  EXPECT_EQ(Violations(engine::GanExperiment(1), 1), "");
}

TEST(CatalogueTest, RefusesAGanOnTwoReplicasNamingTheField) {
  EXPECT_NE(Violations(engine::GanExperiment(1), 2).find("experiment.runner"),
            std::string::npos);
}

TEST(CatalogueTest, NamesTheNearestParameterOfTheLoader) {
  Json experiment = engine::DigitsExperiment(1);
  experiment["data"]["train"]["batch_sise"] = 3;
  EXPECT_NE(Violations(experiment, 1).find("batch_size"), std::string::npos);
}

TEST(CatalogueTest, KnowsWhichValuesArePaths) {
  const auto checked =
      catalogue::Validate(Printed(), engine::DigitsExperiment(1));
  EXPECT_EQ(checked.paths,
            (std::vector<std::string>{"experiment.data.train.file",
                                      "experiment.data.val.file"}));
}

}  // namespace
}  // namespace epochd::trainer
