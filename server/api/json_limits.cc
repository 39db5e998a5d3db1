// SPDX-License-Identifier: Apache-2.0
#include "server/api/json_limits.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "catalogue/catalogue.h"
#include "text/utf8.h"

namespace epochd::api {
namespace {

using Json = nlohmann::ordered_json;

// Walks the text without building anything.
class LimitChecker final : public nlohmann::json_sax<Json> {
 public:
  LimitChecker(const std::string& root, const JsonLimits& limits,
               std::vector<wire::FieldViolation>& violations)
      : root_(root), limits_(limits), violations_(violations) {}

  bool null() override { return Value(); }
  bool boolean(bool) override { return Value(); }
  bool number_integer(number_integer_t) override { return Value(); }
  bool number_unsigned(number_unsigned_t) override { return Value(); }
  bool number_float(number_float_t, const string_t&) override {
    return Value();
  }
  bool string(string_t&) override { return Value(); }
  bool binary(binary_t&) override { return Value(); }
  bool start_object(std::size_t) override { return Value() && Open(false); }
  bool start_array(std::size_t) override { return Value() && Open(true); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.field = catalogue::AppendKey(level.parent, name);
    if (!level.keys.insert(name).second) {
      violations_.push_back({level.field, absl::StrCat("key '", Shown(name),
                                                       "' is given twice")});
    }
    if (level.keys.size() > static_cast<size_t>(limits_.max_keys_per_object)) {
      return Refuse(level.parent, absl::StrCat("too many keys, at most ",
                                               limits_.max_keys_per_object));
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    // Its text quotes the input; number errors are told apart by id.
    const bool number = error.id == 406;
    return Refuse(
        Field(), number ? absl::StrCat("number out of range at byte ", position)
                        : absl::StrCat("no valid JSON at byte ", position));
  }

 private:
  struct Level {
    std::string parent;
    // Of the value that comes next.
    std::string field;
    bool array = false;
    size_t index = 0;
    std::set<std::string> keys;
  };

  static std::string Shown(const std::string& name) {
    return name.size() > 64 ? name.substr(0, 61) + "..." : name;
  }

  std::string Field() const {
    if (levels_.empty()) return root_;
    const Level& level = levels_.back();
    return level.array ? catalogue::AppendIndex(level.parent, level.index)
                       : (level.field.empty() ? level.parent : level.field);
  }

  bool Refuse(std::string field, std::string description) {
    violations_.push_back({std::move(field), std::move(description)});
    return false;
  }

  bool Value() {
    if (++num_values_ > limits_.max_values) {
      return Refuse(
          root_, absl::StrCat("too many values, at most ", limits_.max_values));
    }
    opened_ = Field();
    if (!levels_.empty()) ++levels_.back().index;
    return true;
  }

  bool Open(bool array) {
    if (levels_.size() >= static_cast<size_t>(limits_.max_depth)) {
      return Refuse(root_, absl::StrCat("nested too deep, at most ",
                                        limits_.max_depth, " levels"));
    }
    Level level;
    level.parent = opened_;
    level.array = array;
    levels_.push_back(std::move(level));
    return true;
  }

  bool Close() {
    levels_.pop_back();
    return true;
  }

  const std::string& root_;
  const JsonLimits& limits_;
  std::vector<wire::FieldViolation>& violations_;
  int num_values_ = 0;
  std::string opened_;
  std::vector<Level> levels_;
};

}  // namespace

std::optional<Json> ParseLimitedJson(
    const std::string& input, const std::string& root, const JsonLimits& limits,
    std::vector<wire::FieldViolation>& violations) {
  const size_t num_before = violations.size();
  if (!text::IsValidUtf8(input)) {
    violations.push_back({root, "no valid UTF-8"});
    return std::nullopt;
  }
  LimitChecker checker(root, limits, violations);
  Json::sax_parse(input, &checker);
  if (violations.size() > num_before) return std::nullopt;
  Json json = Json::parse(input, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    violations.push_back({root, "no mapping, write 'key: value' pairs"});
    return std::nullopt;
  }
  return json;
}

}  // namespace epochd::api
