// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/job_file.h"

#include <openssl/sha.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "client/job_file/overrides.h"
#include "client/job_file/reader.h"
#include "client/job_file/section.h"
#include "client/job_file/spec_builder.h"
#include "client/job_file/substitute.h"
#include "program/file.h"
#include "program/logging.h"

namespace epochd::client {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExperiment = "experiment";

std::string Sha256Hex(const std::string& content) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(content.data()), content.size(),
         digest);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

// Makes a job's name of the file's.
std::string DefaultName(const std::string& file) {
  std::string name;
  for (unsigned char c : fs::path(file).stem().string()) {
    const bool accepted = std::isalnum(c) != 0 && c < 0x80;
    if (accepted) {
      name += static_cast<char>(std::tolower(c));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  constexpr size_t kLongestName = 63;
  name = name.substr(0, kLongestName);
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "job" : name;
}

// job/ID/last, or as a job is called elsewhere, jobs/ID/last.
bool IsOfJob(const std::string& text) {
  if (text.starts_with("job/")) return true;
  const size_t slash = text.find('/');
  const size_t last = text.rfind('/');
  return text.starts_with("jobs/") && slash + 1 < last &&
         text.find('/', slash + 1) == last &&
         (text.substr(last) == "/best" || text.substr(last) == "/last");
}

std::string Absolute(const std::string& path, const std::string& folder) {
  return (fs::path(folder) / path).lexically_normal().string();
}

// Tells whether `path` stays below the folder that it is placed in.
bool IsInside(const std::string& path) {
  const fs::path parsed(path);
  if (path.empty() || parsed.is_absolute() ||
      path.find('\0') != std::string::npos || !parsed.has_filename()) {
    return false;
  }
  return std::none_of(parsed.begin(), parsed.end(),
                      [](const fs::path& part) { return part == ".."; });
}

// Where the paths at `field` start: the folder of the file that says it.
const std::string& FolderOf(const Document& document,
                            const std::vector<Source>& sources,
                            const std::string& field) {
  const Position place = Locate(document.positions, field);
  return sources[static_cast<size_t>(place.file)].folder;
}

void CheckExperiment(Document& document, const LoadOptions& options,
                     const std::vector<Source>& sources, v1::JobSpec& spec) {
  if (!document.value.contains(kExperiment)) return;
  Json& experiment = document.value.at(kExperiment);
  if (options.catalogue != nullptr) {
    catalogue::ValidateOptions validate;
    validate.root = kExperiment;
    if (spec.resources().replicas().max() > 0) {
      validate.max_replicas = spec.resources().replicas().max();
    }
    catalogue::Validated validated =
        catalogue::Validate(*options.catalogue, experiment, validate);
    for (catalogue::Violation& violation : validated.violations) {
      document.Report(violation.field, std::move(violation.description));
    }
    for (const std::string& field : validated.paths) {
      Json* path = FindField(document.value, field);
      if (path != nullptr && path->is_string()) {
        *path = Absolute(path->get<std::string>(),
                         FolderOf(document, sources, field));
      }
    }
  } else if (!experiment.is_object() && !experiment.is_null()) {
    document.Report(kExperiment,
                    "expected a mapping, got " + Quoted(experiment));
  }
  // A checkpoint is named by its job or by its folder.
  for (const char* key : {"load_from", "resume"}) {
    Json* checkpoint = FindField(experiment, key);
    if (checkpoint == nullptr || !checkpoint->is_string()) continue;
    const auto text = checkpoint->get<std::string>();
    if (text.empty() || IsOfJob(text) || text.starts_with("$") ||
        text == "auto" || text == "never") {
      continue;
    }
    *checkpoint = Absolute(
        text,
        FolderOf(document, sources, catalogue::AppendKey(kExperiment, key)));
  }
  if (!spec.has_command() && experiment.is_object()) {
    spec.set_experiment_json(experiment.dump());
  }
}

void CarryFiles(Document& document, const LoadOptions& options,
                const std::vector<Source>& sources, v1::JobSpec& spec,
                std::vector<CarriedFile>& files) {
  Section top(document, "");
  const std::vector<std::string> paths = top.Texts("files");
  int64_t budget = options.max_files_bytes;
  std::set<std::string> seen;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string field = catalogue::AppendIndex("files", i);
    const std::string path = fs::path(paths[i]).lexically_normal().string();
    if (!IsInside(paths[i])) {
      document.Report(field,
                      "expected a path below the job file's folder, "
                      "without '..', got " +
                          Quoted(paths[i]));
      continue;
    }
    if (!seen.insert(path).second) {
      document.Report(field, "given twice " + Quoted(paths[i]));
      continue;
    }
    const std::string absolute =
        Absolute(path, FolderOf(document, sources, field));
    struct stat info = {};
    if (stat(absolute.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
      document.Report(field, "no such file '" + absolute + "'");
      continue;
    }
    absl::StatusOr<std::string> content =
        program::ReadFile(absolute, static_cast<size_t>(budget));
    if (!content.ok()) {
      document.Report(field, absl::IsResourceExhausted(content.status())
                                 ? "too large, all files together may have " +
                                       std::to_string(options.max_files_bytes) +
                                       " bytes"
                                 : std::string(content.status().message()));
      continue;
    }
    budget -= static_cast<int64_t>(content->size());
    CarriedFile file{path, Sha256Hex(*content), *std::move(content)};
    v1::FileRef& reference = *spec.add_files();
    reference.set_path(file.path);
    reference.set_sha256(file.sha256);
    reference.set_size_bytes(static_cast<int64_t>(file.content.size()));
    reference.set_executable((info.st_mode & S_IXUSR) != 0);
    files.push_back(std::move(file));
  }
}

}  // namespace

void JobFile::Report(const std::string& field, const std::string& message) {
  problems.push_back({Locate(positions, field), field, message});
}

std::vector<std::string> JobFile::Describe() const {
  std::vector<Problem> sorted = problems;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Problem& a, const Problem& b) {
                     const auto key = [](const Position& place) {
                       return std::tuple(place.file, place.line, place.column);
                     };
                     return key(a.position) < key(b.position);
                   });
  std::vector<std::string> lines;
  for (const Problem& problem : sorted) {
    std::string line = sources[static_cast<size_t>(problem.position.file)].name;
    if (problem.position.line > 0) {
      line += ":" + std::to_string(problem.position.line) + ":" +
              std::to_string(problem.position.column);
    } else if (!problem.field.empty()) {
      line = "--set";
    }
    line += ": ";
    if (!problem.field.empty()) line += problem.field + ": ";
    lines.push_back(program::EscapeControls(line + problem.message));
  }
  return lines;
}

