// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/history.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "client/epochctl/event_text.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {
namespace {

// What "val/accuracy" measures: "accuracy".
std::string Measured(const std::string& name) {
  const size_t slash = name.find('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

}  // namespace

void History::Add(const v1::Event& event) {
  if (event.has_epoch_finished()) {
    const v1::EpochFinished& epoch = event.epoch_finished();
    const Place place(epoch.epoch(), std::numeric_limits<int64_t>::max());
    for (const auto& [name, value] : epoch.metrics()) {
      metrics_[name][place] = {epoch.step(), value};
    }
  } else if (event.has_metrics() && IsValidation(event.metrics())) {
    const v1::MetricsLogged& validation = event.metrics();
    is_by_step_ = true;
    for (const auto& [name, value] : validation.metrics()) {
      metrics_[name][{validation.epoch(), validation.step()}] = {
          validation.step(), value};
    }
  } else if (event.has_checkpoint_saved()) {
    const v1::Checkpoint& checkpoint = event.checkpoint_saved().checkpoint();
    // A removal is told by the same message.
    if (checkpoint.best() && !checkpoint.removed()) best_ = checkpoint;
  } else if (event.has_training_ended()) {
    ended_ = event.training_ended();
  } else if (event.has_job_state()) {
    is_over_ = client::IsTerminal(event.job_state().state());
  }
}

std::vector<std::string> History::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, points] : metrics_) names.push_back(name);
  return names;
}

std::vector<ScoreRow> History::Rows(
    const std::vector<std::string>& names) const {
  std::map<Place, ScoreRow> rows;
  for (const std::string& name : names) {
    const auto found = metrics_.find(name);
    if (found == metrics_.end()) continue;
    for (const auto& [place, point] : found->second) {
      ScoreRow& row = rows[place];
      row.epoch = place.first;
      row.step = point.step;
      row.scores[name] = point.value;
    }
  }
  std::vector<ScoreRow> list;
  for (auto& [ignored, row] : rows) list.push_back(std::move(row));
  return list;
}

absl::Status History::CheckNames(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    if (metrics_.contains(name)) continue;
    std::string message = "--metric: the job has no '" + name + "'";
    const char* before = ", known are ";
    for (const auto& [known, ignored] : metrics_) {
      message += before + Safe(known);
      before = ", ";
    }
    return absl::NotFoundError(message);
  }
  return absl::OkStatus();
}

std::vector<terminal::Curve> History::Curves(
    const std::vector<std::string>& names) const {
  std::vector<terminal::Curve> curves;
  for (const auto& [name, points] : metrics_) {
    if (!names.empty() &&
        std::find(names.begin(), names.end(), name) == names.end()) {
      continue;
    }
    terminal::Curve curve;
    curve.name = Safe(name);
    for (const auto& [place, point] : points) {
      curve.points.emplace_back(
          static_cast<double>(is_by_step_ ? point.step : place.first),
          point.value);
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

absl::StatusOr<History> ReadHistory(client::Client& client,
                                    const std::string& job,
                                    const std::vector<std::string>& metrics) {
  const auto events = client.ListEvents(job);
  if (!events.ok()) return events.status();
  History history;
  for (const v1::Event& event : *events) history.Add(event);
  if (auto status = history.CheckNames(metrics); !status.ok()) return status;
  return history;
}

std::string RenderPlots(const History& history,
                        const std::vector<std::string>& names,
                        const PlotLayout& layout,
                        const terminal::Style& style) {
  // Groups in order; "" sorts the loss first.
  std::map<std::string, std::vector<terminal::Curve>> groups;
  for (terminal::Curve& curve : history.Curves(names)) {
    const std::string measured = Measured(curve.name);
    groups[measured == "loss" ? "" : measured].push_back(std::move(curve));
  }
  std::string result;
  for (const auto& [measured, curves] : groups) {
    terminal::PlotOptions options;
    options.title = measured.empty() ? "loss" : measured;
    options.x_label = history.is_by_step() ? "step" : "epoch";
    options.width = layout.width;
    options.height = layout.height;
    options.log_y = layout.log_y;
    if (!result.empty()) result += "\n";
    result += terminal::RenderPlot(curves, options, style);
  }
  return result;
}

}  // namespace epochd::epochctl
