// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/overrides.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/job_file/job_component.h"
#include "client/job_file/reader.h"

namespace epochd::client {
namespace {

bool IsOwnKey(const std::string& key) {
  static const catalogue::Component kJob = JobComponent();
  return std::any_of(
      kJob.parameters.begin(), kJob.parameters.end(),
      [&key](const catalogue::Parameter& own) { return own.name == key; });
}

// Takes away what `parts` lead to, which exists.
void Erase(Json& root, const std::vector<std::string>& parts) {
  Json* container = &root;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    container = FindField(*container, catalogue::AppendKey("", parts[i]));
  }
  if (container->is_array()) {
    container->erase(std::stoul(parts.back()));
  } else {
    container->erase(parts.back());
  }
}

void Refuse(Document& document, const std::string& text, std::string message) {
  document.problems.push_back(
      {{0, 0}, "", "--set " + text.substr(0, 80) + ": " + std::move(message)});
}

// The key of `container` that `name` may be a misspelling of.
std::optional<std::string> NearestKey(const Json& container,
                                      const std::string& name) {
  std::vector<std::string> keys;
  if (container.is_object()) {
    for (const auto& item : container.items()) keys.push_back(item.key());
  }
  return catalogue::Nearest(name, keys);
}

// Why nothing in `container`, which stands at `field`, has this name.
std::string IsAbsent(const std::string& name, const Json& container,
                     const std::string& field) {
  std::string text =
      "there is no '" + name + "' in " + (field.empty() ? "the file" : field);
  if (container.is_array()) {
    const size_t size = container.size();
    text += ", which has " + std::to_string(size) +
            (size == 1 ? " element" : " elements");
    if (size > 0) text += ": 0 to " + std::to_string(size - 1) + " name one";
    return text + ", " + std::to_string(size) + " with a value adds one";
  }
  const auto nearest = NearestKey(container, name);
  return nearest ? text + ", did you mean '" + *nearest + "'?" : text;
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
  if (!IsOwnKey(parts.front())) {
    parts.insert(parts.begin(), "experiment");
  }
  if (parts.size() > kMaxDepth) {
    Refuse(document, text, "nested too deeply");
    return;
  }
  Json* value = &document.value;
  std::string field;
  for (const std::string& part : parts) {
    // What is not there need not be taken away, nor its surroundings made; but
    // a misspelt name means something that is there.
    const bool is_absent =
        value->is_null() || (value->is_object() && !value->contains(part));
    if (given.value.is_null() && is_absent) {
      if (NearestKey(*value, part)) {
        Refuse(document, text, IsAbsent(part, *value, field));
      }
      return;
    }
    // A number where nothing is begins a list.
    if (value->is_null()) *value = part == "0" ? Json::array() : Json::object();
    if (value->is_object()) {
      field = catalogue::AppendKey(field, part);
      value = &(*value)[part];
      continue;
    }
    size_t index = 0;
    const auto [end, error] =
        std::from_chars(part.data(), part.data() + part.size(), index);
    // The index behind the last adds an element.
    if (!value->is_array() || error != std::errc() ||
        end != part.data() + part.size() || index > value->size() ||
        (index == value->size() && given.value.is_null())) {
      Refuse(document, text, IsAbsent(part, *value, field));
      return;
    }
    if (index == value->size()) value->push_back(nullptr);
    field = catalogue::AppendIndex(field, index);
    value = &(*value)[index];
  }
  ErasePositions(document.positions, field);
  if (given.value.is_null()) {
    Erase(document.value, parts);
    return;
  }
  *value = std::move(given.value);
  document.positions[field] = Position{0, 0};
}

}  // namespace epochd::client
