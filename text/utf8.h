// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 as the Unicode standard has it: no overlong forms, no surrogates,
// nothing above U+10FFFF. Stateless; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace epochd::text {

// The character at the start of a text.
struct Utf8Character {
  char32_t code = 0;
  // Bytes it takes; 0: what stands there is not UTF-8.
  size_t length = 0;
};

// Decodes the first character of `text`, which must not be empty.
Utf8Character DecodeFirst(std::string_view text);

bool IsValidUtf8(std::string_view text);

}  // namespace epochd::text
