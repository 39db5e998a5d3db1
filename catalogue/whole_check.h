// SPDX-License-Identifier: Apache-2.0
//
// What only the whole experiment shows, once every part was checked: whether
// what a component needs is there, and whether a score that is asked for is
// one that anything gives. Stateless.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "catalogue/findings.h"

namespace epochd::catalogue {

// A component that the experiment uses, or would by default.
struct Use {
  const Component* component = nullptr;
  // The mapping of its parameters; part of the experiment or the catalogue.
  const Json* parameters = nullptr;
  std::string field;
};

// A value of type `score`.
struct AskedScore {
  std::string field;
  std::string name;
};

class WholeCheck {
 public:
  // All outlive the check.
  WholeCheck(const Catalogue& catalogue, const Component& component,
             const Json& experiment, const std::string& root)
      : catalogue_(catalogue),
        component_(component),
        experiment_(experiment),
        root_(root) {}

  // Adds the experiment itself, and the components that stand in for what is
  // not given: defaults of its parameters, unless one of that kind is used
  // anyway.
  void AddDefaults(std::vector<Use>& uses) const;
  // A need with a slash is a score that another component gives: a model that
  // computes its loss itself needs none beside it.
  void CheckNeeds(const std::vector<Use>& uses, Findings& findings) const;
  // Component::one_of.
  void CheckOneOf(const std::vector<Use>& uses, Findings& findings) const;
  // Rule::Check::kAlike: splits of one data set by two seeds would overlap.
  void CheckAlike(const std::vector<Use>& uses, Findings& findings) const;
  // Losses where a runner computes them: what they read, and whose they are.
  // A loss may not be called as the sum of losses is, nor two metrics alike.
  void CheckNames(const std::vector<Use>& uses, Findings& findings) const;
  void CheckLosses(const std::vector<Use>& uses, Findings& findings) const;
  void CheckScores(const std::vector<Use>& uses,
                   const std::vector<AskedScore>& asked,
                   Findings& findings) const;

 private:
  std::string Task() const;
  // Whether the component that stands where `need` says has the role it wants.
  void CheckRole(const Use& use, const Need& need, Findings& findings) const;
  // Finds the value at a field like `trainer.training_criterion`, under any
  // alias and behind any reference; nullptr: there is none.
  const Json* Find(std::string_view field) const;
  const Json* Find(const Component& component, const Json& parameters,
                   std::string_view field) const;
  const Json& Followed(const Json& value) const;
  // What `use` says for a parameter, or its default; references followed.
  const Json& ValueOf(const Use& use, std::string_view parameter) const;
  // Tells in what `use` is not like `other` though the rule says so.
  void CheckAlike(const Rule& rule, const Use& use, const Use& other,
                  Findings& findings) const;
  // The losses in `value`, which stands at `field`, references followed, each
  // name once; those that a loss consists of in its place.
  void Losses(const Json& value, const std::string& field,
              std::vector<Use>& losses, std::set<std::string>& followed,
              int depth = 0) const;
  void CheckLoss(const Use& loss, const LossPlace& place,
                 const Component& runner, Findings& findings) const;

  const Catalogue& catalogue_;
  const Component& component_;
  const Json& experiment_;
  const std::string& root_;
};

}  // namespace epochd::catalogue
