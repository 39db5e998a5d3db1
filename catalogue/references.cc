// SPDX-License-Identifier: Apache-2.0
#include "catalogue/references.h"

#include <algorithm>

#include "catalogue/component_form.h"

namespace epochd::catalogue {
namespace {

constexpr std::string_view kStart = "${ref:";

}  // namespace

std::optional<std::string> RefName(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (!text.starts_with(kStart) || !text.ends_with("}")) return std::nullopt;
  return text.substr(kStart.size(), text.size() - kStart.size() - 1);
}

bool IsNamedObject(const Json& value) {
  const auto is_one = [](const Json& each) {
    return ReadForm(each).has_value() || RefName(each).has_value();
  };
  return is_one(value) ||
         (value.is_array() && std::all_of(value.begin(), value.end(), is_one));
}

void References::Check(const std::string& name, const std::string& kind,
                       const std::string& field, const std::string& from,
                       Findings& findings) {
  std::vector<std::string> known;
  for (const auto& [key, value] : experiment_.items()) {
    if (IsNamedObject(value) && !value.empty()) known.push_back(key);
  }
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    findings.Report(field, "${ref:" + name +
                               "} names no object of the experiment" +
                               Hint(name, known));
    return;
  }
  edges_[from].insert(name);
  if (kind.empty()) return;
  const std::optional<Form> form = ReadForm(experiment_.at(name));
  if (!form) return;
  const auto found = catalogue_.FindAll(form->Name());
  const bool fits =
      std::any_of(found.begin(), found.end(),
                  [&kind](const Component* c) { return c->kind == kind; });
  if (!found.empty() && !fits) {
    findings.Report(field, "${ref:" + name + "} is " +
                               WithArticle(found.front()->kind) +
                               ", expected " + WithArticle(kind));
  }
}

void References::CheckCycles(const std::string& root,
                             Findings& findings) const {
  std::set<std::string> done;
  for (const auto& [start, unused] : edges_) {
    std::vector<std::string> path;
    Follow(start, root, path, done, findings);
  }
}

void References::Follow(const std::string& name, const std::string& root,
                        std::vector<std::string>& path,
                        std::set<std::string>& done, Findings& findings) const {
  constexpr size_t kLongest = 64;
  const auto seen = std::find(path.begin(), path.end(), name);
  if (seen != path.end()) {
    std::string circle;
    for (auto step = seen; step != path.end(); ++step) circle += *step + " -> ";
    findings.Report(AppendKey(root, name),
                    "refers to itself: " + circle + name);
    return;
  }
  if (done.contains(name) || path.size() > kLongest) return;
  path.push_back(name);
  if (const auto next = edges_.find(name); next != edges_.end()) {
    for (const std::string& target : next->second) {
      Follow(target, root, path, done, findings);
    }
  }
  path.pop_back();
  done.insert(name);
}

}  // namespace epochd::catalogue
