// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/defaults.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "absl/status/statusor.h"
#include "catalogue/component_form.h"
#include "client/job_file/reader.h"
#include "client/job_file/section.h"
#include "program/file.h"

namespace epochd::client {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKey = "defaults";

// Tells whether `over` is about another component than `base`.
bool IsAnother(const Json& base, const Json& over) {
  const auto before = catalogue::ReadForm(base);
  const auto after = catalogue::ReadForm(over);
  return before && after &&
         (before->Name() != after->Name() || before->key != after->key);
}

// Gives the places at and below `field`.
void CopyPlaces(const Positions& from, const std::string& field,
                Positions& to) {
  for (auto it = from.lower_bound(field);
       it != from.end() && it->first.starts_with(field); ++it) {
    if (it->first.size() == field.size() || it->first[field.size()] == '.' ||
        it->first[field.size()] == '[') {
      to.insert_or_assign(it->first, it->second);
    }
  }
}

void Merge(Json& base, Positions& places, const Json& over,
           const Positions& over_places, const std::string& path) {
  for (const auto& [key, value] : over.items()) {
    const std::string field = catalogue::AppendKey(path, key);
    const auto found = base.find(key);
    if (value.is_null()) {
      if (found != base.end()) base.erase(found);
      ErasePositions(places, field);
    } else if (found != base.end() && found->is_object() && value.is_object() &&
               !IsAnother(*found, value)) {
      CopyPlaces({{field, Locate(over_places, field)}}, field, places);
      Merge(*found, places, value, over_places, field);
    } else {
      base[key] = value;
      ErasePositions(places, field);
      CopyPlaces(over_places, field, places);
    }
  }
}

class Loader {
 public:
  explicit Loader(std::vector<Source>& sources) : sources_(sources) {}

  // Lays `document`, of sources_[file], over its defaults.
  void Apply(Document& document, int file) {
    const std::vector<std::string> entries = TakeEntries(document);
    if (entries.empty()) return;
    Document base;
    base.value = Json::object();
    for (size_t i = 0; i < entries.size(); ++i) {
      const std::string field = catalogue::AppendIndex(kKey, i);
      std::optional<Document> read =
          Read(entries[i], file, Locate(document.positions, field), field,
               document.problems);
      if (read) Lay(base, *std::move(read));
    }
    Lay(base, std::move(document));
    document = std::move(base);
  }

 private:
  static std::vector<std::string> TakeEntries(Document& document) {
    std::vector<std::string> entries;
    if (!document.value.is_object()) return entries;
    const auto found = document.value.find(kKey);
    if (found == document.value.end()) return entries;
    if (found->is_string()) {
      entries.push_back(found->get<std::string>());
    } else {
      const size_t num_problems = document.problems.size();
      entries = Section(document, "").Texts(kKey);
      // As in Read(): of the file as a whole.
      for (size_t i = num_problems; i < document.problems.size(); ++i) {
        Problem& problem = document.problems[i];
        problem.message = problem.field + ": " + problem.message;
        problem.field.clear();
      }
    }
    document.value.erase(kKey);
    return entries;
  }

  static void Lay(Document& base, Document over) {
    std::move(over.problems.begin(), over.problems.end(),
              std::back_inserter(base.problems));
    if (!over.value.is_object()) {
      if (!over.value.is_null()) base.value = std::move(over.value);
      return;
    }
    Merge(base.value, base.positions, over.value, over.positions, "");
  }

  std::optional<Document> Read(const std::string& entry, int from,
                               const Position& place, const std::string& field,
                               std::vector<Problem>& problems) {
    const auto refuse = [&](const std::string& message) {
      // Without it, what follows would only give wrong findings: a problem of
      // the file as a whole.
      problems.push_back({place, "", field + ": " + message});
      return std::nullopt;
    };
    const std::string path =
        (fs::path(sources_[static_cast<size_t>(from)].folder) / entry)
            .lexically_normal()
            .string();
    if (entry.empty() || entry.find('\0') != std::string::npos) {
      return refuse("expected the path of a file, got " + Quoted(entry));
    }
    if (std::find(open_.begin(), open_.end(), path) != open_.end()) {
      return refuse("leads back to itself: '" + path + "'");
    }
    if (sources_.size() > kMaxDefaultsFiles) {
      return refuse("more than " + std::to_string(kMaxDefaultsFiles) +
                    " files of defaults, the most accepted");
    }
    const absl::StatusOr<std::string> text =
        program::ReadFile(path, 2 * kMaxFileBytes);
    if (!text.ok()) return refuse(std::string(text.status().message()));
    const int file = static_cast<int>(sources_.size());
    sources_.push_back({path, fs::path(path).parent_path().string()});
    Document document =
        ReadDocument(*text, fs::path(path).extension() == ".json");
    for (auto& [at, position] : document.positions) position.file = file;
    for (Problem& problem : document.problems) problem.position.file = file;
    if (!document.value.is_object() && document.problems.empty()) {
      document.problems.push_back(
          {{1, 1, file},
           "",
           "expected a mapping, got " + Quoted(document.value)});
      document.value = nullptr;
    }
    open_.push_back(path);
    Apply(document, file);
    open_.pop_back();
    return document;
  }

  std::vector<Source>& sources_;
  // Paths that are being read, from the outermost.
  std::vector<std::string> open_;
};

size_t CountValues(const Json& value) {
  size_t count = 1;
  if (!value.is_structured()) return count;
  for (const Json& child : value) count += CountValues(child);
  return count;
}

}  // namespace

void ApplyDefaults(Document& document, std::vector<Source>& sources) {
  Loader(sources).Apply(document, 0);
  if (sources.size() > 1 && CountValues(document.value) > kMaxValues) {
    document.problems.push_back({{1, 1},
                                 "",
                                 "with its defaults more than " +
                                     std::to_string(kMaxValues) +
                                     " values, the most accepted"});
  }
}

}  // namespace epochd::client
