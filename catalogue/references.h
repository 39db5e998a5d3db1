// SPDX-License-Identifier: Apache-2.0
//
// `${ref:name}`: which named objects an experiment has, and who refers to
// whom. Lives during one check; one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "catalogue/findings.h"

namespace epochd::catalogue {

// Gives x of `${ref:x}`.
std::optional<std::string> RefName(const Json& value);

// Tells whether a key of the experiment with this value is a named object: a
// component, a reference, or a list of these, which may be empty.
bool IsNamedObject(const Json& value);

class References {
 public:
  References(const Catalogue& catalogue, const Json& experiment)
      : catalogue_(catalogue), experiment_(experiment) {}

  // Checks that `name` is an object of the experiment, of `kind` if not empty.
  // `from`: the key of the experiment below which it is referred to.
  void Check(const std::string& name, const std::string& kind,
             const std::string& field, const std::string& from,
             Findings& findings);
  // Refuses objects that are made of themselves.
  void CheckCycles(const std::string& root, Findings& findings) const;

 private:
  void Follow(const std::string& name, const std::string& root,
              std::vector<std::string>& path, std::set<std::string>& done,
              Findings& findings) const;

  const Catalogue& catalogue_;
  const Json& experiment_;
  std::map<std::string, std::set<std::string>> edges_;
};

}  // namespace epochd::catalogue
