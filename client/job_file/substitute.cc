// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/substitute.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "client/job_file/reader.h"

namespace epochd::client {
namespace {

constexpr std::string_view kReference = "ref:";

class Substituter {
 public:
  Substituter(Document& document, const std::string& section)
      : document_(document),
        section_(section),
        original_(document.value.at(section)) {}

  void Run() {
    std::vector<std::string> open;
    Json result = Copy(original_, section_, 1, open);
    if (!gave_up_) document_.value.at(section_) = std::move(result);
  }

 private:
  // Copies `value`, which will stand at `field`, with its texts substituted.
  // `open`: the paths that are being substituted on the way here.
  Json Copy(const Json& value, const std::string& field, size_t depth,
            std::vector<std::string>& open) {
    if (++num_values_ > kMaxValues || depth > kMaxDepth) {
      GiveUp(field);
      return nullptr;
    }
    if (value.is_object()) {
      Json result = Json::object();
      auto& entries = result.get_ref<Json::object_t&>();
      for (const auto& [key, child] : value.items()) {
        if (gave_up_) break;
        entries.emplace_back(key, Copy(child, catalogue::AppendKey(field, key),
                                       depth + 1, open));
      }
      return result;
    }
    if (value.is_array()) {
      Json result = Json::array();
      for (size_t i = 0; i < value.size() && !gave_up_; ++i) {
        result.push_back(
            Copy(value[i], catalogue::AppendIndex(field, i), depth + 1, open));
      }
      return result;
    }
    if (!value.is_string()) return value;
    return Text(value.get_ref<const std::string&>(), field, depth, open);
  }

  Json Text(const std::string& text, const std::string& field, size_t depth,
            std::vector<std::string>& open) {
    const size_t begin = text.find("${");
    if (begin == std::string::npos) return text;
    if (begin == 0 && text.find('}') == text.size() - 1) {
      const std::string path = text.substr(2, text.size() - 3);
      if (path.starts_with(kReference)) return text;
      return Resolve(path, field, depth, open).value_or(Json(text));
    }
    std::string result;
    size_t done = 0;
    for (size_t at = begin; at != std::string::npos;
         at = text.find("${", done)) {
      const size_t end = text.find('}', at);
      if (end == std::string::npos) {
        document_.Report(field, "'${' without its '}'");
        return text;
      }
      result += text.substr(done, at - done);
      done = end + 1;
      const std::string path = text.substr(at + 2, end - at - 2);
      if (path.starts_with(kReference)) {
        document_.Report(field, "${" + path +
                                    "} stands for an object and must be the "
                                    "whole value");
        return text;
      }
      const std::optional<Json> value = Resolve(path, field, depth, open);
      if (!value) return text;
      if (value->is_structured()) {
        document_.Report(field, "${" + path +
                                    "} is no single value and must be the "
                                    "whole text");
        return text;
      }
      result += value->is_string() ? value->get<std::string>() : value->dump();
      if (result.size() > kMaxFileBytes) {
        GiveUp(field);
        return nullptr;
      }
    }
    return result + text.substr(done);
  }

  std::optional<Json> Resolve(const std::string& path, const std::string& field,
                              size_t depth, std::vector<std::string>& open) {
    if (std::find(open.begin(), open.end(), path) != open.end()) {
      std::string circle;
      for (const std::string& step : open) circle += step + " -> ";
      document_.Report(
          field, "${" + path + "} leads back to itself: " + circle + path);
      return std::nullopt;
    }
    const Json* found = path.empty() ? nullptr : FindField(original_, path);
    if (found == nullptr) {
      document_.Report(
          field, "${" + path + "} names nothing in " + section_ + Hint(path));
      return std::nullopt;
    }
    open.push_back(path);
    // A value that holds this very reference would never end.
    Json value = Copy(*found, field, depth, open);
    open.pop_back();
    std::string origin = section_;
    const Json* container = &original_;
    for (const std::string& part : SplitField(path)) {
      origin = container->is_array()
                   ? catalogue::AppendIndex(origin, std::stoul(part))
                   : catalogue::AppendKey(origin, part);
      container = container->is_array() ? &container->at(std::stoul(part))
                                        : &container->at(part);
    }
    CopyPositions(origin, field);
    return value;
  }

  void CopyPositions(const std::string& from, const std::string& to) {
    Positions copied;
    for (auto it = document_.positions.upper_bound(from);
         it != document_.positions.end() && it->first.starts_with(from); ++it) {
      const char next = it->first[from.size()];
      if (next != '.' && next != '[') continue;
      copied.emplace(to + it->first.substr(from.size()), it->second);
      if (copied.size() > kMaxValues) break;
    }
    document_.positions.merge(copied);
  }

  std::string Hint(const std::string& path) const {
    // Compares with siblings of the first part that does not exist.
    const Json* value = &original_;
    for (const std::string& part : SplitField(path)) {
      if (!value->is_object()) return "";
      const auto found = value->find(part);
      if (found != value->end()) {
        value = &*found;
        continue;
      }
      std::vector<std::string> known;
      for (const auto& [key, child] : value->items()) known.push_back(key);
      const auto nearest = catalogue::Nearest(part, known);
      return nearest ? ", did you mean '" + *nearest + "'?" : "";
    }
    return "";
  }

  void GiveUp(const std::string& field) {
    if (!gave_up_) {
      document_.Report(field, "substitution makes more than " +
                                  std::to_string(kMaxValues) + " values or " +
                                  std::to_string(kMaxDepth) + " levels");
    }
    gave_up_ = true;
  }

  Document& document_;
  const std::string section_;
  Json original_;
  size_t num_values_ = 0;
  bool gave_up_ = false;
};

}  // namespace

void Substitute(Document& document, const std::string& section) {
  if (!document.value.is_object() || !document.value.contains(section)) return;
  Substituter(document, section).Run();
}

}  // namespace epochd::client
