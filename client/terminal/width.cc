// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/width.h"

#include <locale.h>
#include <wchar.h>

#include <algorithm>

#include "text/utf8.h"

namespace epochd::terminal {
namespace {

// Asks the C library under a UTF-8 locale, whatever that of the process is.
size_t CharacterWidth(char32_t code) {
  if (code < 0x7f) return 1;
  static const locale_t utf8 =
      newlocale(LC_CTYPE_MASK, "C.UTF-8", static_cast<locale_t>(nullptr));
  if (utf8 == static_cast<locale_t>(nullptr)) return 1;
  const locale_t before = uselocale(utf8);
  const int width = wcwidth(static_cast<wchar_t>(code));
  uselocale(before);
  return static_cast<size_t>(std::max(width, 0));
}

}  // namespace

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) {
    const text::Utf8Character character = text::DecodeFirst(text.substr(i));
    width += character.length == 0 ? 1 : CharacterWidth(character.code);
    i += std::max<size_t>(character.length, 1);
  }
  return width;
}

std::string Fit(std::string_view text, size_t width, bool unicode) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::string result;
  size_t used = 0;
  for (size_t i = 0; i < text.size();) {
    const text::Utf8Character character = text::DecodeFirst(text.substr(i));
    const size_t length = std::max<size_t>(character.length, 1);
    const size_t columns =
        character.length == 0 ? 1 : CharacterWidth(character.code);
    if (used + columns > width - 1) break;
    result += text.substr(i, length);
    used += columns;
    i += length;
  }
  return result + (unicode ? "…" : "~");
}

std::string PadRight(std::string_view text, size_t width) {
  const size_t used = DisplayWidth(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string PadLeft(std::string_view text, size_t width) {
  const size_t used = DisplayWidth(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}

}  // namespace epochd::terminal
