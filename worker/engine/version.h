// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace epochd::engine {

// Version of the loaded libepochd_engine.so. Its C++ ABI is pinned by it: a
// plugin built against another major.minor must not be opened.
std::string_view EngineVersion();

}  // namespace epochd::engine
