// SPDX-License-Identifier: Apache-2.0
//
// How many columns of a terminal a UTF-8 text takes: none for combining marks,
// two for wide characters. Texts must hold no control characters (see
// program::EscapeControls). Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace epochd::terminal {

size_t DisplayWidth(std::string_view text);

// Cuts `text` to `width` columns; what is cut ends in "…" ("~" in ASCII).
std::string Fit(std::string_view text, size_t width, bool unicode = true);

// Appends blanks up to `width` columns.
std::string PadRight(std::string_view text, size_t width);
std::string PadLeft(std::string_view text, size_t width);

}  // namespace epochd::terminal
