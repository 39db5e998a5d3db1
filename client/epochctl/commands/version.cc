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
  int code = kOk;
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
      // That nobody answers is no failure here, to be turned away is one.
      server = "no answer";
      code = ExitCode(info.status());
      if (code == kUnreachable) code = kOk;
      if (code != kOk) context.Fail(info.status());
    }
  }
  if (context.format == Format::kJson || context.format == Format::kYaml) {
    context.out << Render(json, context.format);
    return code;
  }
  context.out << "client " << program::Version() << " (" << program::Commit()
              << ")\nserver " << server << "\n";
  return code;
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
