// SPDX-License-Identifier: Apache-2.0
//
// Small files that came with jobs, kept once per content under their SHA-256:
// <root>/<first two digits>/<hash>. Names that users gave are not used here.
// A file is there whole or not at all. Safe from any thread; an Upload belongs
// to one thread at a time and must not outlive the store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/events/beneath.h"

namespace epochd::events {

class FileStore {
 public:
  struct Options {
    std::string root;
    std::int64_t max_file_bytes = std::int64_t{16} << 20;
  };

  // One file on its way in. Destroying it before Finish leaves nothing.
  class Upload {
   public:
    ~Upload();
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    // ResourceExhausted above the size limit or when the disk is full.
    absl::Status Append(std::string_view data);
    // Checks the hash (InvalidArgument), syncs and puts the file in place.
    // Returns its size.
    absl::StatusOr<std::int64_t> Finish();

   private:
    friend class FileStore;
    struct Digest;
    Upload(const FileStore& store, std::string sha256, std::string temp_name,
           File file);

    const FileStore& store_;
    const std::string sha256_;
    const std::string temp_name_;
    File file_;
    const std::unique_ptr<Digest> digest_;
    std::int64_t size_ = 0;
  };

  // Removes what uploads left behind that a crash cut off.
  static absl::StatusOr<std::unique_ptr<FileStore>> Open(Options options);
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;

  // `sha256`: lower-case hex of the content to come (InvalidArgument if not).
  absl::StatusOr<std::unique_ptr<Upload>> Begin(const std::string& sha256);

  // Size of a file that is there and from now on counts as used; NotFound.
  absl::StatusOr<std::int64_t> Use(const std::string& sha256);
  // Up to `max_bytes` from `offset` on, empty at the end; NotFound.
  absl::StatusOr<std::string> Read(const std::string& sha256,
                                   std::int64_t offset,
                                   std::int64_t max_bytes) const;

  // Hashes of all files.
  absl::StatusOr<std::vector<std::string>> List() const;
  // Removes a file that was neither uploaded nor used since `cutoff`, by the
  // wall clock. OK also when it stays, or is not there.
  absl::Status RemoveUnlessUsedSince(const std::string& sha256,
                                     absl::Time cutoff);

  const Options& options() const { return options_; }

 private:
  FileStore(Options options, File root, File incoming)
      : options_(std::move(options)),
        root_(std::move(root)),
        incoming_(std::move(incoming)) {}

  absl::StatusOr<File> OpenStored(const std::string& sha256) const;

  const Options options_;
  const File root_;
  const File incoming_;
  // Held while a file's time of use is set, or looked at to remove the file.
  mutable absl::Mutex use_mutex_;
};

// True for 64 lower-case hex digits.
bool IsSha256(std::string_view text);

}  // namespace epochd::events
