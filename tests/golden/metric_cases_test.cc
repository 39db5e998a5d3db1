// SPDX-License-Identifier: Apache-2.0
//
// Metrics as job files name them give the values that record_metrics.py
// recorded: however batches are spread over ranks, and again when asked again.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/golden/described_field.h"
#include "tests/golden/golden.h"

namespace epochd::engine {
namespace {

// What Communicator-wide collection makes of ranks' sums and rows.
Collected Together(const std::vector<std::shared_ptr<Metric>>& ranks) {
  Collected all{at::Tensor()};
  for (const auto& metric : ranks) {
    const at::Tensor sums = metric->Sums();
    if (!all.sums.defined() || all.sums.numel() == 0) {
      all.sums = sums;
    } else if (sums.numel() != 0) {
      all.sums = all.sums + sums;
    }
    const at::Tensor rows = metric->Rows();
    if (!rows.defined()) continue;
    all.rows = all.rows.defined() ? at::cat({all.rows, rows}) : rows;
  }
  return all;
}

void Expect(const nlohmann::json& recorded, const Metric& metric,
            const Collected& all) {
  std::map<std::string, double> values;
  for (const auto& [name, value] : metric.Values(all)) values[name] = value;
  for (const auto& [name, value] : recorded.items()) {
    ASSERT_TRUE(values.contains(name)) << name;
    if (value.is_null()) {
      EXPECT_TRUE(std::isnan(values[name])) << name << " " << values[name];
    } else {
      EXPECT_NEAR(values[name], value.get<double>(), 1e-6) << name;
    }
  }
  EXPECT_EQ(values.size(), recorded.size());
}

TEST(MetricCasesTest, ValuesArePythons) {
  const nlohmann::json cases = golden::Read("metric_cases");
  EXPECT_GT(cases.size(), 80U);
  for (const auto& [name, each] : cases.items()) {
    SCOPED_TRACE(name);
    std::vector<Batch> batches;
    for (const auto& fields : each.at("batches")) {
      batches.push_back(golden::DescribedBatch(fields));
    }
    const auto metric = golden::BuildMetric(each.at("job"));
    for (const Batch& batch : batches) metric->Update(batch);
    Expect(each.at("values"), *metric, {metric->Sums(), metric->Rows()});
    Expect(each.at("values"), *metric, {metric->Sums(), metric->Rows()});
    const std::vector<MetricTable> tables =
        metric->Tables({metric->Sums(), metric->Rows()});
    ASSERT_EQ(tables.size(), each.count("table"));
    if (!tables.empty()) {
      const at::Tensor& values = tables[0].values;
      const nlohmann::json& rows = each.at("table");
      ASSERT_EQ(values.size(0), static_cast<int64_t>(rows.size()));
      for (int64_t i = 0; i < values.size(0); ++i) {
        EXPECT_EQ(golden::Values(values[i]), golden::Doubles(rows[i])) << i;
      }
    }

    // A rank for each batch, and one that has none.
    std::vector<std::shared_ptr<Metric>> ranks = {
        golden::BuildMetric(each.at("job"))};
    for (const Batch& batch : batches) {
      ranks.push_back(golden::BuildMetric(each.at("job")));
      ranks.back()->Update(batch);
    }
    Expect(each.at("values"), *ranks.front(), Together(ranks));

    metric->Reset();
    for (const auto& [key, value] :
         metric->Values({metric->Sums(), metric->Rows()})) {
      // A count of nothing is 0.
      EXPECT_TRUE(std::isnan(value) || key.ends_with("/labels"))
          << key << " of nothing is " << value;
    }
  }
}

}  // namespace
}  // namespace epochd::engine