JobFile ParseJobFile(const std::string& name, const std::string& text,
                     const std::string& folder, const LoadOptions& options) {
  JobFile file;
  file.sources.push_back({name, folder});
  Document document = ReadDocument(text, fs::path(name).extension() == ".json");
  ApplyDefaults(document, file.sources);
  // What could not be read whole would only give wrong findings.
  const bool is_whole = std::all_of(
      document.problems.begin(), document.problems.end(),
      [](const Problem& problem) { return !problem.field.empty(); });
  if (is_whole) {
    for (const std::string& text_override : options.overrides) {
      ApplyOverride(document, text_override);
    }
    file.spec = BuildSpec(document, DefaultName(name));
    if (document.value.is_object()) {
      Substitute(document, kExperiment);
      CheckExperiment(document, options, file.sources, file.spec);
      CarryFiles(document, options, file.sources, file.spec, file.files);
      if (!file.spec.storage().empty()) {
        file.spec.set_storage(Absolute(
            file.spec.storage(), FolderOf(document, file.sources, "storage")));
      }
    }
  }
  file.positions = std::move(document.positions);
  file.problems = std::move(document.problems);
  // One fault is said once, whoever finds it.
  std::set<std::pair<std::string, std::string>> seen;
  std::erase_if(file.problems, [&seen](const Problem& problem) {
    return !problem.field.empty() &&
           !seen.emplace(problem.field, problem.message).second;
  });
  return file;
}

absl::StatusOr<JobFile> LoadJobFile(const std::string& path,
                                    const LoadOptions& options) {
  std::error_code error;
  if (path == "-") {
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    return ParseJobFile("<stdin>", text, fs::current_path(error).string(),
                        options);
  }
  if (fs::is_directory(path, error)) {
    return absl::InvalidArgumentError(path +
                                      ": is a folder, a job file is accepted");
  }
  // More than accepted, so that the reader says what is wrong.
  constexpr size_t kMostBytes = 64 * kMaxFileBytes;
  absl::StatusOr<std::string> text = program::ReadFile(path, kMostBytes);
  if (!text.ok()) return text.status();
  return ParseJobFile(
      path, *text, fs::absolute(path, error).parent_path().string(), options);
}

}  // namespace epochd::client
