// SPDX-License-Identifier: Apache-2.0
//
// Opening files below a folder so that nothing leads out of it: every step of
// the way is opened without following links, and a step that could mean
// another place ("..", a slash, an empty name) is refused. Safe from any
// thread.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace epochd::events {

// Owns a file descriptor.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File();
  File(File&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept;

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

// True for one name of a file or folder: [A-Za-z0-9._-]{1,128}, and not made
// of dots only.
bool IsPlainName(std::string_view name);

// Opens, and makes if it is not there, the folder itself.
absl::StatusOr<File> OpenFolder(const std::string& path);

enum class Missing { kFail, kMake };

// Opens the folder named by `steps` below `root`; NotFound when it is missing
// and is not to be made.
absl::StatusOr<File> OpenFolderBeneath(const File& root,
                                       const std::vector<std::string>& steps,
                                       Missing missing);

// Opens a regular file directly in `folder`; `flags` as of open(2).
absl::StatusOr<File> OpenFileIn(const File& folder, const std::string& name,
                                int flags, mode_t mode = 0600);

// Plain names in `folder`, sorted.
absl::StatusOr<std::vector<std::string>> NamesIn(const File& folder);

// Removes the folder `name` of `folder` with its content, following no link.
// OK when there is none.
absl::Status RemoveTree(const File& folder, const std::string& name);

// Writes everything at `offset`; ResourceExhausted when the disk is full.
absl::Status WriteAt(const File& file, std::string_view data, off_t offset,
                     const std::string& subject);

// Reads up to `size` bytes; fewer only at the end of the file.
absl::StatusOr<std::string> ReadAt(const File& file, off_t offset,
                                   std::size_t size,
                                   const std::string& subject);

// What errno says, about `subject`.
absl::Status ErrnoStatus(int error, const std::string& subject,
                         const char* problem);

}  // namespace epochd::events
