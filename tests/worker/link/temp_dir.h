// SPDX-License-Identifier: Apache-2.0
//
// A folder that goes away with its test, and files in it.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "tests/temp_folder.h"

namespace epochd {

using TempDir = TempFolder;

inline std::string Slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline void Append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

}  // namespace epochd
