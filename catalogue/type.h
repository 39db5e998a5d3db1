// SPDX-License-Identifier: Apache-2.0
//
// The type of a parameter, parsed from its spelling in the catalogue
// (`list<component<hook>>`). A plain value.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace epochd::catalogue {

struct Type {
  enum class Kind {
    kBool,
    kInt,
    kFloat,
    kString,
    kPath,
    kDuration,
    kSize,
    kEvery,
    kScore,
    kCheckpoint,
    kConstant,
    kExpression,
    kAny,
    kMap,
    kList,
    kSection,
    kComponent,
  };
  Kind kind = Kind::kAny;
  // Type of the values of a list or map; nullptr: any.
  std::shared_ptr<const Type> element;
  // The kind of a component, the name of a section.
  std::string argument;
};

// Throws std::invalid_argument naming the spelling that is no type.
Type ParseType(std::string_view spelling);

}  // namespace epochd::catalogue
