// SPDX-License-Identifier: Apache-2.0
//
// Rules of single fields, as they are refused: each adds to a list where the
// field stands, what is wrong with which value, and what would be accepted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/wire/status.h"

namespace epochd::api {

// `value` in quotes, cut at 64 bytes, without control characters.
std::string Quote(const std::string& value);

// [a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?
bool IsName(const std::string& text);

// Collects violations; one object for one request.
class FieldRules {
 public:
  void Add(std::string field, std::string description);

  void Name(const std::string& field, const std::string& value);
  void InRange(const std::string& field, int64_t value, int64_t least,
               int64_t most);
  // At most 32; keys like `example.com/team`, values like `vision-2`.
  void Labels(const std::string& field,
              const std::map<std::string, std::string>& labels);
  // Relative, no "." or ".." or empty parts, no control characters.
  void RelativePath(const std::string& field, const std::string& value);
  void AbsolutePath(const std::string& field, const std::string& value);
  void Environment(const std::string& field,
                   const std::map<std::string, std::string>& variables);
  // At most `max_bytes`, no NUL.
  void Text(const std::string& field, const std::string& value,
            size_t max_bytes);

  std::vector<wire::FieldViolation>& violations() { return violations_; }

 private:
  std::vector<wire::FieldViolation> violations_;
};

}  // namespace epochd::api
