// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/table/npz.h"

#include <unzip.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "worker/engine/data/file_bytes.h"
#include "worker/engine/data/npy.h"
#include "worker/engine/data/random_access_file.h"
#include "worker/engine/data/refuse_file.h"

namespace epochd::engine {
namespace {

constexpr uint64_t kMaxEntries = 10000;
constexpr uint64_t kMaxBytes = uint64_t{16} << 30;

[[noreturn]] void RefuseNpz(const std::string& path, uint64_t byte,
                            const std::string& problem) {
  RefuseFile("npz file", path, byte, problem);
}

// The record that ends a zip archive must be whole, which minizip does not ask
// for: of one that was cut short it would find no entry.
void CheckEnd(const RandomAccessFile& file) {
  constexpr int64_t kEndBytes = 22;
  constexpr int64_t kMaxComment = 65535;
  const int64_t size = std::min(file.num_bytes(), kEndBytes + kMaxComment);
  std::string tail(size, '\0');
  const int64_t begin = file.num_bytes() - size;
  file.Read(begin, {reinterpret_cast<uint8_t*>(tail.data()), tail.size()});
  const size_t at = tail.rfind(std::string("PK\5\6", 4));
  if (at == std::string::npos) {
    RefuseNpz(file.path(), static_cast<uint64_t>(file.num_bytes()),
              "is no zip archive: its end record is not there");
  }
  const size_t left = tail.size() - at;
  const auto comment = [&] {
    return static_cast<size_t>(static_cast<uint8_t>(tail[at + 20])) |
           static_cast<size_t>(static_cast<uint8_t>(tail[at + 21])) << 8;
  };
  if (left < kEndBytes || left != kEndBytes + comment()) {
    RefuseNpz(file.path(), static_cast<uint64_t>(begin) + at,
              "its directory does not end where the file does");
  }
}

struct CloseArchive {
  void operator()(void* archive) const { unzClose(archive); }
};
using Archive = std::unique_ptr<void, CloseArchive>;

// The inflated bytes of the entry that `archive` stands at. `listed`: the byte
// of its line in the directory.
std::string ReadEntry(void* archive, const unz_file_info64& info,
                      const std::string& path, const std::string& name,
                      uint64_t listed) {
  const std::string entry = "entry \"" + name + "\" ";
  if ((info.flag & 1) != 0) RefuseNpz(path, listed, entry + "is encrypted");
  const uint64_t size = info.uncompressed_size;
  const uint64_t packed = info.compressed_size;
  if (size > kMaxBytes ||
      size > static_cast<uint64_t>(MostInflated(
                 static_cast<int64_t>(std::min(packed, kMaxBytes))))) {
    RefuseNpz(path, listed,
              entry + "says that " + std::to_string(packed) +
                  " bytes inflate to " + std::to_string(size) +
                  ", more than is accepted");
  }
  if (unzOpenCurrentFile(archive) != UNZ_OK) {
    RefuseNpz(path, listed,
              entry + "cannot be opened (method " +
                  std::to_string(info.compression_method) +
                  "; stored and deflated are read)");
  }
  const uint64_t begin = unzGetCurrentFileZStreamPos64(archive);
  std::string bytes;
  while (true) {
    // Grows with what really comes, not with what is claimed.
    const size_t old_size = bytes.size();
    const size_t room = std::min<uint64_t>(size - old_size + 1,
                                           std::max<size_t>(1 << 20, old_size));
    bytes.resize(old_size + room);
    const int got = unzReadCurrentFile(
        archive, bytes.data() + old_size,
        static_cast<unsigned>(std::min<size_t>(room, 1u << 30)));
    bytes.resize(old_size + std::max(got, 0));
    if (got < 0) {
      unzCloseCurrentFile(archive);
      RefuseNpz(
          path, begin,
          entry + "is broken after inflated byte " + std::to_string(old_size));
    }
    if (got == 0 || bytes.size() > size) break;
  }
  const bool is_whole = unzCloseCurrentFile(archive) == UNZ_OK;
  if (bytes.size() != size || !is_whole) {
    RefuseNpz(path, begin,
              entry + "has " + std::to_string(bytes.size()) +
                  " bytes that do not match its size " + std::to_string(size) +
                  " or its checksum");
  }
  return bytes;
}

}  // namespace

std::vector<NamedTensor> ReadNpz(
    const std::string& path,
    const std::function<bool(const std::string&)>& wanted) {
  // Refuses pipes, which would block below.
  const RandomAccessFile file(path);
  CheckEnd(file);
  const Archive archive(unzOpen64(path.c_str()));
  if (archive == nullptr) {
    RefuseNpz(path, static_cast<uint64_t>(file.num_bytes()),
              "is no zip archive");
  }
  unz_global_info64 global{};
  if (unzGetGlobalInfo64(archive.get(), &global) != UNZ_OK ||
      global.number_entry > kMaxEntries) {
    RefuseNpz(path, static_cast<uint64_t>(file.num_bytes()),
              "has " + std::to_string(global.number_entry) +
                  " entries; at most " + std::to_string(kMaxEntries) +
                  " are accepted");
  }
  std::vector<NamedTensor> arrays;
  std::set<std::string> names;
  uint64_t total = 0;
  int state = unzGoToFirstFile(archive.get());
  for (uint64_t i = 0; i < global.number_entry; ++i) {
    const uint64_t listed = unzGetOffset64(archive.get());
    unz_file_info64 info{};
    char name_bytes[512] = {};
    if (state != UNZ_OK ||
        unzGetCurrentFileInfo64(archive.get(), &info, name_bytes,
                                sizeof name_bytes - 1, nullptr, 0, nullptr,
                                0) != UNZ_OK) {
      RefuseNpz(path, listed,
                "its directory is broken at entry " + std::to_string(i));
    }
    std::string name = name_bytes;
    if (!name.ends_with(".npy")) {
      RefuseNpz(path, listed, "entry \"" + name + "\" is no .npy file");
    }
    const std::string entry = name;
    name.resize(name.size() - 4);
    if (!names.insert(name).second) {
      RefuseNpz(path, listed, "entry \"" + name + "\" is there twice");
    }
    if (wanted && !wanted(name)) {
      state = unzGoToNextFile(archive.get());
      continue;
    }
    total += std::min<uint64_t>(info.uncompressed_size, kMaxBytes + 1);
    if (total > kMaxBytes)
      RefuseNpz(path, listed, "inflates to more than 16 GiB");
    const std::string bytes =
        ReadEntry(archive.get(), info, path, entry, listed);
    at::Tensor array = ParseNpy(bytes, path + "/" + entry);
    arrays.push_back({std::move(name), std::move(array)});
    state = unzGoToNextFile(archive.get());
  }
  return arrays;
}

}  // namespace epochd::engine
