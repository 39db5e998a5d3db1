// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/build_scope.h"

#include "catalogue/references.h"
#include "worker/engine/core/error.h"
#include "worker/engine/core/told_by.h"

namespace epochd::engine {
namespace {

[[noreturn]] void RefuseAt(const std::string& path,
                           const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, path + ": " + problem);
}

// `problem` of the component at `path`, behind that path, unless a path below
// `root` is there already: that of a part of it. A problem that begins with a
// parameter, `upscale: 5`, says which of them it is of.
std::string WithPath(const std::string& root, const std::string& path,
                     const std::string& problem) {
  if (problem.starts_with(root + ".") || problem.starts_with(root + "[") ||
      problem.starts_with(path)) {
    return problem;
  }
  const size_t word = problem.find_first_not_of(
      "abcdefghijklmnopqrstuvwxyz_"
      "0123456789");
  const bool has_parameter = word != 0 && word != std::string::npos &&
                             (problem[word] == ':' || problem[word] == '[');
  return path + (has_parameter ? "." : ": ") + problem;
}

}  // namespace

std::string ReferenceName(const catalogue::Json& value) {
  return catalogue::RefName(value).value_or("");
}

const catalogue::Json& BuildScope::Follow(const catalogue::Json& value,
                                          const std::string& path) const {
  const catalogue::Json* at = &value;
  // References to references end in a component, or never.
  for (int hops = 0;; ++hops) {
    const std::string name = ReferenceName(*at);
    if (name.empty()) return *at;
    auto found = experiment_.find(name);
    if (found == experiment_.end()) {
      RefuseAt(path, "no object is called \"" + name + "\"");
    }
    if (hops > 64) RefuseAt(path, "\"" + name + "\" refers to itself");
    at = &*found;
  }
}

BuildScope::Resolved BuildScope::Resolve(const std::string& kind,
                                         const catalogue::Json& value,
                                         const std::string& path) const {
  const catalogue::Json& given = Follow(value, path);
  const std::string name = ComponentName(given);
  if (name.empty()) {
    RefuseAt(path, "not a " + kind + ": " + given.dump() +
                       "; a mapping {type: Name, ...} is accepted");
  }
  Resolved resolved;
  resolved.component = registry_.Find(kind, name);
  if (resolved.component == nullptr) {
    std::vector<std::string> known;
    for (const catalogue::Component& each : registry_.catalogue().components) {
      if (each.kind == kind) known.push_back(each.name);
    }
    std::string list;
    for (const std::string& each : known) {
      list += (list.empty() ? "" : ", ") + each;
    }
    RefuseAt(path,
             "no " + kind + " is called \"" + name + "\"; there are " + list);
  }
  resolved.values = Complete(*resolved.component, given);
  return resolved;
}

std::shared_ptr<void> BuildScope::Make(std::type_index type,
                                       const catalogue::Json& value,
                                       const std::string& path) {
  const std::string name = ReferenceName(value);
  if (!name.empty()) return Reference(type, name, path);
  for (const auto& [key, ignored] : experiment_.items()) {
    if (path == catalogue::AppendKey(root_, key)) {
      return Reference(type, key, path);
    }
  }
  return Build(type, value, path);
}

// Builders take their component's declaration for granted.
void BuildScope::CheckDeclared(const std::string& kind,
                               const catalogue::Json& value,
                               const std::string& path) const {
  std::string problems;
  for (const catalogue::Violation& each : catalogue::ValidateComponent(
           registry_.catalogue(), kind, value, path, experiment_)) {
    problems +=
        (problems.empty() ? "" : "\n") + each.field + ": " + each.description;
  }
  if (!problems.empty()) throw Error(ErrorKind::kBadSpec, problems);
}

std::shared_ptr<void> BuildScope::Build(std::type_index type,
                                        const catalogue::Json& value,
                                        const std::string& path) {
  const std::string& kind = registry_.KindOf(type);
  Resolved resolved = Resolve(kind, value, path);
  CheckDeclared(kind, value, path);
  const Params params(resolved.values, path, *this);
  try {
    return registry_.MakerOf(*resolved.component)(params);
  } catch (const Error& error) {
    throw Error(error.kind(), WithPath(root_, path, error.what()));
  } catch (const std::exception& error) {
    // LibTorch's and the standard library's own, such as for sizes that no
    // memory holds.
    throw Error(ErrorKind::kBadSpec, WithPath(root_, path, ToldBy(error)));
  }
}

const catalogue::Json& BuildScope::FollowList(const catalogue::Json& value,
                                              std::string& path) const {
  const auto found = experiment_.find(ReferenceName(value));
  if (found == experiment_.end() || !found->is_array()) return value;
  path = catalogue::AppendKey(root_, found.key());
  return *found;
}

std::vector<std::shared_ptr<void>> BuildScope::MakeList(
    std::type_index type, const catalogue::Json& given,
    const std::string& given_path) {
  std::string path = given_path;
  const catalogue::Json& value = FollowList(given, path);
  std::vector<std::shared_ptr<void>> made;
  if (value.is_null()) return made;
  if (!value.is_array()) {
    made.push_back(Make(type, value, path));
    return made;
  }
  for (size_t i = 0; i < value.size(); ++i) {
    made.push_back(Make(type, value[i], catalogue::AppendIndex(path, i)));
  }
  return made;
}

std::shared_ptr<void> BuildScope::Reference(std::type_index type,
                                            const std::string& name,
                                            const std::string& path) {
  auto known = named_.find(name);
  if (known != named_.end()) {
    if (known->second.object == nullptr) {
      RefuseAt(path, "\"" + name + "\" refers to itself in a circle");
    }
    if (known->second.type != type) {
      RefuseAt(path, "\"" + name + "\" is a " +
                         registry_.KindOf(known->second.type) + ", not a " +
                         registry_.KindOf(type));
    }
    return known->second.object;
  }
  auto value = experiment_.find(name);
  if (value == experiment_.end()) {
    RefuseAt(path, "no object is called \"" + name + "\"");
  }
  named_.emplace(name, Named{type, nullptr});
  const std::string next = ReferenceName(*value);
  std::shared_ptr<void> object =
      next.empty() ? Build(type, *value, catalogue::AppendKey(root_, name))
                   : Reference(type, next, path);
  named_.at(name).object = object;
  return object;
}

const std::vector<NamedTensor>& BuildScope::OptimizerTargets(
    const std::string& path) const {
  auto found = targets_.find(path);
  if (found == targets_.end()) found = targets_.find("");
  if (found == targets_.end()) {
    RefuseAt(path, "there is no model whose parameters it could update");
  }
  return found->second;
}

}  // namespace epochd::engine
