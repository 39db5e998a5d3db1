// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/described_field.h"

#include <cmath>
#include <string>
#include <vector>

#include "tests/golden/golden.h"

namespace epochd::engine::golden {

at::Tensor DescribedField(const nlohmann::json& described) {
  at::Tensor values = Fill(described.at("shape").get<std::vector<int64_t>>(),
                           described.at("stream"))
                          .to(torch::kDouble);
  if (described.contains("classes")) {
    values = ((values + 0.5) * described["classes"].get<double>())
                 .floor()
                 .to(torch::kLong);
  } else if (described.contains("above")) {
    values = (values > described["above"].get<double>()).to(torch::kDouble);
  } else {
    values = values * described.at("scale").get<double>() +
             described.at("shift").get<double>();
    if (described.contains("steps")) {
      const double steps = described["steps"];
      values = (values * steps).round() / steps;
    }
    if (described.contains("softmax")) {
      values = torch::softmax(values, described["softmax"].get<int64_t>());
    }
  }
  if (described.contains("set")) {
    for (const auto& [index, value] : described["set"].items()) {
      values.view({-1})[std::stoll(index)] =
          value.is_string() ? std::nan("") : value.get<double>();
    }
  }
  return values;
}

Batch DescribedBatch(const nlohmann::json& fields) {
  Batch batch;
  for (const auto& [name, described] : fields.items()) {
    batch.Set(name, DescribedField(described));
  }
  return batch;
}

}  // namespace epochd::engine::golden
