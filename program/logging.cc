// SPDX-License-Identifier: Apache-2.0
#include "program/logging.h"

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "text/utf8.h"

namespace epochd::program {
namespace {

bool ChangesDirection(char32_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f ||
         (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool IsControl(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 ||
         code == 0x2029 || ChangesDirection(code);
}

std::string LevelName(spdlog::level::level_enum level) {
  const auto name = spdlog::level::to_string_view(level);
  return std::string(name.data(), name.size());
}

std::string Time(const spdlog::details::log_msg& message) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ",
                          absl::FromChrono(message.time), absl::UTCTimeZone());
}

class TextFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& out) override {
    const std::string line = absl::StrFormat(
        "%s %-8s%s\n", Time(message), LevelName(message.level),
        EscapeControls({message.payload.data(), message.payload.size()}));
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<formatter> clone() const override {
    return std::make_unique<TextFormatter>();
  }
};

class JsonFormatter : public spdlog::formatter {
 public:
  explicit JsonFormatter(std::string program) : program_(std::move(program)) {}
  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& out) override {
    const nlohmann::ordered_json record = {
        {"time", Time(message)},
        {"level", LevelName(message.level)},
        {"program", program_},
        {"pid", ::getpid()},
        {"message",
         EscapeControls({message.payload.data(), message.payload.size()})}};
    const std::string line = record.dump() + "\n";
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<formatter> clone() const override {
    return std::make_unique<JsonFormatter>(program_);
  }

 private:
  const std::string program_;
};

std::optional<spdlog::level::level_enum> ParseLevel(std::string_view name) {
  for (const auto level :
       {spdlog::level::trace, spdlog::level::debug, spdlog::level::info,
        spdlog::level::warn, spdlog::level::err, spdlog::level::off}) {
    if (LevelName(level) == name) return level;
  }
  return std::nullopt;
}

}  // namespace

std::string EscapeControls(std::string_view input) {
  std::string escaped;
  escaped.reserve(input.size());
  while (!input.empty()) {
    const text::Utf8Character first = text::DecodeFirst(input);
    const bool visible = first.length > 0 && !IsControl(first.code);
    const size_t length = std::max<size_t>(first.length, 1);
    if (visible) {
      escaped.append(input.substr(0, length));
    } else if (input[0] == '\n') {
      escaped += "\\n";
    } else if (input[0] == '\t') {
      escaped += "\\t";
    } else {
      for (const char c : input.substr(0, length)) {
        absl::StrAppendFormat(&escaped, "\\x%02x", static_cast<uint8_t>(c));
      }
    }
    input.remove_prefix(length);
  }
  return escaped;
}

absl::Status SetUpLogging(const LoggingOptions& options) {
  const auto level = ParseLevel(options.level);
  if (!level) {
    return absl::InvalidArgumentError(
        absl::StrCat("log-level: unknown level '", options.level,
                     "', use trace, debug, info, warning, error or off"));
  }
  std::string format = options.format;
  if (format == "auto") format = ::isatty(STDERR_FILENO) ? "text" : "json";
  std::unique_ptr<spdlog::formatter> formatter;
  if (format == "text") {
    formatter = std::make_unique<TextFormatter>();
  } else if (format == "json") {
    formatter = std::make_unique<JsonFormatter>(options.program);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("log-format: unknown format '", options.format,
                     "', use auto, text or json"));
  }
  auto logger = std::make_shared<spdlog::logger>(
      options.program, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(std::move(formatter));
  logger->set_level(*level);
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

}  // namespace epochd::program
