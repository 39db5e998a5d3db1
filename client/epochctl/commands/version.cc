// SPDX-License-Identifier: Apache-2.0
#include "program/version.h"

#include <memory>

#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"

namespace epochd::epochctl {
namespace {

int Run(Context& context, bool client_only) {
  nlohmann::ordered_json json = {
      {"client",
       {{"version", program::Version()}, {"commit", program::Commit()}}}};
  std::string server = "not asked";
  if (!client_only) {
    auto client = context.Connect();
    const absl::StatusOr<v1::ServerInfo> info =
        client.ok() ? (*client)->GetServerInfo()
                    : absl::StatusOr<v1::ServerInfo>(client.status());
    if (info.ok()) {
      json["server"] = {{"version", info->version()},
                        {"commit", info->commit()}};
      server = Safe(info->version()) + " (" + Safe(info->commit()) + ")";
    } else {
      server = "no answer";
    }
  }
  if (context.format == Format::kJson || context.format == Format::kYaml) {
    context.out << Render(json, context.format);
    return kOk;
  }
  context.out << "client " << program::Version() << " (" << program::Commit()
              << ")\nserver " << server << "\n";
  return kOk;
}

}  // namespace

Command VersionCommand() {
  const auto client_only = std::make_shared<bool>(false);
  return {
      "version",
      "",
      "Print versions of client and coordinator",
      {"epochctl version", "epochctl version --client"},
      {{"--client", client_only.get(), "Of the client alone"}},
      [client_only](Context& context) { return Run(context, *client_only); }};
}

}  // namespace epochd::epochctl
