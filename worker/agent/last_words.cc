// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/last_words.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "program/logging.h"
#include "worker/link/attempt_folder.h"
#include "worker/link/spool_reader.h"

namespace epochd::agent {
namespace {

constexpr size_t kMaxWords = 500;

std::string LastLogLine(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  char buffer[4096];
  struct stat status {};
  ssize_t n = 0;
  if (fstat(fd, &status) == 0) {
    n = pread(fd, buffer, sizeof buffer,
              std::max<off_t>(0, status.st_size - off_t{sizeof buffer}));
  }
  close(fd);
  std::string text(buffer, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  text.resize(end + 1);
  const size_t begin = text.find_last_of("\r\n");
  return begin == std::string::npos ? text : text.substr(begin + 1);
}

}  // namespace

std::string LastWords(const std::string& rank_dir) {
  std::string words = link::LastError(link::EventsPath(rank_dir));
  if (words.empty()) {
    words = LastLogLine(link::LogPath(rank_dir));
    if (!words.empty()) words = "its log ends with: " + words;
  }
  // Several problems, one a line.
  words = absl::StrReplaceAll(words, {{"\n", "; "}});
  // Cuts first: what the cut tears is made printable then.
  if (words.size() > kMaxWords) {
    words.resize(kMaxWords);
    words += " ...";
  }
  return program::EscapeControls(words);
}

}  // namespace epochd::agent
