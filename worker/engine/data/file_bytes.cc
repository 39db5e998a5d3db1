// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/file_bytes.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "worker/engine/core/error.h"

namespace epochd::engine {

std::string ReadFileBytes(const std::string& path, int64_t max_bytes) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    throw Error(ErrorKind::kBadSpec,
                "file \"" + path + "\": " + std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kBadSpec,
                "file \"" + path + "\": not a regular file");
  }
  // zlib reads plain files too.
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"),
                                                  gzclose);
  if (!file) {
    throw Error(ErrorKind::kBadSpec,
                "file \"" + path + "\": " + std::strerror(errno));
  }
  // Small files, such as headers, need no more than they hold.
  const size_t least = std::clamp<size_t>(
      static_cast<size_t>(status.st_size) + 1, 1 << 12, 1 << 18);
  gzbuffer(file.get(), static_cast<unsigned>(least));
  std::string bytes;
  while (true) {
    const size_t old_size = bytes.size();
    const size_t chunk = std::max(least, old_size / 2);
    bytes.resize(old_size + chunk);
    const int got =
        gzread(file.get(), bytes.data() + old_size,
               static_cast<unsigned>(std::min<size_t>(chunk, 1u << 30)));
    if (got < 0) {
      int code = 0;
      const char* reason = gzerror(file.get(), &code);
      // A disk may come back; broken data stays broken.
      throw Error(
          code == Z_ERRNO ? ErrorKind::kInfrastructure : ErrorKind::kBadSpec,
          "file \"" + path + "\": cannot be read after byte " +
              std::to_string(old_size) + ": " +
              (code == Z_ERRNO ? std::strerror(errno) : reason));
    }
    bytes.resize(old_size + got);
    if (static_cast<int64_t>(bytes.size()) > max_bytes) {
      throw Error(ErrorKind::kBadSpec, "file \"" + path + "\": over " +
                                           std::to_string(max_bytes) +
                                           " bytes, the most accepted");
    }
    if (got == 0) break;
  }
  // A truncated gzip stream shows only here.
  if (gzclose_r(file.release()) != Z_OK) {
    throw Error(ErrorKind::kBadSpec,
                "file \"" + path + "\": gzip data ends early after " +
                    std::to_string(bytes.size()) + " bytes");
  }
  return bytes;
}

}  // namespace epochd::engine
