// SPDX-License-Identifier: Apache-2.0
//
// The parameters `field` and `fields` of image transforms. Plain functions.
#pragma once

#include <string>
#include <vector>

#include "worker/engine/data/image/fields.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

inline std::vector<catalogue::Parameter> ImageFieldParameters() {
  return {{.name = "field",
           .type = "string",
           .default_value = "input",
           .help = "field to change"},
          {.name = "fields",
           .type = "list<string>",
           .help = "fields to change alike, such as [input, target], in place "
                   "of `field`; pixels are those of the smallest; others are "
                   "multiples of its size"}};
}

// Of transforms that fill.
inline catalogue::Parameter LabelFillParameter() {
  return {.name = "label_fill",
          .type = "int",
          .default_value = 0,
          .help =
              "the same in fields of labels (whole numbers but bytes), such "
              "as a class that the loss ignores"};
}

inline std::vector<std::string> ImageFieldNames(const Params& params) {
  std::vector<std::string> names = params.Strings("fields");
  if (names.empty()) names.push_back(params.String("field"));
  return names;
}

inline ImageFields ImageFieldsOf(const Params& params) {
  return ImageFields(
      ImageFieldNames(params),
      static_cast<double>(params.OptionalInt("label_fill").value_or(0)));
}

}  // namespace epochd::engine
