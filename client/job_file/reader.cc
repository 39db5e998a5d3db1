// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/reader.h"

#include <algorithm>
#include <string>

#include "client/job_file/json_reader.h"
#include "client/job_file/yaml_reader.h"
#include "text/utf8.h"

namespace epochd::client {
namespace {

Position PositionOf(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t line_start = before.rfind('\n');
  return {static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(line_start == std::string_view::npos
                               ? offset
                               : offset - line_start - 1) +
              1};
}

// Finds what no text file holds; true: there was something.
bool RefuseBytes(std::string_view text, Document& document) {
  if (text.size() > kMaxFileBytes) {
    document.problems.push_back(
        {{1, 1},
         "",
         "file of " + std::to_string(text.size()) + " bytes is too large, " +
             std::to_string(kMaxFileBytes) + " are accepted"});
    return true;
  }
  size_t i = 0;
  while (i < text.size()) {
    const text::Utf8Character character = text::DecodeFirst(text.substr(i));
    if (character.length == 0 || character.code == 0) {
      document.problems.push_back({PositionOf(text, i), "",
                                   character.length == 0
                                       ? "bytes that are not UTF-8"
                                       : "a NUL character is not accepted"});
      return true;
    }
    i += character.length;
  }
  return false;
}

bool IsJsonObject(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         Json::accept(text);
}

}  // namespace

Document ReadDocument(std::string_view text, bool is_json) {
  Document document;
  if (RefuseBytes(text, document)) return document;
  if (is_json || IsJsonObject(text)) {
    ReadJson(text, document);
  } else {
    ReadYaml(text, document);
  }
  return document;
}

}  // namespace epochd::client
