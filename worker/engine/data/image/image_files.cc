// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/image_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void RefuseFolder(const std::string& folder,
                               const std::string& problem) {
  throw Error(ErrorKind::kBadSpec,
              "image folder \"" + folder + "\": " + problem);
}

std::string LowerExtension(const fs::path& path) {
  std::string extension = path.extension();
  for (char& c : extension) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return extension;
}

bool IsOneOf(std::string_view word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* each) { return word == each; });
}

bool MatchesAny(const std::string& path,
                const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& each) {
    return fnmatch(each.c_str(), path.c_str(), 0) == 0;
  });
}

}  // namespace

std::vector<std::string> ListImages(const ImageFileOptions& options) {
  std::error_code error;
  const fs::path root(options.folder);
  // The folders around an entry, links resolved: one that leads back to any of
  // them brings nothing new, and would never end.
  std::vector<fs::path> around = {fs::canonical(root, error)};
  fs::recursive_directory_iterator entries(
      root, fs::directory_options::follow_directory_symlink, error);
  // By folder, then by name.
  std::vector<std::pair<std::string, std::string>> found;
  for (; !error && entries != fs::recursive_directory_iterator();
       entries.increment(error)) {
    std::error_code ignored;
    const fs::path& path = entries->path();
    if (entries->is_directory(ignored)) {
      around.resize(static_cast<size_t>(entries.depth()) + 1);
      fs::path folder = fs::canonical(path, ignored);
      if (std::find(around.begin(), around.end(), folder) != around.end()) {
        entries.disable_recursion_pending();
      }
      around.push_back(std::move(folder));
      continue;
    }
    const std::string below = path.lexically_relative(root);
    // A link that leads nowhere is an image that cannot be read.
    const bool is_dead_link =
        entries->is_symlink(ignored) && !entries->exists(ignored);
    if (!is_dead_link && !entries->is_regular_file(ignored)) continue;
    const std::string extension = LowerExtension(path);
    const bool is_read = IsOneOf(extension, {".png", ".jpg", ".jpeg"});
    const bool is_other =
        IsOneOf(extension, {".ppm", ".bmp", ".pgm", ".pbm", ".pnm", ".tif",
                            ".tiff", ".webp", ".gif", ".jpe", ".jfif", ".jp2",
                            ".jxl", ".avif", ".heic", ".heif"});
    if (!is_read && !is_other) continue;
    if (MatchesAny(below, options.exclude)) continue;
    if (!options.include.empty() && !MatchesAny(below, options.include)) {
      continue;
    }
    if (is_other) {
      RefuseFolder(options.folder, "holds \"" + below +
                                       "\"; .png, .jpg and .jpeg are read; "
                                       "`exclude` leaves out others");
    }
    found.emplace_back(path.parent_path(), path.filename());
  }
  if (error) RefuseFolder(options.folder, error.message());
  if (found.empty()) {
    RefuseFolder(options.folder,
                 options.include.empty() && options.exclude.empty()
                     ? "holds no .png, .jpg or .jpeg file"
                     : "no .png, .jpg or .jpeg file in it is chosen by "
                       "`include` and `exclude`");
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (const auto& [folder, name] : found) {
    paths.push_back(fs::path(folder) / name);
  }
  return paths;
}

std::vector<std::string> ListFolders(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    std::error_code ignored;
    std::string name = entries->path().filename();
    // Such as .ipynb_checkpoints, which is no class.
    if (!name.starts_with('.') && entries->is_directory(ignored)) {
      names.push_back(std::move(name));
    }
  }
  if (error) RefuseFolder(folder, error.message());
  std::sort(names.begin(), names.end());
  return names;
}

std::string StemOf(const std::string& path) { return fs::path(path).stem(); }

}  // namespace epochd::engine
