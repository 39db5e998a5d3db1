// SPDX-License-Identifier: Apache-2.0
//
// What a command works with: its streams, what they may show, the clock, the
// way to the coordinator. Made by main() or a test; outlives the command.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/api/client.h"
#include "client/epochctl/output.h"
#include "client/epochctl/settings.h"
#include "client/terminal/style.h"

namespace epochd::epochctl {

struct Context {
  std::ostream& out;  // results
  std::ostream& err;  // progress, warnings, errors
  terminal::Environment environment;
  std::function<absl::Time()> now;
  // Folder of this program, where the others are.
  std::string bin_dir;
  terminal::Style out_style;
  terminal::Style err_style;

  // From the flags that every command takes.
  SettingsFlags settings = {};
  Format format = Format::kTable;
  bool no_headers = false;
  bool quiet = false;

  // Does not wait for a connection.
  absl::StatusOr<std::unique_ptr<client::Client>> Connect() const;

  // Says what went wrong and gives the exit code for it.
  int Fail(const absl::Status& status) const;
  void Warn(const std::string& text) const;

  // Prints a message where -o asks for JSON or YAML; false: it does not.
  bool PrintMessage(const google::protobuf::Message& message) const;
  // The same for a list under `key`.
  template <typename Messages>
  bool PrintMessages(const char* key, const Messages& messages) const {
    if (format != Format::kJson && format != Format::kYaml) return false;
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& message : messages) list.push_back(ToJson(message));
    out << Render({{key, std::move(list)}}, format);
    return true;
  }
};

}  // namespace epochd::epochctl
