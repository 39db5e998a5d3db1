// SPDX-License-Identifier: Apache-2.0
//
// The files of an attempt's folder by name, and the small records in them
// (README.md draws the tree). A record is replaced by rename, so that a reader
// sees the old one or the new one, never a torn one.
//
// Plain values and functions; any thread. Standard library and nlohmann-json
// only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace epochd::link {

std::string SpecPath(const std::string& attempt_dir);  // attempt.json
std::string FilesDir(const std::string& attempt_dir);  // files
std::string RankDir(const std::string& attempt_dir, int rank);
// Of a rank's folder:
std::string EventsPath(const std::string& rank_dir);   // events.jsonl
std::string LogPath(const std::string& rank_dir);      // log
std::string ControlPath(const std::string& rank_dir);  // control.sock
std::string KeeperPath(const std::string& rank_dir);   // keeper.json
std::string ExitPath(const std::string& rank_dir);     // exit.json
std::string AckedPath(const std::string& rank_dir);    // acked.json

// A process that cannot be mistaken for a later one of the same number.
struct KeeperRecord {
  int64_t pid = 0;
  int64_t start_ticks = 0;  // field 22 of /proc/<pid>/stat
  std::string boot_id;
};

// How a rank ended. Exactly one of the first two is set.
struct ExitRecord {
  std::optional<int> exit_code;
  std::optional<int> term_signal;
  // It was ended for want of memory, by the kernel or by its own limit.
  bool oom = false;
  // Ended by the keeper on request: after SIGTERM, or SIGKILL after the grace.
  bool stopped = false;
  // Wall clock, nanoseconds since 1970.
  int64_t end_ns = 0;
};

// How far the coordinator acknowledged the rank's files, in bytes.
struct AckedRecord {
  int64_t events = 0;
  int64_t log = 0;
};

// Writes throw std::system_error naming the path.
void WriteKeeper(const std::string& rank_dir, const KeeperRecord& record);
void WriteExit(const std::string& rank_dir, const ExitRecord& record);
void WriteAcked(const std::string& rank_dir, const AckedRecord& record);

// Reads give nullopt when there is no such file, or none that can be read.
std::optional<KeeperRecord> ReadKeeper(const std::string& rank_dir);
std::optional<ExitRecord> ReadExit(const std::string& rank_dir);
std::optional<AckedRecord> ReadAcked(const std::string& rank_dir);

// Replaces `path` by a file of this content: temporary file, sync, rename.
// Throws std::system_error; the old file is then untouched.
void ReplaceFile(const std::string& path, const std::string& content,
                 bool sync);
// The whole file; nullopt when it cannot be read.
std::optional<std::string> ReadFile(const std::string& path);

}  // namespace epochd::link
