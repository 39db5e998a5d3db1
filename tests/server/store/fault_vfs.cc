// SPDX-License-Identifier: Apache-2.0
#include "tests/server/store/fault_vfs.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <stdexcept>

namespace epochd::store {

// SQLite allocates this and, right behind it, the file of the layer below.
struct FaultFile {
  sqlite3_file base;
  FaultVfs* disk;
  const char* path;

  static FaultFile& Of(sqlite3_file* file) {
    return *reinterpret_cast<FaultFile*>(file);
  }
  static sqlite3_file* Below(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(&Of(file) + 1);
  }

  static int Open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file,
                  int flags, int* out_flags);
  static int Close(sqlite3_file* file);
  static int Read(sqlite3_file* file, void* data, int size,
                  sqlite3_int64 offset);
  static int Write(sqlite3_file* file, const void* data, int size,
                   sqlite3_int64 offset);
  static int Truncate(sqlite3_file* file, sqlite3_int64 size);
  static int Sync(sqlite3_file* file, int flags);
  static int FileSize(sqlite3_file* file, sqlite3_int64* size);
  static int Delete(sqlite3_vfs* vfs, const char* path, int sync_folder);

  // Notes what `size` bytes at `offset` hold before they change.
  void Remember(sqlite3_int64 offset, sqlite3_int64 size);
};

namespace {

sqlite3_vfs* Default() { return sqlite3_vfs_find(nullptr); }

int Code(FaultVfs::Fault fault, int io_error) {
  return fault == FaultVfs::Fault::kDiskFull ? SQLITE_FULL : io_error;
}

const sqlite3_io_methods* Methods() {
  static const sqlite3_io_methods methods = {
      .iVersion = 2,
      .xClose = FaultFile::Close,
      .xRead = FaultFile::Read,
      .xWrite = FaultFile::Write,
      .xTruncate = FaultFile::Truncate,
      .xSync = FaultFile::Sync,
      .xFileSize = FaultFile::FileSize,
      .xLock =
          [](sqlite3_file* f, int level) {
            auto* below = FaultFile::Below(f);
            return below->pMethods->xLock(below, level);
          },
      .xUnlock =
          [](sqlite3_file* f, int level) {
            auto* below = FaultFile::Below(f);
            return below->pMethods->xUnlock(below, level);
          },
      .xCheckReservedLock =
          [](sqlite3_file* f, int* out) {
            auto* below = FaultFile::Below(f);
            return below->pMethods->xCheckReservedLock(below, out);
          },
      .xFileControl =
          [](sqlite3_file* f, int op, void* arg) {
            auto* below = FaultFile::Below(f);
            return below->pMethods->xFileControl(below, op, arg);
          },
      .xSectorSize =
          [](sqlite3_file* f) {
            auto* below = FaultFile::Below(f);
            return below->pMethods->xSectorSize(below);
          },
      // Promises nothing, as the worst disk does.
      .xDeviceCharacteristics = [](sqlite3_file*) { return 0; },
      .xShmMap =
          [](sqlite3_file* f, int page, int size, int extend,
             void volatile** out) {
            auto* below = FaultFile::Below(f);
            return below->pMethods->xShmMap(below, page, size, extend, out);
          },
      .xShmLock =
          [](sqlite3_file* f, int offset, int n, int flags) {
            auto* below = FaultFile::Below(f);
            return below->pMethods->xShmLock(below, offset, n, flags);
          },
      .xShmBarrier =
          [](sqlite3_file* f) {
            auto* below = FaultFile::Below(f);
            below->pMethods->xShmBarrier(below);
          },
      .xShmUnmap =
          [](sqlite3_file* f, int remove) {
            auto* below = FaultFile::Below(f);
            return below->pMethods->xShmUnmap(below, remove);
          },
      .xFetch = nullptr,
      .xUnfetch = nullptr,
  };
  return &methods;
}

}  // namespace

// ---- files ------------------------------------------------------------------

int FaultFile::Open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file,
                    int flags, int* out_flags) {
  auto* disk = static_cast<FaultVfs*>(vfs->pAppData);
  new (file) FaultFile{{nullptr}, disk, path};
  if (disk->unplugged_) return SQLITE_CANTOPEN;
  const int code =
      Default()->xOpen(Default(), path, Below(file), flags, out_flags);
  if (code == SQLITE_OK) file->pMethods = Methods();
  return code;
}

int FaultFile::Close(sqlite3_file* file) {
  return Below(file)->pMethods->xClose(Below(file));
}

int FaultFile::Read(sqlite3_file* file, void* data, int size,
                    sqlite3_int64 offset) {
  if (Of(file).disk->unplugged_) return SQLITE_IOERR_READ;
  return Below(file)->pMethods->xRead(Below(file), data, size, offset);
}

