// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/output.h"

#include <google/protobuf/util/json_util.h>
#include <yaml-cpp/emitter.h>

#include <algorithm>

#include "client/job_file/scalar.h"

namespace epochd::epochctl {
namespace {

// Quotes what would be read as something else.
void EmitText(const std::string& text, YAML::Emitter& out) {
  const client::Scalar scalar = client::ResolvePlain(text);
  const bool has_control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  // The emitter does not see that these begin or end a document.
  const bool is_mark = text.starts_with("---") || text.starts_with("...");
  if (!scalar.value.is_string() || !scalar.problem.empty() || has_control ||
      is_mark) {
    out << YAML::DoubleQuoted;
  }
  out << text;
}

void Emit(const nlohmann::ordered_json& json, YAML::Emitter& out) {
  // Nothing to put below a key.
  if (json.is_structured() && json.empty()) out << YAML::Flow;
  if (json.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, value] : json.items()) {
      out << YAML::Key;
      EmitText(key, out);
      out << YAML::Value;
      Emit(value, out);
    }
    out << YAML::EndMap;
  } else if (json.is_array()) {
    out << YAML::BeginSeq;
    for (const auto& value : json) Emit(value, out);
    out << YAML::EndSeq;
  } else if (json.is_string()) {
    EmitText(json.get_ref<const std::string&>(), out);
  } else if (json.is_null()) {
    out << YAML::Null;
  } else {
    out << json.dump();
  }
}

}  // namespace

Format ParseFormat(std::string_view name) {
  if (name == "wide") return Format::kWide;
  if (name == "json") return Format::kJson;
  if (name == "yaml") return Format::kYaml;
  if (name == "name") return Format::kName;
  return Format::kTable;
}

nlohmann::ordered_json ToJson(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) return nullptr;
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

std::string Render(const nlohmann::ordered_json& json, Format format) {
  if (format == Format::kYaml) {
    YAML::Emitter out;
    Emit(json, out);
    return std::string(out.c_str()) + "\n";
  }
  return json.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace epochd::epochctl
