// SPDX-License-Identifier: Apache-2.0
//
// A file system layer for SQLite that fails on demand and forgets what was
// never synced, as a disk does when the power goes. Wraps the default layer;
// registered with SQLite for as long as it lives. For one test thread.
//
//   FaultVfs disk;
//   disk.FailSync(3, FaultVfs::Fault::kIoError);  // the third from now on
//   ... use SQLite with .vfs = disk.name() ...
//   disk.Unplug();        // every operation fails from here on
//   ... destroy the store ...
//   disk.LoseUnsynced();  // files are as of their last sync
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct sqlite3_file;
struct sqlite3_vfs;

namespace epochd::store {

class FaultVfs {
 public:
  enum class Fault { kNone, kIoError, kDiskFull };

  FaultVfs();
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  const std::string& name() const { return name_; }

  // The n-th write (sync) from now on fails, once; n = 1 is the next.
  void FailWrite(int n, Fault fault);
  void FailSync(int n, Fault fault);
  // From now on every write fails so, until told otherwise.
  void FailAllWrites(Fault fault) { all_writes_ = fault; }
  int num_writes() const { return num_writes_; }
  int num_syncs() const { return num_syncs_; }

  void Unplug() { unplugged_ = true; }
  // Call with no file open. Plugs in again and forgets planned faults.
  void LoseUnsynced();

 private:
  friend struct FaultFile;

  // What stood at a place before it was written over.
  struct Undo {
    std::int64_t offset;
    std::string before;
    std::int64_t size_before;
  };

  Fault OnWrite();
  Fault OnSync();

  const std::string name_;
  const std::unique_ptr<sqlite3_vfs> vfs_;
  bool unplugged_ = false;
  Fault all_writes_ = Fault::kNone;
  int num_writes_ = 0;
  int num_syncs_ = 0;
  int failing_write_ = 0;
  int failing_sync_ = 0;
  Fault write_fault_ = Fault::kNone;
  Fault sync_fault_ = Fault::kNone;
  // By path; emptied by a sync of the file.
  std::map<std::string, std::vector<Undo>> unsynced_;
};

}  // namespace epochd::store
