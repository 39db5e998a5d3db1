// SPDX-License-Identifier: Apache-2.0
//
// A job file, from its text to what is sent: read, laid over its defaults,
// overridden, substituted, checked against the component catalogue, its paths
// made absolute, the files that it carries along read and hashed. All that is
// wrong is found at once and printed with file, line and column.
//
//   JobFile file = LoadJobFile("job.yaml", options);
//   for (const std::string& line : file.Describe()) std::cerr << line << '\n';
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/job_file/defaults.h"
#include "client/job_file/document.h"
#include "epochd/v1/job.pb.h"

namespace epochd::client {

struct CarriedFile {
  std::string path;  // as in JobSpec.files
  std::string sha256;
  std::string content;
};

struct JobFile {
  // The file itself, then those that it builds on.
  std::vector<Source> sources;
  // Complete only when there is no problem.
  v1::JobSpec spec;
  std::vector<CarriedFile> files;
  Positions positions;
  std::vector<Problem> problems;

  // Adds what a server found, at the place of the field.
  void Report(const std::string& field, const std::string& message);
  // `file:line:column: field: message`, in the order of the file.
  std::vector<std::string> Describe() const;
};

struct LoadOptions {
  // Not owned; nullptr: the experiment is not checked, and its paths stay as
  // they are.
  const catalogue::Catalogue* catalogue = nullptr;
  // FIELD=VALUE each.
  std::vector<std::string> overrides;
  // Largest sum of the carried files.
  int64_t max_files_bytes = 64 * 1024 * 1024;
};

// Reads the file at `path`, "-" for standard input. The status is about the
// file itself (NOT_FOUND, PERMISSION_DENIED); faults of the content are in
// `problems`.
absl::StatusOr<JobFile> LoadJobFile(const std::string& path,
                                    const LoadOptions& options);

// The same from a text; `folder`: where relative paths start.
JobFile ParseJobFile(const std::string& name, const std::string& text,
                     const std::string& folder, const LoadOptions& options);

}  // namespace epochd::client
