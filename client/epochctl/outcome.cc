// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/outcome.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "client/epochctl/words.h"
#include "client/terminal/human.h"
#include "client/terminal/width.h"

namespace epochd::epochctl {
namespace {

std::string FixedNumber(double value) {
  const double magnitude = std::abs(value);
  // Others would be zeros alone, or more digits than anybody reads.
  if (!(magnitude >= 1e-3 && magnitude < 1e7))
    return terminal::HumanNumber(value);
  std::array<char, 64> buffer;
  const int size = snprintf(buffer.data(), buffer.size(), "%.4f", value);
  return std::string(buffer.data(), static_cast<size_t>(size));
}

std::map<std::string, std::string> Outputs(const History& history) {
  std::map<std::string, std::string> outputs;
  if (history.ended()) {
    outputs.insert(history.ended()->outputs().begin(),
                   history.ended()->outputs().end());
  }
  if (history.best() && !outputs.contains("checkpoint_best")) {
    outputs["checkpoint_best"] = history.best()->path();
  }
  return outputs;
}

}  // namespace

std::string StateText(const v1::Job& job) {
  std::string text = Id(job.name()) + " " + Word(job.state());
  if (job.state() != v1::JOB_STATE_SUCCEEDED) {
    text += " (" + Word(job.reason()) + ")";
    if (!job.message().empty()) text += ": " + OneLine(job.message());
  }
  return text + "\n";
}

std::string OutcomeText(const v1::Job& job, const History& history) {
  std::string text;
  const std::map<std::string, std::string> outputs = Outputs(history);
  size_t width = 0;
  for (const auto& [name, path] : outputs) {
    width = std::max(width, terminal::DisplayWidth(Safe(name)));
  }
  for (const auto& [name, path] : outputs) {
    text += terminal::PadRight(Safe(name), width) + "  " + Safe(path) + "\n";
  }
  if (job.state() != v1::JOB_STATE_SUCCEEDED) return text + StateText(job);
  v1::BestMetric best = job.best();
  if (best.name().empty() && history.ended()) best = history.ended()->best();
  if (best.name().empty()) return text + StateText(job);
  const std::string score = Safe(best.name()) + " " + FixedNumber(best.value());
  if (!Trains(job.spec())) return text + score + "\n";
  return text + "best " + score + " at epoch " + std::to_string(best.epoch()) +
         "\n";
}

}  // namespace epochd::epochctl
