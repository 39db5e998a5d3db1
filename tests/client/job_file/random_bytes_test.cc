// SPDX-License-Identifier: Apache-2.0
//
// Whatever the bytes, a job file is read to an end: a spec or problems, each
// at a place in the file.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "client/job_file/job_file.h"
#include "tests/catalogue/fixture.h"

namespace epochd::client {
namespace {

std::string Example(const std::string& name) {
  std::ifstream file(std::string(std::getenv("EPOCHD_TEST_SOURCE_DIR")) +
                     "/examples/" + name);
  EXPECT_TRUE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

void Check(const std::string& text, const catalogue::Catalogue& catalogue) {
  LoadOptions options;
  options.catalogue = &catalogue;
  for (const char* name : {"job.yaml", "job.json"}) {
    const JobFile file = ParseJobFile(name, text, "/folder", options);
    for (const Problem& problem : file.problems) {
      ASSERT_GE(problem.position.line, 1) << problem.message;
      ASSERT_GE(problem.position.column, 1) << problem.message;
    }
    ASSERT_EQ(file.Describe().size(), file.problems.size());
    if (file.problems.empty()) {
      ASSERT_TRUE(file.spec.has_command() ||
                  !file.spec.experiment_json().empty());
    }
  }
}

TEST(RandomBytes, NeverBreakTheReader) {
  const catalogue::Catalogue catalogue = catalogue::Fixture();
  std::mt19937_64 random(1);
  const std::string alphabet = "{}[]:,-?&*!|>'\"%@`#\n \t\\.~=<$ab01e\x80\xff";
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    const size_t length = random() % 200;
    for (size_t j = 0; j < length; ++j) {
      text += i % 4 == 0 ? static_cast<char>(random() % 256)
                         : alphabet[random() % alphabet.size()];
    }
    Check(text, catalogue);
    if (HasFatalFailure()) FAIL() << "round " << i;
  }
}

TEST(RandomBytes, NeverBreakTheReaderWhenAnExampleIsDamaged) {
  const catalogue::Catalogue catalogue = catalogue::Fixture();
  std::mt19937_64 random(2);
  const std::string good = Example("digits.yaml");
  for (int i = 0; i < 400; ++i) {
    std::string text = good;
    const int num_changes = 1 + static_cast<int>(random() % 5);
    for (int j = 0; j < num_changes && !text.empty(); ++j) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, random() % 20);
          break;
        default:
          text.insert(at, good.substr(random() % good.size(), 30));
      }
    }
    Check(text, catalogue);
    if (HasFatalFailure()) FAIL() << "round " << i;
  }
}

}  // namespace
}  // namespace epochd::client
