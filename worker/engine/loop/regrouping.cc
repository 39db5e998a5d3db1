// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/regrouping.h"

#include <string>

#include "worker/engine/core/number.h"

namespace epochd::engine {

Grouping SavedGrouping(const nlohmann::ordered_json& state) {
  return {state.at("world_size").get<int64_t>(),
          state.at("batch_size").get<int64_t>(),
          state.at("train_samples").get<int64_t>()};
}

std::optional<int64_t> ConvertBatch(int64_t batch, const Grouping& before,
                                    const Grouping& now, int64_t num_batches) {
  if (batch > 0 && before.samples != now.samples) return std::nullopt;
  const int64_t seen = batch * before.batch_size * before.world_size;
  const int64_t step = now.batch_size * now.world_size;
  if (step <= 0 || seen % step != 0) return std::nullopt;
  const int64_t converted = seen / step;
  // Without end there is always one.
  if (batch > 0 && num_batches >= 0 && converted >= num_batches) {
    return std::nullopt;
  }
  return converted;
}

std::optional<int64_t> ResumedBatch(const nlohmann::ordered_json& state,
                                    const Grouping& now, int64_t num_batches) {
  const auto batch = state.at("batch").get<int64_t>();
  const Grouping before = SavedGrouping(state);
  if (batch > 0 && batch == state.value("train_batches", int64_t{-1}) &&
      before.samples == now.samples && num_batches >= 0) {
    return num_batches;
  }
  return ConvertBatch(batch, before, now, num_batches);
}

nlohmann::ordered_json MergeMeters(const nlohmann::ordered_json& meters,
                                   int rank) {
  auto merged = nlohmann::ordered_json::array();
  for (const auto& meter : meters) {
    for (const auto& sum : meter) {
      nlohmann::ordered_json* into = nullptr;
      for (auto& each : merged) {
        if (each.at("name") == sum.at("name")) into = &each;
      }
      if (into == nullptr) {
        merged.push_back({{"name", sum.at("name")},
                          {"sum", FromNumber(0.0)},
                          {"samples", 0.0}});
        into = &merged.back();
      }
      if (rank != 0) continue;
      (*into)["sum"] =
          FromNumber(ToNumber(into->at("sum")) + ToNumber(sum.at("sum")));
      (*into)["samples"] =
          into->at("samples").get<double>() + sum.at("samples").get<double>();
    }
  }
  return merged;
}

Skipped ShareSkipped(const nlohmann::ordered_json& ranks, int rank,
                     int64_t world_size) {
  const auto share = [&](const char* key) {
    int64_t sum = 0;
    for (const auto& each : ranks) sum += each.value(key, int64_t{0});
    return sum / world_size + (rank < sum % world_size ? 1 : 0);
  };
  return {.samples = share("skipped"), .of_round = share("skipped_of_round")};
}

}  // namespace epochd::engine
