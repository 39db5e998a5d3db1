// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/output.h"

#include <google/protobuf/util/json_util.h>
#include <yaml-cpp/emitter.h>

#include "client/job_file/scalar.h"

namespace epochd::epochctl {
namespace {

void Emit(const nlohmann::ordered_json& json, YAML::Emitter& out) {
  // Nothing to put below a key.
  if (json.is_structured() && json.empty()) out << YAML::Flow;
  if (json.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, value] : json.items()) {
      out << YAML::Key << key << YAML::Value;
      Emit(value, out);
    }
    out << YAML::EndMap;
  } else if (json.is_array()) {
    out << YAML::BeginSeq;
    for (const auto& value : json) Emit(value, out);
    out << YAML::EndSeq;
  } else if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    const client::Scalar scalar = client::ResolvePlain(text);
    // Quotes what would be read as something else.
    if (!scalar.value.is_string() || !scalar.problem.empty()) {
      out << YAML::DoubleQuoted;
    }
    out << text;
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
