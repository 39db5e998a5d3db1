// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/overrides.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "client/job_file/reader.h"

namespace epochd::client {
namespace {

constexpr std::array<std::string_view, 13> kOwnKeys = {
    "name",    "project", "priority", "labels",      "resources",
    "restart", "limits",  "storage",  "checkpoints", "experiment",
    "command", "files",   "env"};

void Refuse(Document& document, const std::string& text, std::string message) {
  document.problems.push_back(
      {{0, 0}, "", "--set " + text.substr(0, 80) + ": " + std::move(message)});
}

}  // namespace

void ApplyOverride(Document& document, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    Refuse(document, text, "expected FIELD=VALUE");
    return;
  }
  Document given = ReadDocument(std::string_view(text).substr(equals + 1));
  if (!given.problems.empty()) {
    Refuse(document, text, given.problems.front().message);
    return;
  }
  std::vector<std::string> parts = SplitField(text.substr(0, equals));
  if (std::find(kOwnKeys.begin(), kOwnKeys.end(), parts.front()) ==
      kOwnKeys.end()) {
    parts.insert(parts.begin(), "experiment");
  }
  if (parts.size() > kMaxDepth) {
    Refuse(document, text, "nested too deeply");
    return;
  }
  Json* value = &document.value;
  std::string field;
  for (const std::string& part : parts) {
    if (value->is_null()) *value = Json::object();
    if (value->is_object()) {
      field = catalogue::AppendKey(field, part);
      value = &(*value)[part];
      continue;
    }
    size_t index = 0;
    const auto [end, error] =
        std::from_chars(part.data(), part.data() + part.size(), index);
    if (!value->is_array() || error != std::errc() ||
        end != part.data() + part.size() || index >= value->size()) {
      Refuse(document, text,
             "there is no '" + part + "' in " +
                 (field.empty() ? "the file" : field));
      return;
    }
    field = catalogue::AppendIndex(field, index);
    value = &(*value)[index];
  }
  *value = std::move(given.value);
  // Forgets where what was replaced stood.
  for (auto it = document.positions.lower_bound(field);
       it != document.positions.end() && it->first.starts_with(field);) {
    const char next =
        it->first.size() == field.size() ? '.' : it->first[field.size()];
    if (next == '.' || next == '[') {
      it = document.positions.erase(it);
    } else {
      ++it;
    }
  }
  document.positions[field] = Position{0, 0};
}

}  // namespace epochd::client
