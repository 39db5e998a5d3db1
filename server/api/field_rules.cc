// SPDX-License-Identifier: Apache-2.0
#include "server/api/field_rules.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "catalogue/catalogue.h"

namespace epochd::api {
namespace {

constexpr size_t kMaxLabels = 32;
constexpr size_t kMaxVariables = 128;
constexpr size_t kMaxPathBytes = 1024;
constexpr size_t kMaxPartBytes = 255;

bool IsAlnum(char c) { return absl::ascii_isalnum(static_cast<uint8_t>(c)); }

bool HasControl(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<uint8_t>(c));
  });
}

// Begins and ends with a letter or digit, of these and `also` in between.
bool IsWord(const std::string& text, std::string_view also, size_t max_bytes) {
  return !text.empty() && text.size() <= max_bytes && IsAlnum(text.front()) &&
         IsAlnum(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return IsAlnum(c) || also.find(c) != std::string_view::npos;
         });
}

bool IsVariableName(const std::string& name) {
  return !name.empty() && name.size() <= 128 &&
         !absl::ascii_isdigit(static_cast<uint8_t>(name[0])) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return IsAlnum(c) || c == '_'; });
}

// What is wrong with the parts of a path; empty: nothing.
std::string PathProblem(const std::string& path) {
  if (path.size() > kMaxPathBytes) {
    return absl::StrCat(path.size(), " bytes long, at most ", kMaxPathBytes,
                        " are accepted");
  }
  if (HasControl(path)) {
    return absl::StrCat("control character in ", Quote(path));
  }
  for (const auto part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == "." || part == "..") {
      return absl::StrCat("part '", part, "' in ", Quote(path),
                          ", names between single slashes are accepted");
    }
    if (part.size() > kMaxPartBytes) {
      return absl::StrCat("name of ", part.size(), " bytes in ", Quote(path),
                          ", at most ", kMaxPartBytes, " are accepted");
    }
  }
  return "";
}

}  // namespace

std::string Quote(const std::string& value) {
  const bool cut = value.size() > 64;
  return absl::StrCat("'", absl::Utf8SafeCHexEscape(value.substr(0, 64)),
                      cut ? "..." : "", "'");
}

bool IsName(const std::string& text) {
  return IsWord(text, "-", 63) && absl::AsciiStrToLower(text) == text;
}

void FieldRules::Add(std::string field, std::string description) {
  violations_.push_back({std::move(field), std::move(description)});
}

void FieldRules::Name(const std::string& field, const std::string& value) {
  if (IsName(value)) return;
  Add(field, absl::StrCat("bad name ", Quote(value),
                          ", lower-case letters, digits and '-' inside are "
                          "accepted, at most 63"));
}

void FieldRules::InRange(const std::string& field, int64_t value, int64_t least,
                         int64_t most) {
  if (value >= least && value <= most) return;
  Add(field, absl::StrCat("'", value, "' is out of range, ", least, " to ",
                          most, " is accepted"));
}

void FieldRules::Labels(const std::string& field,
                        const std::map<std::string, std::string>& labels) {
  if (labels.size() > kMaxLabels) {
    Add(field, absl::StrCat(labels.size(), " labels, at most ", kMaxLabels,
                            " are accepted"));
    return;
  }
  for (const auto& [key, value] : labels) {
    const std::string here = catalogue::AppendKey(field, key);
    if (!IsWord(key, "-_./", 63)) {
      Add(here, absl::StrCat("bad label name ", Quote(key),
                             ", letters, digits and '-_./' inside are "
                             "accepted, at most 63"));
    }
    if (!value.empty() && !IsWord(value, "-_.", 63)) {
      Add(here, absl::StrCat("bad label value ", Quote(value),
                             ", letters, digits and '-_.' inside are "
                             "accepted, at most 63"));
    }
  }
}

void FieldRules::RelativePath(const std::string& field,
                              const std::string& value) {
  if (!value.empty() && value.front() == '/') {
    Add(field, absl::StrCat("absolute path ", Quote(value),
                            ", a path relative to the work folder is "
                            "accepted"));
    return;
  }
  const std::string problem = PathProblem(value);
  if (!problem.empty()) Add(field, problem);
}

void FieldRules::AbsolutePath(const std::string& field,
                              const std::string& value) {
  if (value.empty() || value.front() != '/') {
    Add(field, absl::StrCat("relative path ", Quote(value),
                            ", an absolute path is accepted"));
    return;
  }
  if (value == "/") return;
  const std::string problem = PathProblem(value.substr(1));
  if (!problem.empty()) Add(field, problem);
}

void FieldRules::Environment(
    const std::string& field,
    const std::map<std::string, std::string>& variables) {
  if (variables.size() > kMaxVariables) {
    Add(field, absl::StrCat(variables.size(), " variables, at most ",
                            kMaxVariables, " are accepted"));
    return;
  }
  for (const auto& [name, value] : variables) {
    const std::string here = catalogue::AppendKey(field, name);
    if (!IsVariableName(name)) {
      Add(here, absl::StrCat("bad variable name ", Quote(name),
                             ", letters, digits and '_' are accepted, no "
                             "digit first"));
    } else if (name.rfind("EPOCHD_", 0) == 0) {
      Add(here, absl::StrCat("variable ", Quote(name),
                             " is epochd's own, any name without the prefix "
                             "'EPOCHD_' is accepted"));
    }
    Text(here, value, 32 << 10);
  }
}

void FieldRules::Text(const std::string& field, const std::string& value,
                      size_t max_bytes) {
  if (value.size() > max_bytes) {
    Add(field, absl::StrCat(value.size(), " bytes long, at most ", max_bytes,
                            " are accepted"));
  } else if (value.find('\0') != std::string::npos) {
    Add(field, absl::StrCat("NUL byte in ", Quote(value),
                            ", text without is accepted"));
  }
}

}  // namespace epochd::api
