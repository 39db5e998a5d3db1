// SPDX-License-Identifier: Apache-2.0
//
// Checks a value against a JSON Schema (draft 2020-12) that uses no other
// keywords than job_schema.cc does; throws on one it does not know, so that
// nothing goes unchecked.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>

namespace epochd::epochctl {

class SchemaChecker {
 public:
  using Json = nlohmann::ordered_json;

  explicit SchemaChecker(Json root) : root_(std::move(root)) {}

  bool Accepts(const Json& value) const {
    std::set<std::string> evaluated;
    return Check(root_, value, evaluated);
  }

 private:
  using Keys = std::set<std::string>;

  // Adds the keys of an object that the schema speaks of to `evaluated`.
  bool Check(const Json& schema, const Json& value, Keys& evaluated) const {
    if (schema.is_boolean()) return schema.get<bool>();
    bool is_accepted = true;
    Keys own;
    for (const auto& [keyword, rule] : schema.items()) {
      is_accepted &= Keyword(schema, keyword, rule, value, own);
    }
    // Looks at what all the others have evaluated.
    if (schema.contains("unevaluatedProperties") && value.is_object()) {
      for (const auto& [key, unused] : value.items()) {
        is_accepted &= own.count(key) > 0;
      }
    }
    if (is_accepted) evaluated.insert(own.begin(), own.end());
    return is_accepted;
  }

  bool Keyword(const Json& schema, const std::string& keyword, const Json& rule,
               const Json& value, Keys& own) const {
    static const std::set<std::string> kSilent = {
        "$schema",     "$defs",   "title",
        "description", "default", "unevaluatedProperties",
        "then"};
    if (kSilent.count(keyword) > 0) return true;
    if (keyword == "$ref") {
      const std::string path = rule.get<std::string>().substr(1);
      return Check(root_.at(Json::json_pointer(path)), value, own);
    }
    if (keyword == "type") {
      if (!rule.is_array()) return HasType(value, rule);
      for (const Json& type : rule) {
        if (HasType(value, type)) return true;
      }
      return false;
    }
    if (keyword == "enum") {
      for (const Json& each : rule) {
        if (each == value) return true;
      }
      return false;
    }
    if (keyword == "pattern") {
      return !value.is_string() ||
             std::regex_search(value.get<std::string>(),
                               std::regex(rule.get<std::string>()));
    }
    if (keyword == "minLength") {
      return !value.is_string() ||
             value.get<std::string>().size() >= rule.get<size_t>();
    }
    if (keyword == "minItems") {
      return !value.is_array() || value.size() >= rule.get<size_t>();
    }
    if (keyword == "minimum") {
      return !value.is_number() || value.get<double>() >= rule.get<double>();
    }
    if (keyword == "exclusiveMinimum") {
      return !value.is_number() || value.get<double>() > rule.get<double>();
    }
    if (keyword == "maximum") {
      return !value.is_number() || value.get<double>() <= rule.get<double>();
    }
    if (keyword == "required") {
      if (!value.is_object()) return true;
      for (const Json& key : rule) {
        if (!value.contains(key.get<std::string>())) return false;
      }
      return true;
    }
    if (keyword == "anyOf") {
      bool is_accepted = false;
      for (const Json& each : rule) is_accepted |= Check(each, value, own);
      return is_accepted;
    }
    if (keyword == "allOf") {
      bool is_accepted = true;
      for (const Json& each : rule) is_accepted &= Check(each, value, own);
      return is_accepted;
    }
    if (keyword == "not") {
      Keys ignored;
      return !Check(rule, value, ignored);
    }
    if (keyword == "if") {
      return !Check(rule, value, own) || Check(schema.at("then"), value, own);
    }
    if (keyword == "items") {
      if (!value.is_array()) return true;
      for (const Json& each : value) {
        Keys ignored;
        if (!Check(rule, each, ignored)) return false;
      }
      return true;
    }
    return ObjectKeyword(schema, keyword, rule, value, own);
  }

  bool ObjectKeyword(const Json& schema, const std::string& keyword,
                     const Json& rule, const Json& value, Keys& own) const {
    if (!value.is_object()) return true;
    Keys ignored;
    bool is_accepted = true;
    for (const auto& [key, child] : value.items()) {
      if (keyword == "properties") {
        if (!rule.contains(key)) continue;
        is_accepted &= Check(rule.at(key), child, ignored);
        own.insert(key);
      } else if (keyword == "additionalProperties") {
        const auto named = schema.find("properties");
        if (named != schema.end() && named->contains(key)) continue;
        is_accepted &= Check(rule, child, ignored);
        own.insert(key);
      } else if (keyword == "propertyNames") {
        is_accepted &= Check(rule, Json(key), ignored);
      } else {
        throw std::invalid_argument("keyword " + keyword);
      }
    }
    return is_accepted;
  }

  static bool HasType(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    if (type == "integer") {
      return value.is_number() &&
             value.get<double>() == std::floor(value.get<double>());
    }
    if (type == "number") return value.is_number();
    throw std::invalid_argument("type " + type);
  }

  const Json root_;
};

}  // namespace epochd::epochctl
