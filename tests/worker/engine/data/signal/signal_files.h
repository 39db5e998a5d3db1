// SPDX-License-Identifier: Apache-2.0
//
// A temporary folder for a test's files, and the recorded corpus.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/temp_folder.h"
#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/error.h"

namespace epochd::engine {

class SignalFiles : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_ / name; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    return folder_.Write(name, bytes);
  }

  const TempFolder folder_;
};

// A file of tests/golden/signals.
inline std::string Recorded(const std::string& name) {
  return std::string(std::getenv("EPOCHD_TEST_SOURCE_DIR")) +
         "/tests/golden/signals/" + name;
}

inline nlohmann::json RecordedJson(const std::string& name) {
  std::ifstream file(Recorded(name));
  return nlohmann::json::parse(file);
}

}  // namespace epochd::engine
