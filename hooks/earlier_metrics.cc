// SPDX-License-Identifier: Apache-2.0
#include "hooks/earlier_metrics.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "worker/engine/core/number.h"

namespace epochd::hooks {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Nothing for what is no line of ours, such as one that a kill has torn.
std::optional<MetricLine> Parsed(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  MetricLine line;
  for (const auto& [key, value] : json.items()) {
    if (key == "time") {
      line.time = engine::ToNumber(value);
    } else if (key == "epoch" || key == "step" || key == "iteration") {
      if (!value.is_number_integer()) return std::nullopt;
      const int64_t number = value.get<int64_t>();
      if (key == "iteration") {
        line.iteration = number;
      } else {
        (key == "epoch" ? line.epoch : line.step) = number;
      }
    } else {
      line.scores.emplace_back(key, engine::ToNumber(value));
    }
  }
  return line;
}

// Whether it was logged after a step.
bool IsOfStep(const MetricLine& line) {
  for (const auto& [name, value] : line.scores) {
    if (name.starts_with("train/step_")) return true;
  }
  return false;
}

// Whether what goes on from `position` does not log it again. Epochs of lines
// count from 1, so that of a whole epoch is at most `position.epoch`.
bool IsBefore(const MetricLine& line, const engine::Position& position) {
  if (line.epoch <= position.epoch) return true;
  if (line.epoch != position.epoch + 1) return false;
  // Several validations may be of one step, where it gathers batches.
  if (line.iteration) return *line.iteration <= position.global_batch;
  return IsOfStep(line) && line.step <= position.step;
}

}  // namespace

std::string CarryOver(const std::string& from, const std::string& to,
                      const engine::Position& position,
                      const std::function<void(const MetricLine&)>& take) {
  std::error_code error;
  if (fs::exists(to, error) && !fs::equivalent(from, to, error)) return "";
  std::ifstream source(from);
  if (!source) return "";
  fs::create_directories(fs::path(to).parent_path(), error);
  const std::string aside = to + ".tmp";
  std::ofstream file(aside, std::ios::trunc);
  for (std::string text; std::getline(source, text);) {
    const std::optional<MetricLine> line = Parsed(text);
    if (!line || !IsBefore(*line, position)) continue;
    file << text << '\n';
    take(*line);
  }
  file.close();
  if (file) fs::rename(aside, to, error);
  if (file && !error) return "";
  fs::remove(aside, error);
  return "\"" + to + "\": cannot write what was logged before the checkpoint";
}

}  // namespace epochd::hooks
