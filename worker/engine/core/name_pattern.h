// SPDX-License-Identifier: Apache-2.0
//
// Patterns over names of parameters. Pure, any thread.
#pragma once

#include <string_view>

namespace epochd::engine {

// Whether `pattern`, in which * stands for any characters and ? for one, fits
// the whole of `name` or a leading part of it up to a dot: `encoder` and
// `enc*` fit encoder.0.weight.
bool PatternFits(std::string_view pattern, std::string_view name);

}  // namespace epochd::engine
