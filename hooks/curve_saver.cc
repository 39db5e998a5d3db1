// SPDX-License-Identifier: Apache-2.0
#include "hooks/curve_saver.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include "worker/engine/core/number.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::hooks {
namespace {

// In SVG units.
constexpr double kWidth = 420, kHeight = 260, kMargin = 56;
constexpr std::array<const char*, 6> kColours = {
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b"};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Where `value` lies, 0 to 1.
  double Place(double value) const {
    return high > low ? (value - low) / (high - low) : 0.5;
  }
};

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

std::string EscapeXml(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string Text(double x, double y, const std::string& anchor,
                 const std::string& text, const char* colour = "#333") {
  return "<text x=\"" + Number(x) + "\" y=\"" + Number(y) +
         "\" text-anchor=\"" + anchor + "\" fill=\"" + colour + "\">" +
         EscapeXml(text) + "</text>\n";
}

std::string PanelOf(const std::string& name) {
  const size_t slash = name.find('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

std::string Panel(const std::string& title, const std::vector<Curve>& curves,
                  double left, double top) {
  Range epochs, values;
  for (const Curve& curve : curves) {
    for (const auto& [epoch, value] : curve.points) {
      epochs.Add(static_cast<double>(epoch));
      if (std::isfinite(value)) values.Add(value);
    }
  }
  const double width = kWidth - 1.5 * kMargin;
  const double height = kHeight - 1.5 * kMargin;
  left += kMargin;
  top += kMargin / 2;
  std::string svg = "<rect x=\"" + Number(left) + "\" y=\"" + Number(top) +
                    "\" width=\"" + Number(width) + "\" height=\"" +
                    Number(height) + "\" fill=\"none\" stroke=\"#bbb\"/>\n";
  svg += Text(left + width / 2, top - 8, "middle", title);
  if (values.low <= values.high) {
    svg += Text(left - 4, top + 10, "end", Number(values.high));
    svg += Text(left - 4, top + height, "end", Number(values.low));
  }
  svg += Text(left, top + height + 16, "middle", Number(epochs.low));
  svg += Text(left + width, top + height + 16, "middle", Number(epochs.high));
  size_t number = 0;
  for (const Curve& curve : curves) {
    const char* colour = kColours[number % kColours.size()];
    std::string path;
    bool pen_is_down = false;
    for (const auto& [epoch, value] : curve.points) {
      if (!std::isfinite(value)) {
        pen_is_down = false;
        continue;
      }
      path += (pen_is_down ? "L" : "M") +
              Number(left + width * epochs.Place(static_cast<double>(epoch))) +
              " " + Number(top + height * (1 - values.Place(value)));
      // A single point gets a dot.
      if (!pen_is_down) path += "h0";
      pen_is_down = true;
    }
    svg += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour +
           "\" stroke-width=\"2\" stroke-linecap=\"round\"/>\n";
    svg += Text(left + width - 4, top + 14 + 14 * static_cast<double>(number),
                "end", curve.name, colour);
    ++number;
  }
  return svg;
}

}  // namespace

std::string DrawCurves(const std::vector<Curve>& curves) {
  std::vector<std::pair<std::string, std::vector<Curve>>> panels;
  for (const Curve& curve : curves) {
    const std::string title = PanelOf(curve.name);
    auto found =
        std::find_if(panels.begin(), panels.end(),
                     [&](const auto& panel) { return panel.first == title; });
    if (found == panels.end()) found = panels.insert(found, {title, {}});
    found->second.push_back(curve);
  }
  const size_t rows = (panels.size() + 1) / 2;
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                    Number(2 * kWidth) + "\" height=\"" +
                    Number(kHeight * static_cast<double>(rows)) +
                    "\" font-family=\"sans-serif\" font-size=\"12\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  for (size_t i = 0; i < panels.size(); ++i) {
    svg += Panel(panels[i].first, panels[i].second,
                 kWidth * static_cast<double>(i % 2),
                 kHeight * static_cast<double>(i / 2));
  }
  return svg + "</svg>\n";
}

void CurveSaver::AttachToTrainer(engine::Trainer& trainer) {
  const std::string& output = trainer.environment().output_dir;
  if (!trainer.is_main_rank() || output.empty()) return;
  path_ = output + "/curves.svg";
  trainer.AddOutput("curves", path_);
  const engine::ValidationPlan& plan = trainer.plan().validation;
  is_by_iteration_ =
      trainer.val() != nullptr &&
      (plan.fraction || plan.unit == engine::ValidationPlan::Unit::kBatches);
  trainer.on_validation_finished.Bind([this](engine::TrainerContext& context) {
    if (context.is_mid_epoch) Add(context);
  });
  trainer.on_epoch_finished.Bind(
      [this](engine::TrainerContext& context) { Add(context); });
}

void CurveSaver::Add(engine::TrainerContext& context) {
  const int64_t x = is_by_iteration_ ? context.trainer->position().global_batch
                                     : context.epoch + 1;
  for (const auto& [name, value] : context.scores) {
    if (!metrics_.empty() &&
        std::find(metrics_.begin(), metrics_.end(), name) == metrics_.end()) {
      continue;
    }
    auto found =
        std::find_if(curves_.begin(), curves_.end(),
                     [&](const Curve& curve) { return curve.name == name; });
    if (found == curves_.end()) found = curves_.insert(found, {.name = name});
    // A run may end with a validation within its epoch.
    if (!found->points.empty() && found->points.back().first == x) {
      found->points.pop_back();
    }
    found->points.emplace_back(x, value);
  }
  // Written aside, so that nobody sees half a picture.
  std::error_code error;
  std::filesystem::create_directories(
      std::filesystem::path(path_).parent_path(), error);
  {
    std::ofstream file(path_ + ".new");
    file << DrawCurves(curves_);
    file.flush();
    if (!file) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(path_ + ".new", path_, error);
  if (error) {
    context.trainer->events().Notice("warning",
                                     "\"" + path_ + "\": cannot write");
  }
}

nlohmann::ordered_json CurveSaver::State() const {
  nlohmann::ordered_json state = nlohmann::ordered_json::array();
  for (const Curve& curve : curves_) {
    nlohmann::ordered_json points = nlohmann::ordered_json::array();
    for (const auto& [epoch, value] : curve.points) {
      points.push_back({epoch, engine::FromNumber(value)});
    }
    state.push_back({{"name", curve.name}, {"points", points}});
  }
  return state;
}

void CurveSaver::LoadState(const nlohmann::ordered_json& state) {
  curves_.clear();
  for (const auto& curve : state) {
    curves_.push_back({.name = curve.at("name").get<std::string>()});
    for (const auto& point : curve.at("points")) {
      curves_.back().points.emplace_back(point.at(0).get<int64_t>(),
                                         engine::ToNumber(point.at(1)));
    }
  }
}

engine::Entry<engine::Hook> CurveSaverEntry() {
  return {
      {.kind = "hook",
       .name = "CurveSaver",
       .help = "draws scores over epochs as an SVG picture; over iterations "
               "where the run validates within epochs",
       .parameters = {{.name = "metrics",
                       .type = "list<string>",
                       .help = "scores drawn, such as val/loss; all by "
                               "default"}}},
      [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
        return std::make_shared<CurveSaver>(params.Has("metrics")
                                                ? params.Strings("metrics")
                                                : std::vector<std::string>{});
      }};
}

}  // namespace epochd::hooks
