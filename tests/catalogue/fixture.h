// SPDX-License-Identifier: Apache-2.0
//
// A small catalogue written by hand, in the shape that trainers print.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "catalogue/catalogue.h"

namespace epochd::catalogue {

inline std::string FixturePath() {
  const char* root = std::getenv("EPOCHD_TEST_SOURCE_DIR");
  return std::string(root == nullptr ? "." : root) +
         "/tests/catalogue/fixture.json";
}

inline Json FixtureJson() {
  std::ifstream file(FixturePath());
  EXPECT_TRUE(file.good()) << FixturePath();
  return Json::parse(file);
}

inline Catalogue Fixture() { return FromJson(FixtureJson()); }

}  // namespace epochd::catalogue
