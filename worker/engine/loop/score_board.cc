// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/score_board.h"

#include <ATen/ATen.h>

#include <cstring>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {

Scores ReduceMeter(Communicator& communicator, const Meter& meter,
                   const std::string& prefix) {
  if (communicator.world_size() == 1) return meter.Means(prefix);
  // Ranks may know different names: one may have had no batch, or a hook of
  // one may have measured something.
  Meter all;
  for (const std::string& own : communicator.Gather(meter.State().dump())) {
    Meter of_rank;
    of_rank.LoadState(nlohmann::ordered_json::parse(own));
    all.Include(of_rank);
  }
  return all.Means(prefix);
}

namespace {

// What one rank has of one metric.
struct Part {
  int64_t sums = 0;  // numbers; 0: nothing was seen
  int64_t rows = 0;
  int64_t columns = 0;
  bool is_double = false;
};

std::string ToText(const std::vector<Part>& parts) {
  nlohmann::ordered_json text = nlohmann::ordered_json::array();
  for (const Part& part : parts) {
    text.push_back({part.sums, part.rows, part.columns, part.is_double});
  }
  return text.dump();
}

std::vector<Part> ToParts(const std::string& text) {
  std::vector<Part> parts;
  for (const auto& each : nlohmann::ordered_json::parse(text)) {
    parts.push_back({each.at(0), each.at(1), each.at(2), each.at(3)});
  }
  return parts;
}

// The common one of a size that ranks know or not (0).
int64_t Agreed(int64_t known, int64_t of_rank, const Metric& metric) {
  if (known != 0 && of_rank != 0 && known != of_rank) {
    throw Error(ErrorKind::kTraining,
                "metric \"" + metric.name() +
                    "\": ranks have seen different numbers of classes; one "
                    "number is accepted");
  }
  return known != 0 ? known : of_rank;
}

at::Tensor FromBytes(const std::string& bytes, const Part& part) {
  const at::Tensor rows = at::empty({part.rows, part.columns},
                                    part.is_double ? at::kDouble : at::kFloat);
  if (bytes.size() != rows.nbytes()) {
    throw Error(ErrorKind::kInfrastructure,
                "rows of a metric: " + std::to_string(bytes.size()) +
                    " bytes; " + std::to_string(rows.nbytes()) +
                    " were announced");
  }
  std::memcpy(rows.data_ptr(), bytes.data(), bytes.size());
  return rows;
}

std::string ToRowBytes(const at::Tensor& rows) {
  if (!rows.defined()) return "";
  const at::Tensor whole = rows.contiguous();
  return std::string(static_cast<const char*>(whole.const_data_ptr()),
                     whole.nbytes());
}

// By metric.
std::vector<Collected> CollectOverRanks(
    Communicator& communicator,
    const std::vector<std::shared_ptr<Metric>>& metrics,
    std::vector<Collected> own) {
  std::vector<Part> parts;
  for (const Collected& each : own) {
    Part part{.sums = each.sums.numel()};
    if (each.rows.defined()) {
      part.rows = each.rows.size(0);
      part.columns = each.rows.size(1);
      part.is_double = each.rows.scalar_type() == at::kDouble;
    }
    parts.push_back(part);
  }
  std::vector<std::vector<Part>> ranks;
  for (const std::string& text : communicator.Gather(ToText(parts))) {
    ranks.push_back(ToParts(text));
  }
  std::vector<at::Tensor> sums;
  for (size_t i = 0; i < metrics.size(); ++i) {
    int64_t size = 0;
    for (const auto& rank : ranks) {
      size = Agreed(size, rank[i].sums, *metrics[i]);
    }
    sums.push_back(own[i].sums.numel() == size
                       ? own[i].sums
                       : at::zeros({size}, at::kDouble));
  }
  at::Tensor all = at::cat(sums);
  communicator.AllReduceSum(all);
  int64_t offset = 0;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const int64_t size = sums[i].numel();
    own[i].sums = all.slice(0, offset, offset + size);
    offset += size;
    int64_t rows = 0;
    int64_t columns = 0;
    for (const auto& rank : ranks) {
      rows += rank[i].rows;
      columns = Agreed(columns, rank[i].columns, *metrics[i]);
    }
    if (rows == 0) continue;
    std::vector<at::Tensor> of_ranks;
    const std::vector<std::string> bytes =
        communicator.Gather(ToRowBytes(own[i].rows));
    for (size_t rank = 0; rank < bytes.size(); ++rank) {
      if (ranks[rank][i].rows == 0) continue;
      of_ranks.push_back(FromBytes(bytes[rank], ranks[rank][i]));
    }
    own[i].rows = at::cat(of_ranks);
  }
  return own;
}

}  // namespace

void ReduceMetrics(Communicator& communicator,
                   const std::vector<std::shared_ptr<Metric>>& metrics,
                   const std::string& prefix, Scores& scores,
                   std::vector<MetricTable>& tables) {
  if (metrics.empty()) return;
  std::vector<Collected> all;
  all.reserve(metrics.size());
  for (const auto& metric : metrics) {
    all.emplace_back(metric->Sums(), metric->Rows());
  }
  if (communicator.world_size() > 1) {
    all = CollectOverRanks(communicator, metrics, std::move(all));
  }
  for (size_t i = 0; i < metrics.size(); ++i) {
    for (const auto& [name, value] : metrics[i]->Values(all[i])) {
      scores.emplace_back(prefix + name, value);
    }
    for (MetricTable& table : metrics[i]->Tables(all[i])) {
      table.name = prefix + table.name;
      tables.push_back(std::move(table));
    }
  }
}

}  // namespace epochd::engine
