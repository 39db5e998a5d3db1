// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/style.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace epochd::terminal {
namespace {

bool IsSet(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value != nullptr && *value != '\0';
}

// Follows the order in which the C library looks.
bool SaysUtf8(const Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!IsSet(environment, name)) continue;
    std::string value = environment(name);
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos ||
           value.find("utf8") != std::string::npos;
  }
  return false;
}

const char* Code(Color color) {
  switch (color) {
    case Color::kRed:
      return "31";
    case Color::kGreen:
      return "32";
    case Color::kYellow:
      return "33";
    case Color::kBlue:
      return "34";
    case Color::kMagenta:
      return "35";
    case Color::kCyan:
      return "36";
    case Color::kDim:
      return "2";
    case Color::kNone:
      break;
  }
  return nullptr;
}

}  // namespace

std::string Style::Paint(std::string_view text, Color color_of_text) const {
  const char* code = Code(color_of_text);
  if (!color || code == nullptr || text.empty()) return std::string(text);
  return std::string("\x1b[") + code + "m" + std::string(text) + "\x1b[0m";
}

Style DetectStyle(int fd, std::string_view color_flag,
                  const Environment& environment) {
  Style style;
  const char* term = environment("TERM");
  const bool is_dumb = term != nullptr && std::string_view(term) == "dumb";
  const bool is_tty = isatty(fd) != 0;
  style.is_terminal = is_tty && !is_dumb;
  if (color_flag == "always") {
    style.color = true;
  } else if (color_flag != "never") {
    const char* force = environment("CLICOLOR_FORCE");
    const bool forced = force != nullptr && *force != '\0' && *force != '0';
    style.color =
        !IsSet(environment, "NO_COLOR") && (style.is_terminal || forced);
  }
  style.unicode = SaysUtf8(environment) && !is_dumb;
  winsize size = {};
  if (is_tty && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = size.ws_col;
    style.height = size.ws_row;
  }
  if (IsSet(environment, "COLUMNS")) {
    const int columns = std::atoi(environment("COLUMNS"));
    if (columns > 0) style.width = columns;
  }
  style.width = std::clamp(style.width, 20, 1000);
  return style;
}

}  // namespace epochd::terminal
