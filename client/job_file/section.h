// SPDX-License-Identifier: Apache-2.0
//
// Reads one mapping of a job file key by key; whatever is not read when
// Finish() comes is an unknown key. Every reader reports what is wrong at its
// place and then gives nothing. Lives on the stack, beside the document.
//
//   Section limits(document, "limits");
//   if (auto time = limits.Duration("max_time")) ...
//   limits.Finish();
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/job_file/document.h"

namespace epochd::client {

class Section {
 public:
  // The mapping at `field` ("" for the whole). Absent or null: empty.
  Section(Document& document, std::string field);

  // The value of `key`, nullptr when absent or null.
  const Json* Take(const std::string& key);
  // Path of `key`.
  std::string FieldOf(std::string_view key) const;

  std::optional<std::string> Text(const std::string& key);
  // One of `choices`.
  std::optional<std::string> Choice(const std::string& key,
                                    const std::vector<std::string>& choices);
  std::optional<int64_t> Integer(const std::string& key, int64_t min,
                                 int64_t max);
  // Seconds.
  std::optional<double> Duration(const std::string& key);
  std::optional<catalogue::Every> Every(const std::string& key);
  std::optional<int64_t> Bytes(const std::string& key);
  std::vector<std::string> Texts(const std::string& key);
  std::map<std::string, std::string> TextMap(const std::string& key);

  void Report(std::string_view key, std::string message);
  // Reports the keys that nothing took.
  void Finish();

 private:
  Document& document_;
  const std::string field_;
  const Json* mapping_ = nullptr;
  std::vector<std::string> known_;
};

// A value as it is quoted in messages: short, on one line.
std::string Quoted(const Json& value);

}  // namespace epochd::client
