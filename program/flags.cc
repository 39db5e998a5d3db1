// SPDX-License-Identifier: Apache-2.0
#include "program/flags.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "program/file.h"
#include "program/version.h"

namespace epochd::program {
namespace {

constexpr size_t kMaxConfigBytes = 64 * 1024;

std::string Describe(const std::string& description,
                     const std::vector<std::string>& examples) {
  std::string text = description + "\n\nExamples:\n";
  for (const std::string& example : examples) {
    absl::StrAppend(&text, "  ", example, "\n");
  }
  return text;
}

absl::StatusOr<YAML::Node> LoadMap(const std::string& path) {
  auto content = ReadFile(path, kMaxConfigBytes);
  if (!content.ok()) return content.status();
  try {
    YAML::Node root = YAML::Load(*content);
    if (root.IsNull() || root.IsMap()) return root;
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", error.mark.line + 1, ":", error.mark.column + 1,
                     ": ", error.msg));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": not a map of settings, write 'key: value' lines"));
}

}  // namespace

Flags::Flags(std::string program, std::string description,
             std::vector<std::string> examples)
    : program_(std::move(program)),
      app_(Describe(description, examples), program_) {
  app_.set_version_flag("--version", VersionLine(program_));
  app_.add_option("--config", config_,
                  "YAML file with settings; flags and environment win over it")
      ->envname("EPOCHD_CONFIG")
      ->type_name("FILE");
  app_.get_formatter()->column_width(34);
}

CLI::Option* Flags::Named(const std::string& name, CLI::Option* option) {
  names_.push_back(name);
  return option->envname(absl::StrCat(
      "EPOCHD_",
      absl::AsciiStrToUpper(absl::StrReplaceAll(name, {{"-", "_"}}))));
}

CLI::Option* Flags::AddSwitch(const std::string& name, bool& value,
                              const std::string& help) {
  return Named(name, app_.add_flag("--" + name, value, help));
}

void Flags::AddLogging(LoggingOptions& options) {
  options.program = program_;
  Add("log-format", options.format,
      "auto (text on a terminal, JSON lines otherwise), text or json");
  Add("log-level", options.level, "trace, debug, info, warning, error or off");
}

absl::Status Flags::ApplyFile(const std::string& path) {
  auto root = LoadMap(path);
  if (!root.ok()) return root.status();
  std::set<std::string> seen;
  for (const auto& entry : *root) {
    const std::string key = entry.first.Scalar();
    const std::string name = absl::StrReplaceAll(key, {{"_", "-"}});
    const std::string where =
        absl::StrCat(path, ":", entry.first.Mark().line + 1, ": ");
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, "unknown setting '", key, "', known are ",
                       absl::StrJoin(names_, ", ")));
    }
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, "setting '", key, "' is given twice"));
    }
    CLI::Option* option = app_.get_option("--" + name);
    // Given by a flag or by the environment, which win.
    if (option->count() > 0) continue;
    std::vector<std::string> values;
    if (entry.second.IsScalar()) {
      values.push_back(entry.second.Scalar());
    } else if (entry.second.IsSequence()) {
      for (const auto& item : entry.second) values.push_back(item.Scalar());
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(where, "setting '", key,
                       "' is neither a value nor a list of values"));
    }
    if (values.empty()) continue;
    try {
      for (std::string& value : values) option->add_result(std::move(value));
      option->run_callback();
    } catch (const CLI::Error& error) {
      return absl::InvalidArgumentError(absl::StrCat(where, error.what()));
    }
  }
  return absl::OkStatus();
}

std::optional<int> Flags::Parse(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app_.exit(error);
    return code == 0 ? 0 : kExitUsage;
  }
  if (!config_.empty()) {
    if (const absl::Status status = ApplyFile(config_); !status.ok()) {
      std::cerr << program_ << ": " << status.message() << "\n";
      return kExitUsage;
    }
  }
  return std::nullopt;
}

}  // namespace epochd::program
