// SPDX-License-Identifier: Apache-2.0
//
// Folders of recordings, and folders of such folders. Errors are
// Error(kBadSpec) naming the folder. One thread.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace epochd::engine {

// Paths of what a folder holds, in order. Throws where it cannot be read.
std::vector<std::string> EntriesOf(const std::string& folder);

// Calls `take` with `folder`; where that is false, as the folder holds no
// recording, looks in the same way through the folders in it, in order. Each
// folder once, whatever links lead to it: `seen` are those looked at. False:
// none of them was taken, now or before.
bool VisitFolders(const std::string& folder, std::set<std::string>& seen,
                  const std::function<bool(const std::string& folder)>& take);

// Where `path` lies below `records`, a folder or a file in one; recordings of
// several folders may have one name.
std::string PlaceBelow(const std::string& records, const std::string& path);

}  // namespace epochd::engine
