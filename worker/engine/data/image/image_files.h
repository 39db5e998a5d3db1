// SPDX-License-Identifier: Apache-2.0
//
// Which files of a folder are images of a data set. Plain functions.
#pragma once

#include <string>
#include <vector>

namespace epochd::engine {

struct ImageFileOptions {
  std::string folder;
  // Shell patterns of paths below the folder (`*` also matches `/`). Without
  // `include`: all.
  std::vector<std::string> include = {};
  std::vector<std::string> exclude = {};
};

// Paths of all .png, .jpg and .jpeg files below the folder, links followed (but
// not one that leads back to a folder around it), sorted by folder, then by
// name, as torchvision does. Throws Error(kBadSpec):
// no such folder, no image, or an image of a format that is not read (it would
// silently be missing; `exclude` leaves it out).
std::vector<std::string> ListImages(const ImageFileOptions& options);

// Names of the folders in `folder`, sorted, but for hidden ones.
std::vector<std::string> ListFolders(const std::string& folder);

// The name without folders and the last extension.
std::string StemOf(const std::string& path);

}  // namespace epochd::engine
