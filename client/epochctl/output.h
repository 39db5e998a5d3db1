// SPDX-License-Identifier: Apache-2.0
//
// `-o`: API messages as JSON (protobuf's own mapping, so it is stable) or the
// same as YAML. Stateless.
#pragma once

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace epochd::epochctl {

enum class Format { kTable, kWide, kJson, kYaml, kName };

// `name` is one of table, wide, json, yaml, name.
Format ParseFormat(std::string_view name);

nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

// Ends in a newline. `format`: kJson or kYaml.
std::string Render(const nlohmann::ordered_json& json, Format format);

}  // namespace epochd::epochctl
