// SPDX-License-Identifier: Apache-2.0
#include "program/logging.h"

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace epochd::program {
namespace {

// Returns the length of the valid UTF-8 sequence at the start of `text`, or 0.
size_t SequenceLength(std::string_view text, uint32_t& code) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  size_t length = 0;
  uint32_t least = 0;
  if (lead < 0x80) {
    code = lead;
    return 1;
  } else if ((lead & 0xe0) == 0xc0) {
    length = 2, least = 0x80, code = lead & 0x1f;
  } else if ((lead & 0xf0) == 0xe0) {
    length = 3, least = 0x800, code = lead & 0x0f;
  } else if ((lead & 0xf8) == 0xf0) {
    length = 4, least = 0x10000, code = lead & 0x07;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < least || code > 0x10ffff || surrogate ? 0 : length;
}

bool ChangesDirection(uint32_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f ||
         (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool IsControl(uint32_t code) {
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

std::string EscapeControls(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    uint32_t code = 0;
    size_t length = SequenceLength(text, code);
    const bool visible = length > 0 && !IsControl(code);
    if (length == 0) length = 1;
    if (visible) {
      escaped.append(text.substr(0, length));
    } else if (text[0] == '\n') {
      escaped += "\\n";
    } else if (text[0] == '\t') {
      escaped += "\\t";
    } else {
      for (const char c : text.substr(0, length)) {
        absl::StrAppendFormat(&escaped, "\\x%02x", static_cast<uint8_t>(c));
      }
    }
    text.remove_prefix(length);
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