int FaultFile::Write(sqlite3_file* file, const void* data, int size,
                     sqlite3_int64 offset) {
  const FaultVfs::Fault fault = Of(file).disk->OnWrite();
  Of(file).Remember(offset, size);
  if (fault != FaultVfs::Fault::kNone) {
    // The worst of failures: a part was written.
    Below(file)->pMethods->xWrite(Below(file), data, size / 2, offset);
    return Code(fault, SQLITE_IOERR_WRITE);
  }
  return Below(file)->pMethods->xWrite(Below(file), data, size, offset);
}

int FaultFile::Truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (Of(file).disk->unplugged_) return SQLITE_IOERR_TRUNCATE;
  sqlite3_int64 before = 0;
  Below(file)->pMethods->xFileSize(Below(file), &before);
  Of(file).Remember(size, std::max<sqlite3_int64>(0, before - size));
  return Below(file)->pMethods->xTruncate(Below(file), size);
}

int FaultFile::Sync(sqlite3_file* file, int flags) {
  const FaultVfs::Fault fault = Of(file).disk->OnSync();
  if (fault != FaultVfs::Fault::kNone) return Code(fault, SQLITE_IOERR_FSYNC);
  const int code = Below(file)->pMethods->xSync(Below(file), flags);
  if (Of(file).path != nullptr) Of(file).disk->unsynced_.erase(Of(file).path);
  return code;
}

int FaultFile::FileSize(sqlite3_file* file, sqlite3_int64* size) {
  if (Of(file).disk->unplugged_) return SQLITE_IOERR_FSTAT;
  return Below(file)->pMethods->xFileSize(Below(file), size);
}

int FaultFile::Delete(sqlite3_vfs* vfs, const char* path, int sync_folder) {
  auto* disk = static_cast<FaultVfs*>(vfs->pAppData);
  if (disk->unplugged_) return SQLITE_IOERR_DELETE;
  disk->unsynced_.erase(path);
  return Default()->xDelete(Default(), path, sync_folder);
}

void FaultFile::Remember(sqlite3_int64 offset, sqlite3_int64 size) {
  if (path == nullptr) return;
  sqlite3_file* below = Below(&base);
  sqlite3_int64 size_before = 0;
  below->pMethods->xFileSize(below, &size_before);
  FaultVfs::Undo undo{offset, {}, size_before};
  const sqlite3_int64 there =
      std::clamp<sqlite3_int64>(size_before - offset, 0, size);
  undo.before.resize(static_cast<std::size_t>(there));
  if (there > 0) {
    below->pMethods->xRead(below, undo.before.data(), static_cast<int>(there),
                           offset);
  }
  disk->unsynced_[path].push_back(std::move(undo));
}

// ---- the disk ---------------------------------------------------------------

FaultVfs::FaultVfs()
    : name_("epochd-fault-" +
            std::to_string(reinterpret_cast<uintptr_t>(this))),
      vfs_(std::make_unique<sqlite3_vfs>(*Default())) {
  vfs_->zName = name_.c_str();
  vfs_->pNext = nullptr;
  vfs_->pAppData = this;
  vfs_->szOsFile = static_cast<int>(sizeof(FaultFile)) + Default()->szOsFile;
  vfs_->xOpen = FaultFile::Open;
  vfs_->xDelete = FaultFile::Delete;
  if (sqlite3_vfs_register(vfs_.get(), 0) != SQLITE_OK) {
    throw std::runtime_error("cannot register the layer");
  }
}

FaultVfs::~FaultVfs() { sqlite3_vfs_unregister(vfs_.get()); }

void FaultVfs::FailWrite(int n, Fault fault) {
  failing_write_ = num_writes_ + n;
  write_fault_ = fault;
}

void FaultVfs::FailSync(int n, Fault fault) {
  failing_sync_ = num_syncs_ + n;
  sync_fault_ = fault;
}

FaultVfs::Fault FaultVfs::OnWrite() {
  ++num_writes_;
  if (unplugged_) return Fault::kIoError;
  return num_writes_ == failing_write_ ? write_fault_ : all_writes_;
}

FaultVfs::Fault FaultVfs::OnSync() {
  ++num_syncs_;
  if (unplugged_) return Fault::kIoError;
  return num_syncs_ == failing_sync_ ? sync_fault_ : Fault::kNone;
}

void FaultVfs::LoseUnsynced() {
  for (auto& [path, undos] : unsynced_) {
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) continue;
    for (auto undo = undos.rbegin(); undo != undos.rend(); ++undo) {
      if (pwrite(file, undo->before.data(), undo->before.size(), undo->offset) <
              0 ||
          ftruncate(file, undo->size_before) != 0) {
        close(file);
        throw std::runtime_error("cannot restore " + path);
      }
    }
    close(file);
  }
  unsynced_.clear();
  unplugged_ = false;
  all_writes_ = Fault::kNone;
  failing_write_ = failing_sync_ = 0;
}

}  // namespace epochd::store
