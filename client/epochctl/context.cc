// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/context.h"

#include "client/epochctl/exit_code.h"
#include "client/epochctl/words.h"
#include "net/channel.h"
#include "proto/wire/status.h"

namespace epochd::epochctl {

absl::StatusOr<std::unique_ptr<client::Client>> Context::Connect() const {
  const absl::StatusOr<Settings> read = ReadSettings(settings, environment);
  if (!read.ok()) return read.status();
  const absl::StatusOr<net::ChannelOptions> options = ToChannelOptions(*read);
  if (!options.ok()) return options.status();
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
      net::MakeChannel(*options);
  if (!channel.ok()) return channel.status();
  return std::make_unique<client::Client>(*std::move(channel));
}

int Context::Fail(const absl::Status& status) const {
  err << err_style.Paint("error:", terminal::Color::kRed) << " "
      << OneLine(std::string(status.message())) << "\n";
  const auto violations = wire::Violations(status);
  for (const wire::FieldViolation& violation : violations) {
    // A single one is the message.
    if (violations.size() == 1) break;
    err << "  " << Safe(violation.field) << ": " << Safe(violation.description)
        << "\n";
  }
  const int code = ExitCode(status);
  if (code == kUnreachable) {
    const absl::StatusOr<Settings> read = ReadSettings(settings, environment);
    if (read.ok()) {
      err << "is a coordinator running at " << Safe(read->server)
          << "? (--server, EPOCHD_SERVER)\n";
    }
  } else if (absl::IsUnauthenticated(status)) {
    err << "the coordinator wrote its token into its state folder; give it "
           "with --token-file or EPOCHD_TOKEN_FILE\n";
  }
  return code;
}

void Context::Warn(const std::string& text) const {
  err << err_style.Paint("warning:", terminal::Color::kYellow) << " "
      << Safe(text) << "\n";
}

bool Context::PrintMessage(const google::protobuf::Message& message) const {
  if (format != Format::kJson && format != Format::kYaml) return false;
  out << Render(ToJson(message), format);
  return true;
}

}  // namespace epochd::epochctl
