// SPDX-License-Identifier: Apache-2.0
#include "catalogue/catalogue.h"

#include <algorithm>
#include <cctype>

namespace epochd::catalogue {
namespace {

bool Has(const Component& component, std::string_view name) {
  return component.name == name ||
         std::find(component.aliases.begin(), component.aliases.end(), name) !=
             component.aliases.end();
}

// Gives what stands behind the last dot.
std::string_view LastPart(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

}  // namespace

const Component* Catalogue::Find(std::string_view kind,
                                 std::string_view name) const {
  for (std::string_view wanted : {name, LastPart(name)}) {
    for (const Component& component : components) {
      if (component.kind == kind && Has(component, wanted)) return &component;
    }
  }
  return nullptr;
}

std::vector<const Component*> Catalogue::FindAll(std::string_view name) const {
  std::vector<const Component*> found;
  for (std::string_view wanted : {name, LastPart(name)}) {
    for (const Component& component : components) {
      if (Has(component, wanted)) found.push_back(&component);
    }
    if (!found.empty()) break;
  }
  return found;
}

std::string AppendKey(std::string_view path, std::string_view key) {
  const bool plain =
      !key.empty() && key.size() <= 128 &&
      std::all_of(key.begin(), key.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '/';
      });
  std::string result(path);
  if (plain) {
    if (!result.empty()) result += '.';
    return result += key;
  }
  // Escapes what is not ASCII text, and cuts what is too long to be read.
  const Json quoted = std::string(key.substr(0, 128));
  return result + "[" +
         quoted.dump(-1, ' ', true, Json::error_handler_t::replace) + "]";
}

std::string AppendIndex(std::string_view path, size_t index) {
  return std::string(path) + "[" + std::to_string(index) + "]";
}

}  // namespace epochd::catalogue
