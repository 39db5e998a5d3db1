// SPDX-License-Identifier: Apache-2.0
//
// Metrics over ranks are those of one rank that saw all samples, each once.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/dist/ranks.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/loop/score_board.h"
#include "worker/engine/metric/accuracy.h"
#include "worker/engine/metric/decisions.h"
#include "worker/engine/metric/ranking.h"

namespace epochd::engine {
namespace {

std::vector<std::shared_ptr<Metric>> AllKinds() {
  RankingMetric::Options ranking;
  ranking.name = "auroc";
  ranking.per_class = true;
  ClassScore::Options score;
  score.name = "f1";
  DecisionOptions matrix;
  matrix.name = "matrix";
  return {std::make_shared<TopKAccuracy>(TopKAccuracy::Options()),
          std::make_shared<RankingMetric>(ranking),
          std::make_shared<ClassScore>(score),
          std::make_shared<ConfusionMatrix>(matrix)};
}

Batch BatchOf(int64_t samples, int64_t classes, int64_t seed) {
  at::manual_seed(static_cast<uint64_t>(seed));
  return {{"output", at::randn({samples, classes})},
          {"target", at::randint(classes, {samples}, at::kLong)}};
}

struct Measured {
  Scores scores;
  std::vector<MetricTable> tables;
};

Measured Measure(Communicator& communicator,
                 const std::vector<Batch>& batches) {
  const auto metrics = AllKinds();
  for (const auto& metric : metrics) {
    for (const Batch& batch : batches) metric->Update(batch);
  }
  Measured measured;
  ReduceMetrics(communicator, metrics, "val/", measured.scores,
                measured.tables);
  return measured;
}

TEST(MetricsOverRanksTest, UnevenAndEmptyRanksCountEachSampleOnce) {
  EXPECT_EQ(
      RunRanks(3,
               [](const GlooOptions& options) {
                 at::set_num_threads(1);
                 const std::vector<Batch> all = {
                     BatchOf(7, 4, 1), BatchOf(5, 4, 2), BatchOf(1, 4, 3)};
                 // Rank 1 has none.
                 std::vector<Batch> own;
                 if (options.rank == 0) own = {all[0], all[1]};
                 if (options.rank == 2) own = {all[2]};
                 auto communicator = MakeGlooCommunicator(options);
                 const Measured parts = Measure(*communicator, own);
                 const Measured whole = Measure(*MakeSingleCommunicator(), all);
                 if (parts.scores.size() != whole.scores.size()) return 1;
                 for (size_t i = 0; i < whole.scores.size(); ++i) {
                   const auto& [name, value] = whole.scores[i];
                   if (parts.scores[i].first != name) return 2;
                   if (!(std::abs(parts.scores[i].second - value) < 1e-12)) {
                     return 3;
                   }
                 }
                 if (parts.tables.size() != 1) return 4;
                 const MetricTable& table = parts.tables[0];
                 return table.name == "val/matrix" &&
                                table.values.sum().item<double>() == 13 &&
                                table.values.equal(whole.tables[0].values)
                            ? 0
                            : 5;
               }),
      (std::vector<int>{0, 0, 0}));
}

TEST(MetricsOverRanksTest, NoSampleAnywhereIsNoNumber) {
  EXPECT_EQ(
      RunRanks(2,
               [](const GlooOptions& options) {
                 auto communicator = MakeGlooCommunicator(options);
                 const Measured nothing = Measure(*communicator, {});
                 for (const auto& [name, value] : nothing.scores) {
                   if (name != "val/matrix/labels" && !std::isnan(value)) {
                     return 1;
                   }
                 }
                 return nothing.tables.empty() ? 0 : 2;
               }),
      (std::vector<int>{0, 0}));
}

TEST(MetricsOverRanksTest, OtherNumbersOfClassesFailOnAllRanks) {
  EXPECT_EQ(RunRanks(2,
                     [](const GlooOptions& options) {
                       auto communicator = MakeGlooCommunicator(options);
                       Measure(*communicator,
                               {BatchOf(3, 4 + options.rank, 1)});
                       return 0;
                     }),
            // ErrorKind::kTraining, beside a gang's own end.
            (std::vector<int>{71 << 8, 71 << 8}));
}

TEST(MetricsOverRanksTest, AValidationInTwoRanksIsThatInOne) {
  const TempFolder folder;
  Json json = DigitsExperiment(1);
  json["task"] = "validate";
  // An odd share of 360 samples, in batches that do not fit.
  json["data"]["val"]["batch_size"] = 7;
  json["metrics"] = {{{"type", "AUROC"}},
                     {{"type", "AUPRC"}, {"average", "weighted"}},
                     {{"type", "F1"}},
                     {{"type", "Accuracy"}}};
  const auto keep = [&](TestRun& run, const std::string& name) {
    std::vector<double> values;
    for (const auto& [key, value] : run.trainer().Evaluate("val")) {
      values.push_back(value);
    }
    WriteCheckpoint(
        folder / name,
        {{{"values", at::tensor(values, at::kDouble)}}, {}, Json::object()});
  };
  const auto measure = [&](int world_size) {
    return RunRanks(world_size, [&](const GlooOptions& options) {
      TestRun run(json, "",
                  world_size == 1 ? MakeSingleCommunicator()
                                  : MakeGlooCommunicator(options));
      keep(run,
           std::to_string(world_size) + "-" + std::to_string(options.rank));
      return 0;
    });
  };
  ASSERT_EQ(measure(1), (std::vector<int>{0}));
  ASSERT_EQ(measure(2), (std::vector<int>{0, 0}));
  const auto kept = [&](const std::string& name) {
    return ReadCheckpoint(folder / name).model[0].tensor;
  };
  EXPECT_GE(kept("1-0").numel(), 5);
  EXPECT_TRUE(at::allclose(kept("1-0"), kept("2-0"), 1e-6, 1e-6));
  EXPECT_TRUE(kept("2-0").equal(kept("2-1")));
}

}  // namespace
}  // namespace epochd::engine
