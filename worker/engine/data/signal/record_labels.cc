// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/signal/record_labels.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "worker/engine/core/error.h"
#include "worker/engine/data/table/csv.h"

namespace epochd::engine {
namespace {

std::string Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return std::string(
      text.substr(begin, text.find_last_not_of(kBlank) - begin + 1));
}

std::string WithoutBracket(const std::string& name) {
  return name.starts_with("(") ? name.substr(1) : name;
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "\"" : ", \"") + name + "\"";
  }
  return text;
}

// The parts between any of `marks`, trimmed, but for empty ones.
std::vector<std::string> Split(const std::string& text, const char* marks) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(marks, begin), text.size());
    std::string part =
        Trimmed(std::string_view(text).substr(begin, end - begin));
    if (!part.empty()) parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

int64_t ClassRule::Find(const std::string& name) const {
  const std::string wanted = WithoutBracket(name);
  for (size_t i = 0; i < names.size(); ++i) {
    if (WithoutBracket(names[i]) == wanted) return static_cast<int64_t>(i);
    for (const std::string& one : Split(names[i], "|")) {
      if (WithoutBracket(one) == wanted) return static_cast<int64_t>(i);
    }
  }
  return -1;
}

std::optional<std::vector<int64_t>> ClassRule::Places(
    const std::vector<std::string>& labels, const std::string& where) const {
  std::vector<int64_t> places;
  for (const std::string& label : labels) {
    const int64_t place = Find(label);
    if (place < 0) {
      if (skip_unknown) continue;
      throw Error(ErrorKind::kBadSpec, where + ": label \"" + label +
                                           "\" is no class; " + Listed(names) +
                                           " are accepted");
    }
    if (std::find(places.begin(), places.end(), place) == places.end()) {
      places.push_back(place);
    }
  }
  if (is_multi) return places;
  if (places.empty()) {
    if (skip_unknown) return std::nullopt;
    throw Error(ErrorKind::kBadSpec, where + ": has no label; one of " +
                                         Listed(names) + " is needed");
  }
  if (places.size() > 1) {
    throw Error(ErrorKind::kBadSpec,
                where + ": has the labels " + Listed(labels) +
                    "; one is needed, or `multi_label: true`");
  }
  return places;
}

at::Tensor ClassRule::Target(
    const std::vector<std::vector<int64_t>>& rows) const {
  const auto count = static_cast<int64_t>(rows.size());
  if (!is_multi) {
    at::Tensor target = at::empty({count}, at::kLong);
    auto* out = target.mutable_data_ptr<int64_t>();
    for (const auto& row : rows) *out++ = row.front();
    return target;
  }
  const auto classes = static_cast<int64_t>(names.size());
  at::Tensor target = at::zeros({count, classes}, at::kFloat);
  auto* out = target.mutable_data_ptr<float>();
  for (const auto& row : rows) {
    for (int64_t place : row) out[place] = 1;
    out += classes;
  }
  return target;
}

std::string CommentValue(const std::vector<std::string>& comments,
                         const std::string& key) {
  for (const std::string& comment : comments) {
    const size_t colon = comment.find(':');
    if (colon != std::string::npos &&
        Trimmed(std::string_view(comment).substr(0, colon)) == key) {
      return Trimmed(std::string_view(comment).substr(colon + 1));
    }
  }
  return {};
}

std::vector<std::string> SplitLabels(const std::string& text) {
  return Split(text, ",;");
}

std::map<std::string, std::string> LabelsByRecord(
    const std::string& file, const std::string& record_column,
    const std::string& column) {
  const CsvTable table = CsvTable::Read(file);
  const int64_t records = table.FindColumn(record_column);
  const int64_t values = table.FindColumn(column);
  std::map<std::string, std::string> found;
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    if (!found
             .emplace(Trimmed(table.Cell(row, records)),
                      Trimmed(table.Cell(row, values)))
             .second) {
      table.Fail(row, records, "this record was there before");
    }
  }
  return found;
}

std::vector<LabelSpan> Rhythms(const WfdbAnnotations& annotations, double fs) {
  const double rate = annotations.fs > 0 ? annotations.fs : fs;
  std::vector<LabelSpan> rhythms;
  for (const WfdbAnnotation& each : annotations.all) {
    if (!each.aux.starts_with("(")) continue;
    const double at = static_cast<double>(each.sample) / rate;
    if (!rhythms.empty()) rhythms.back().to = std::max(at, rhythms.back().from);
    rhythms.push_back({.from = at,
                       .to = std::numeric_limits<double>::infinity(),
                       .label = Trimmed(WithoutBracket(each.aux))});
  }
  return rhythms;
}

std::vector<BeatLabel> Beats(const WfdbAnnotations& annotations, double fs) {
  const double rate = annotations.fs > 0 ? annotations.fs : fs;
  std::vector<BeatLabel> beats;
  for (const WfdbAnnotation& each : annotations.all) {
    beats.push_back(
        {.at = static_cast<double>(each.sample) / rate, .symbol = each.symbol});
  }
  return beats;
}

std::vector<std::string> LabelsWithin(const std::vector<LabelSpan>& spans,
                                      double from, double to, bool all) {
  std::map<std::string, double> covered;
  for (const LabelSpan& each : spans) {
    const double seconds = std::min(to, each.to) - std::max(from, each.from);
    if (seconds > 0) covered[each.label] += seconds;
  }
  std::vector<std::string> names;
  // Without a label: of spans beside each other, the rest. What is covered less
  // than that says nothing of the window.
  double most = to - from;
  for (const auto& [ignored, seconds] : covered) most -= seconds;
  most = std::max(most, 0.0);
  for (const auto& [name, seconds] : covered) {
    if (all) {
      if (seconds >= 0.1 * (to - from)) names.push_back(name);
    } else if (seconds > most || (names.empty() && seconds == most)) {
      most = seconds;
      names = {name};
    }
  }
  return names;
}

}  // namespace epochd::engine
