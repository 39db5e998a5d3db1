// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/file_bytes.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "worker/engine/core/error.h"
#include "worker/engine/data/refuse_file.h"

namespace epochd::engine {
namespace {

constexpr int64_t kDeflateRatio = 1032;
constexpr int64_t kUnsuspectBytes = int64_t{1} << 30;
constexpr int64_t kSuspectRatio = 200;
constexpr size_t kMaxRead = size_t{1} << 30;  // of gzread()

bool IsGzip(const RandomAccessFile& file) {
  std::array<uint8_t, 2> magic{};
  if (file.num_bytes() < 2) return false;
  file.Read(0, magic);
  return magic[0] == 0x1f && magic[1] == 0x8b;
}

}  // namespace

int64_t MostInflated(int64_t packed_bytes) {
  const int64_t packed = std::min(packed_bytes, int64_t{1} << 52);
  return std::min(packed * kDeflateRatio,
                  std::max(packed * kSuspectRatio, kUnsuspectBytes));
}

SequentialFile::SequentialFile(const std::string& path, int64_t max_bytes)
    : file_(path),
      is_gzip_(IsGzip(file_)),
      most_bytes_(std::min(
          is_gzip_ ? MostInflated(file_.num_bytes()) : file_.num_bytes(),
          max_bytes)),
      stream_(nullptr, gzclose) {
  if (!is_gzip_ && most_bytes_ < file_.num_bytes()) RefuseRest();
  // zlib reads plain files too. It closes what it is given.
  const int own = fcntl(file_.descriptor(), F_DUPFD_CLOEXEC, 0);
  stream_.reset(own < 0 ? nullptr : gzdopen(own, "rb"));
  if (!stream_) {
    const int error = errno;
    if (own >= 0) close(own);
    throw Error(ErrorKind::kInfrastructure,
                "file \"" + path + "\": " + std::strerror(error));
  }
  // Small files, such as headers, need no more than they hold.
  gzbuffer(stream_.get(), static_cast<unsigned>(std::clamp<int64_t>(
                              file_.num_bytes() + 1, 1 << 12, 1 << 18)));
}

SequentialFile::~SequentialFile() = default;

void SequentialFile::RefuseRest() const {
  std::string problem =
      "goes on; at most " + std::to_string(most_bytes_) + " bytes are accepted";
  if (is_gzip_) {
    problem += " of a gzip file of " + std::to_string(file_.num_bytes());
  }
  RefuseFile("file", path(), static_cast<uint64_t>(most_bytes_), problem);
}

size_t SequentialFile::Read(std::span<uint8_t> out) {
  size_t done = 0;
  while (done < out.size()) {
    const int got =
        gzread(stream_.get(), out.data() + done,
               static_cast<unsigned>(std::min(out.size() - done, kMaxRead)));
    const int reason = errno;
    int code = Z_OK;
    std::string told = gzerror(stream_.get(), &code);
    // zlib begins with a name of the descriptor.
    if (const size_t end = told.find(": "); end != std::string::npos) {
      told.erase(0, end + 2);
    }
    done += static_cast<size_t>(std::max(got, 0));
    position_ += std::max(got, 0);
    // What there is of a gzip file that was cut off comes with its error.
    if (got < 0 || code == Z_BUF_ERROR) {
      // A disk may come back; broken data stays broken.
      const bool is_disk = code == Z_ERRNO;
      RefuseFile(
          "file", path(), static_cast<uint64_t>(position_),
          "cannot be read on: " + (is_disk ? std::strerror(reason) : told),
          is_disk ? ErrorKind::kInfrastructure : ErrorKind::kBadSpec);
    }
    if (position_ > most_bytes_) RefuseRest();
    if (got == 0) break;
  }
  return done;
}

std::string ReadFileBytes(const std::string& path, int64_t max_bytes) {
  SequentialFile file(path, max_bytes);
  std::string bytes;
  while (true) {
    // A plain file comes at once. Of gzip no more is asked for at a time than
    // came before; one byte beyond tells that there is more.
    const auto old_size = static_cast<int64_t>(bytes.size());
    const int64_t room =
        std::min(file.most_bytes() + 1 - old_size,
                 file.is_gzip() ? std::max<int64_t>(old_size / 2, 1 << 18)
                                : file.most_bytes() + 1);
    bytes.resize(old_size + room);
    const size_t got = file.Read(
        {reinterpret_cast<uint8_t*>(bytes.data()) + old_size, size_t(room)});
    bytes.resize(old_size + got);
    if (static_cast<int64_t>(got) < room) return bytes;
  }
}

}  // namespace epochd::engine
