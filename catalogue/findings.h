// SPDX-License-Identifier: Apache-2.0
//
// Violations on their way, and how all checks of this folder word them. One
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"

namespace epochd::catalogue {

class Findings {
 public:
  // Beyond a bound nobody reads on, and a hostile spec must not cost more.
  void Report(const std::string& field, std::string description);
  std::vector<Violation>& violations() { return violations_; }

 private:
  std::vector<Violation> violations_;
};

// A value as messages quote it: short, on one line.
std::string Quoted(const Json& value);
// "3", "0.5".
std::string NumberText(double value);
// "a loss", "an optimizer".
std::string WithArticle(const std::string& noun);
// "a, b, c".
std::string Joined(const std::vector<std::string>& words);
// Says what was meant, or else what there is: ", did you mean 'x'?".
std::string Hint(std::string_view word, const std::vector<std::string>& known);

}  // namespace epochd::catalogue
