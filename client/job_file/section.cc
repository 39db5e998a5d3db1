// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/section.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace epochd::client {

std::string Quoted(const Json& value) {
  constexpr size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

Section::Section(Document& document, std::string field)
    : document_(document), field_(std::move(field)) {
  const Json* value =
      field_.empty() ? &document_.value : FindField(document_.value, field_);
  if (value == nullptr || value->is_null()) return;
  if (value->is_object()) {
    mapping_ = value;
  } else {
    document_.Report(field_, "expected a mapping, got " + Quoted(*value));
  }
}

const Json* Section::Take(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
    known_.push_back(key);
  }
  if (mapping_ == nullptr) return nullptr;
  const auto found = mapping_->find(key);
  if (found == mapping_->end() || found->is_null()) return nullptr;
  return &*found;
}

std::string Section::FieldOf(std::string_view key) const {
  return catalogue::AppendKey(field_, key);
}

void Section::Report(std::string_view key, std::string message) {
  document_.Report(FieldOf(key), std::move(message));
}

std::optional<std::string> Section::Text(const std::string& key) {
  const Json* value = Take(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  Report(key, "expected text, got " + Quoted(*value) +
                  (value->is_primitive() ? " (write it in quotes)" : ""));
  return std::nullopt;
}

std::optional<std::string> Section::Choice(
    const std::string& key, const std::vector<std::string>& choices) {
  const std::optional<std::string> text = Text(key);
  if (!text) return std::nullopt;
  if (std::find(choices.begin(), choices.end(), *text) != choices.end()) {
    return text;
  }
  std::string accepted;
  for (const std::string& choice : choices) {
    accepted += (accepted.empty() ? "" : ", ") + choice;
  }
  Report(key, "unknown value " + Quoted(*text) + ", known are " + accepted);
  return std::nullopt;
}

std::optional<int64_t> Section::Integer(const std::string& key, int64_t min,
                                        int64_t max) {
  const Json* value = Take(key);
  if (value == nullptr) return std::nullopt;
  const bool fits =
      value->is_number_integer() &&
      !(value->is_number_unsigned() &&
        value->get<uint64_t>() >
            static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  if (fits) {
    const auto number = value->get<int64_t>();
    if (number >= min && number <= max) return number;
  }
  Report(key, "expected an integer from " + std::to_string(min) + " to " +
                  std::to_string(max) + ", got " + Quoted(*value));
  return std::nullopt;
}

std::optional<double> Section::Duration(const std::string& key) {
  const Json* value = Take(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) {
    if (auto seconds =
            catalogue::ParseDuration(value->get_ref<const std::string&>())) {
      return seconds;
    }
  }
  Report(key,
         "expected a duration such as 90s, 10m or 2h, got " + Quoted(*value));
  return std::nullopt;
}

std::optional<catalogue::Every> Section::Every(const std::string& key) {
  const Json* value = Take(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) {
    if (auto every =
            catalogue::ParseEvery(value->get_ref<const std::string&>())) {
      return every;
    }
  }
  Report(key,
         "expected '1 epoch', '100 steps' or a duration such as 10m, got " +
             Quoted(*value));
  return std::nullopt;
}

std::optional<int64_t> Section::Bytes(const std::string& key) {
  const Json* value = Take(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) {
    if (auto bytes =
            catalogue::ParseBytes(value->get_ref<const std::string&>())) {
      return bytes;
    }
  }
  Report(key, "expected a size such as 512MiB or 2GiB, got " + Quoted(*value));
  return std::nullopt;
}

std::vector<std::string> Section::Texts(const std::string& key) {
  std::vector<std::string> texts;
  const Json* value = Take(key);
  if (value == nullptr) return texts;
  if (!value->is_array()) {
    Report(key, "expected a list, got " + Quoted(*value));
    return texts;
  }
  for (size_t i = 0; i < value->size(); ++i) {
    const Json& element = (*value)[i];
    if (element.is_string()) {
      texts.push_back(element.get<std::string>());
    } else {
      document_.Report(
          catalogue::AppendIndex(FieldOf(key), i),
          "expected text, got " + Quoted(element) +
              (element.is_primitive() ? " (write it in quotes)" : ""));
    }
  }
  return texts;
}

std::map<std::string, std::string> Section::TextMap(const std::string& key) {
  std::map<std::string, std::string> texts;
  const Json* value = Take(key);
  if (value == nullptr) return texts;
  if (!value->is_object()) {
    Report(key, "expected a mapping, got " + Quoted(*value));
    return texts;
  }
  for (const auto& [name, child] : value->items()) {
    if (child.is_string()) {
      texts[name] = child.get<std::string>();
    } else {
      document_.Report(
          catalogue::AppendKey(FieldOf(key), name),
          "expected text, got " + Quoted(child) +
              (child.is_primitive() ? " (write it in quotes)" : ""));
    }
  }
  return texts;
}

void Section::Finish() {
  if (mapping_ == nullptr) return;
  for (const auto& [key, value] : mapping_->items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    std::string message = "unknown key '" + key + "'";
    if (const auto nearest = catalogue::Nearest(key, known_)) {
      message += ", did you mean '" + *nearest + "'?";
    } else {
      std::string names;
      for (const std::string& name : known_) {
        names += (names.empty() ? "" : ", ") + name;
      }
      message += ", known are " + names;
    }
    Report(key, std::move(message));
  }
}

}  // namespace epochd::client
