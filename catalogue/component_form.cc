// SPDX-License-Identifier: Apache-2.0
#include "catalogue/component_form.h"

namespace epochd::catalogue {

std::string Form::Name() const {
  return name->is_string() ? name->get<std::string>() : "";
}

bool Form::IsOwnKey(std::string_view other) const {
  if (IsNested()) return false;
  if (other == key) return true;
  return key == "_target_" && (other == "_partial_" || other == "_recursive_" ||
                               other == "_convert_");
}

std::optional<Form> ReadForm(const Json& value) {
  if (!value.is_object()) return std::nullopt;
  std::optional<Form> form;
  for (const char* key : {"type", "_target", "_target_"}) {
    const auto found = value.find(key);
    if (found == value.end()) continue;
    if (form) {
      form->second_key = key;
      break;
    }
    form = Form{key, {}, &*found, &value};
  }
  if (!form || !form->IsNested()) return form;
  static const Json kNone = Json::object();
  const auto given = value.find("params");
  if (given == value.end() || given->is_null()) {
    form->parameters = &kNone;
  } else {
    form->parameters = given->is_object() ? &*given : nullptr;
  }
  return form;
}

}  // namespace epochd::catalogue
