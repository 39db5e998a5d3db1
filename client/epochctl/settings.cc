// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/settings.h"

#include <utility>

#include "client/job_file/job_file.h"
#include "client/job_file/reader.h"
#include "client/job_file/section.h"
#include "net/channel.h"
#include "net/token.h"
#include "program/file.h"
#include "program/home.h"

namespace epochd::epochctl {
namespace {

std::string Variable(const terminal::Environment& environment,
                     const char* name) {
  const char* value = environment(name);
  return value == nullptr ? "" : value;
}

std::string DefaultConfig(const terminal::Environment& environment) {
  const std::string base = Variable(environment, "XDG_CONFIG_HOME");
  if (!base.empty()) return base + "/epochd/config.yaml";
  const std::string home = Variable(environment, "HOME");
  return home.empty() ? "" : home + "/.config/epochd/config.yaml";
}

std::string WithHome(const std::string& path,
                     const terminal::Environment& environment) {
  return path.starts_with("~/") ? Variable(environment, "HOME") + path.substr(1)
                                : path;
}

std::string Absent(const std::string& context, const std::string& path) {
  return "context: there is no '" + context + "' in '" + path + "'";
}

absl::Status ApplyContext(const std::string& path, std::string name,
                          const terminal::Environment& environment,
                          Settings& settings) {
  constexpr size_t kMostBytes = client::kMaxFileBytes;
  const absl::StatusOr<std::string> text = program::ReadFile(path, kMostBytes);
  if (!text.ok()) return text.status();
  client::Document document = client::ReadDocument(*text);
  if (document.problems.empty() && document.value.is_null()) {
    document.value = client::Json::object();
  }
  if (document.problems.empty()) {
    client::Section top(document, "");
    const auto current = top.Text("current_context");
    if (name.empty()) name = current.value_or("");
    const client::Json* contexts = top.Take("contexts");
    top.Finish();
    if (!name.empty()) {
      if (contexts == nullptr || !contexts->is_object() ||
          !contexts->contains(name)) {
        return absl::InvalidArgumentError(Absent(name, path));
      }
      client::Section context(document, catalogue::AppendKey("contexts", name));
      const auto path_of = [&](const char* key) {
        return WithHome(context.Text(key).value_or(""), environment);
      };
      settings.server = context.Text("server").value_or(settings.server);
      settings.token_file = path_of("token_file");
      settings.tls.ca = path_of("tls_ca");
      settings.tls.cert = path_of("tls_cert");
      settings.tls.key = path_of("tls_key");
      if (const client::Json* insecure = context.Take("insecure")) {
        settings.insecure = insecure->is_boolean() && insecure->get<bool>();
        if (!insecure->is_boolean()) {
          context.Report("insecure", "expected true or false, got " +
                                         client::Quoted(*insecure));
        }
      }
      context.Finish();
    }
  }
  if (document.problems.empty()) return absl::OkStatus();
  client::JobFile file;
  file.sources.push_back({path, ""});
  file.problems = document.problems;
  return absl::InvalidArgumentError(file.Describe().front());
}

void Override(std::string& value, const std::string& from_flag,
              const std::string& from_environment) {
  if (!from_environment.empty()) value = from_environment;
  if (!from_flag.empty()) value = from_flag;
}

}  // namespace

absl::StatusOr<Settings> ReadSettings(
    const SettingsFlags& flags, const terminal::Environment& environment) {
  Settings settings;
  std::string config = DefaultConfig(environment);
  Override(config, flags.config, Variable(environment, "EPOCHD_CONFIG"));
  std::string context;
  Override(context, flags.context, Variable(environment, "EPOCHD_CONTEXT"));
  if (!config.empty()) {
    const absl::Status status =
        ApplyContext(config, context, environment, settings);
    const bool is_asked_for = !flags.config.empty() || !context.empty();
    if (!status.ok() && (!absl::IsNotFound(status) || is_asked_for)) {
      return absl::IsNotFound(status) && flags.config.empty()
                 ? absl::InvalidArgumentError(Absent(context, config))
                 : status;
    }
  }
  Override(settings.server, flags.server,
           Variable(environment, "EPOCHD_SERVER"));
  Override(settings.token_file, flags.token_file,
           Variable(environment, "EPOCHD_TOKEN_FILE"));
  Override(settings.tls.ca, flags.tls_ca,
           Variable(environment, "EPOCHD_TLS_CA"));
  Override(settings.tls.cert, flags.tls_cert,
           Variable(environment, "EPOCHD_TLS_CERT"));
  Override(settings.tls.key, flags.tls_key,
           Variable(environment, "EPOCHD_TLS_KEY"));
  const std::string insecure = Variable(environment, "EPOCHD_INSECURE");
  if (flags.insecure || insecure == "1" || insecure == "true") {
    settings.insecure = true;
  }
  return settings;
}

absl::StatusOr<net::ChannelOptions> ToChannelOptions(const Settings& settings) {
  net::ChannelOptions options;
  options.server = settings.server;
  options.tls = settings.tls;
  options.insecure = settings.insecure;
  const bool is_default = settings.token_file.empty();
  const std::string path =
      is_default ? program::DefaultTokenFile() : settings.token_file;
  absl::StatusOr<net::Token> token = net::LoadToken(path);
  if (token.ok()) {
    options.token = *std::move(token);
  } else if (!is_default || !absl::IsNotFound(token.status())) {
    // Whatever is wrong with it, without a token nothing is allowed.
    return absl::UnauthenticatedError("token: " +
                                      std::string(token.status().message()));
  }
  return options;
}

}  // namespace epochd::epochctl
