// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/checkpoint/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kUnfinished[] = ".unfinished-";
constexpr char kManifest[] = "manifest.json";
constexpr int64_t kMaxManifestBytes = 1 << 20;
constexpr int64_t kMaxJsonBytes = 64 << 20;

[[noreturn]] void Refuse(const std::string& path, const std::string& problem) {
  throw Error(ErrorKind::kInfrastructure, "\"" + path + "\": " + problem);
}

Json ReadJson(const std::string& path, int64_t limit) {
  Json json = Json::parse(ReadWhole(path, limit), nullptr,
                          /*allow_exceptions=*/false);
  if (!json.is_object()) Refuse(path, "no JSON object");
  return json;
}

// What a listing needs to know, of all that is in state.json.
Json About(const Json& state) {
  Json about = Json::object();
  for (const char* key : {"epoch", "batch", "step", "scores", "best"}) {
    auto found = state.find(key);
    if (found != state.end()) about[key] = *found;
  }
  return about;
}

// Removes the folder unless told that it has its place.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(std::string path) : path_(std::move(path)) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    std::error_code error;
    fs::create_directories(path_, error);
    if (error) Refuse(path_, "cannot create: " + error.message());
  }
  ~UnfinishedFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;
  void Finished() { path_.clear(); }
  std::string Of(const char* name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

SavedCheckpoint WriteCheckpoint(const std::string& folder,
                                const Snapshot& snapshot) {
  const fs::path place(folder);
  const std::string parent = place.parent_path();
  UnfinishedFolder unfinished(parent + "/" + kUnfinished +
                              place.filename().string());
  Json files = Json::object();
  SavedCheckpoint saved{.path = folder};
  auto add = [&](const char* name, const FileSummary& summary) {
    files[name] = {{"bytes", summary.bytes}, {"sha256", summary.sha256}};
    saved.bytes += summary.bytes;
  };
  add("model.safetensors",
      WriteSafetensors(unfinished.Of("model.safetensors"), snapshot.model,
                       {{"format", "pt"}}));
  add("state.safetensors",
      WriteSafetensors(unfinished.Of("state.safetensors"), snapshot.state));
  add("state.json", WriteDurable(unfinished.Of("state.json"),
                                 {snapshot.json.dump(1) + "\n"}));
  const std::string manifest =
      Json{{"version", 1}, {"about", About(snapshot.json)}, {"files", files}}
          .dump(1) +
      "\n";
  const FileSummary summary =
      WriteDurable(unfinished.Of(kManifest), {manifest});
  saved.bytes += summary.bytes;
  saved.manifest_sha256 = summary.sha256;
  SyncFolder(unfinished.path());
  if (std::rename(unfinished.path().c_str(), folder.c_str()) != 0) {
    Refuse(folder, std::string("cannot rename: ") + std::strerror(errno));
  }
  unfinished.Finished();
  SyncFolder(parent);
  return saved;
}

Snapshot ReadCheckpoint(const std::string& folder) {
  const Json manifest = ReadJson(folder + "/" + kManifest, kMaxManifestBytes);
  if (manifest.value("version", 0) != 1 || !manifest.contains("files")) {
    Refuse(folder, "manifest.json is of another version; 1 is accepted");
  }
  for (const char* name :
       {"model.safetensors", "state.safetensors", "state.json"}) {
    const std::string path = folder + "/" + name;
    auto entry = manifest["files"].find(name);
    if (entry == manifest["files"].end()) {
      Refuse(path, "the manifest does not list it");
    }
    const FileSummary found = Summarise(path);
    if (found.bytes != entry->value("bytes", int64_t{-1})) {
      Refuse(path, std::to_string(found.bytes) + " bytes; the manifest says " +
                       entry->value("bytes", Json()).dump());
    }
    if (found.sha256 != entry->value("sha256", "")) {
      Refuse(path, "damaged: its hash is not the manifest's");
    }
  }
  return {ReadSafetensors(folder + "/model.safetensors"),
          ReadSafetensors(folder + "/state.safetensors"),
          ReadJson(folder + "/state.json", kMaxJsonBytes), folder};
}

std::optional<CheckpointInfo> ReadCheckpointInfo(const std::string& folder) {
  try {
    Json about = ReadJson(folder + "/" + kManifest, kMaxManifestBytes)
                     .value("about", Json());
    // Those of older versions say it in the state alone.
    if (!about.is_object()) {
      about = About(ReadJson(folder + "/state.json", kMaxJsonBytes));
    }
    CheckpointInfo info{.path = folder};
    info.epoch = about.value("epoch", int64_t{0});
    info.batch = about.value("batch", int64_t{0});
    info.step = about.value("step", int64_t{0});
    info.scores = about.value("scores", Json::object());
    info.best = about.value("best", Json::object());
    return info;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::vector<CheckpointInfo> ListCheckpoints(const std::string& parent) {
  std::vector<CheckpointInfo> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    std::error_code ignored;
    if (entry.is_symlink(ignored) ||
        entry.path().filename().string().starts_with(kUnfinished)) {
      continue;
    }
    if (auto info = ReadCheckpointInfo(entry.path())) {
      found.push_back(std::move(*info));
    }
  }
  std::sort(found.begin(), found.end(),
            [](const CheckpointInfo& a, const CheckpointInfo& b) {
              return std::tie(a.step, a.epoch, a.path) <
                     std::tie(b.step, b.epoch, b.path);
            });
  return found;
}

void PointAt(const std::string& parent, const std::string& link,
             const std::string& name) {
  const std::string place = parent + "/" + link;
  const std::string beside = parent + "/" + kUnfinished + link;
  std::error_code error;
  fs::remove_all(beside, error);
  fs::create_directory_symlink(name, beside, error);
  if (error) Refuse(place, "cannot link: " + error.message());
  if (std::rename(beside.c_str(), place.c_str()) != 0) {
    Refuse(place, std::string("cannot rename: ") + std::strerror(errno));
  }
  SyncFolder(parent);
}

void RemoveUnfinished(const std::string& parent) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    if (entry.path().filename().string().starts_with(kUnfinished)) {
      found.push_back(entry.path());
    }
  }
  for (const fs::path& path : found) fs::remove_all(path, error);
}

}  // namespace epochd::engine
