// SPDX-License-Identifier: Apache-2.0
#include "worker/link/spool_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "worker/link/event_line.h"

namespace epochd::link {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kTailBytes = 64 << 10;

// Reads up to `size` bytes at `offset`, fewer only at the end of the file.
std::string ReadAt(int fd, int64_t offset, int64_t size,
                   const std::string& path) {
  std::string bytes(static_cast<size_t>(size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = pread(fd, bytes.data() + done, bytes.size() - done,
                            offset + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw std::system_error(errno, std::generic_category(), path);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

// A line of exactly `size` bytes: a notice, or nothing but white space.
std::string StandIn(size_t size, bool is_first) {
  std::string line;
  if (is_first) {
    const double now = std::chrono::duration<double>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
    line = Json{{"type", kNotice},
                {"time", now},
                {"severity", "warning"},
                {"text", "a line of more than " +
                             std::to_string(SpoolReader::kMaxForwardedLine) +
                             " bytes was left out"}}
               .dump();
  }
  line.resize(size, ' ');
  line.back() = '\n';
  return line;
}

}  // namespace

SpoolReader::SpoolReader(std::string path) : path_(std::move(path)) {}

SpoolReader::~SpoolReader() {
  if (fd_ >= 0) close(fd_);
}

SpoolChunk SpoolReader::Read(int64_t offset, int64_t max_bytes) {
  SpoolChunk chunk;
  chunk.offset = offset;
  if (fd_ < 0) fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) {
    if (errno != ENOENT) {
      throw std::system_error(errno, std::generic_category(), path_);
    }
    chunk.outcome = SpoolChunk::Outcome::kMissing;
    return chunk;
  }
  struct stat status {};
  if (fstat(fd_, &status) != 0) {
    throw std::system_error(errno, std::generic_category(), path_);
  }
  if (status.st_size < offset) {
    chunk.outcome = SpoolChunk::Outcome::kTruncated;
    return chunk;
  }
  const int64_t there = status.st_size - offset;
  if (there <= 0) return chunk;
  // The middle of a line that was too long before: its rest is no line.
  const bool in_middle =
      offset > 0 && ReadAt(fd_, offset - 1, 1, path_) != "\n";
  std::string bytes = ReadAt(fd_, offset, std::min(there, max_bytes), path_);
  size_t end = in_middle ? bytes.find('\n') : bytes.rfind('\n');
  if (end == std::string::npos && there > max_bytes) {
    bytes = ReadAt(fd_, offset, std::min(there, kMaxForwardedLine), path_);
    end = bytes.find('\n');
  }
  const bool too_long = end == std::string::npos && there >= kMaxForwardedLine;
  if (end == std::string::npos && !too_long) return chunk;
  if (!too_long) bytes.resize(end + 1);
  chunk.outcome = SpoolChunk::Outcome::kLines;
  chunk.replaced = in_middle || too_long;
  chunk.lines =
      chunk.replaced ? StandIn(bytes.size(), !in_middle) : std::move(bytes);
  return chunk;
}

std::string LastError(const std::string& events_path) {
  const int fd = open(events_path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string tail;
  struct stat status {};
  if (fstat(fd, &status) == 0) {
    const int64_t start = std::max<int64_t>(0, status.st_size - kTailBytes);
    try {
      tail = ReadAt(fd, start, status.st_size - start, events_path);
    } catch (const std::system_error&) {
      tail.clear();
    }
  }
  close(fd);
  std::string found;
  size_t begin = 0;
  for (size_t end = tail.find('\n'); end != std::string::npos;
       begin = end + 1, end = tail.find('\n', begin)) {
    const Json line = Json::parse(tail.begin() + static_cast<ptrdiff_t>(begin),
                                  tail.begin() + static_cast<ptrdiff_t>(end),
                                  nullptr, /*allow_exceptions=*/false);
    if (!line.is_object()) continue;
    const auto text = [&](const char* key) {
      const auto it = line.find(key);
      return it != line.end() && it->is_string() ? it->get<std::string>() : "";
    };
    const std::string type = text("type");
    if (type == kNotice && text("severity") == "error") found = text("text");
    if (type == kTrainingEnded && text("outcome") == "failed" &&
        !text("message").empty()) {
      found = text("message");
    }
  }
  return found;
}

}  // namespace epochd::link
