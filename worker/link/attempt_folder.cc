// SPDX-License-Identifier: Apache-2.0
#include "worker/link/attempt_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

namespace epochd::link {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void ThrowErrno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Parses a record; null when there is none or it is broken.
Json ReadRecord(const std::string& path) {
  const std::optional<std::string> text = ReadFile(path);
  if (!text) return nullptr;
  Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : Json(nullptr);
}

int64_t IntegerOr(const Json& json, const char* key, int64_t otherwise) {
  const auto it = json.find(key);
  return it != json.end() && it->is_number_integer() ? it->get<int64_t>()
                                                     : otherwise;
}

bool IsTrue(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_boolean() && it->get<bool>();
}

}  // namespace

std::string SpecPath(const std::string& attempt_dir) {
  return attempt_dir + "/attempt.json";
}
std::string FilesDir(const std::string& attempt_dir) {
  return attempt_dir + "/files";
}
std::string RankDir(const std::string& attempt_dir, int rank) {
  return attempt_dir + "/rank-" + std::to_string(rank);
}
std::string EventsPath(const std::string& rank_dir) {
  return rank_dir + "/events.jsonl";
}
std::string LogPath(const std::string& rank_dir) { return rank_dir + "/log"; }
std::string ControlPath(const std::string& rank_dir) {
  return rank_dir + "/control.sock";
}
std::string KeeperPath(const std::string& rank_dir) {
  return rank_dir + "/keeper.json";
}
std::string ExitPath(const std::string& rank_dir) {
  return rank_dir + "/exit.json";
}
std::string AckedPath(const std::string& rank_dir) {
  return rank_dir + "/acked.json";
}

void WriteKeeper(const std::string& rank_dir, const KeeperRecord& record) {
  const Json json = {{"pid", record.pid},
                     {"start_ticks", record.start_ticks},
                     {"boot_id", record.boot_id}};
  ReplaceFile(KeeperPath(rank_dir), json.dump() + "\n", /*sync=*/false);
}

void WriteExit(const std::string& rank_dir, const ExitRecord& record) {
  Json json = Json::object();
  if (record.exit_code) json["exit_code"] = *record.exit_code;
  if (record.term_signal) json["term_signal"] = *record.term_signal;
  json["oom"] = record.oom;
  json["stopped"] = record.stopped;
  json["end_ns"] = record.end_ns;
  ReplaceFile(ExitPath(rank_dir), json.dump() + "\n", /*sync=*/true);
}

void WriteAcked(const std::string& rank_dir, const AckedRecord& record) {
  const Json json = {{"events", record.events}, {"log", record.log}};
  ReplaceFile(AckedPath(rank_dir), json.dump() + "\n", /*sync=*/false);
}

std::optional<KeeperRecord> ReadKeeper(const std::string& rank_dir) {
  const Json json = ReadRecord(KeeperPath(rank_dir));
  if (json.is_null()) return std::nullopt;
  KeeperRecord record;
  record.pid = IntegerOr(json, "pid", 0);
  record.start_ticks = IntegerOr(json, "start_ticks", 0);
  const auto boot_id = json.find("boot_id");
  if (record.pid <= 0 || boot_id == json.end() || !boot_id->is_string()) {
    return std::nullopt;
  }
  record.boot_id = boot_id->get<std::string>();
  return record;
}

std::optional<ExitRecord> ReadExit(const std::string& rank_dir) {
  const Json json = ReadRecord(ExitPath(rank_dir));
  if (json.is_null()) return std::nullopt;
  ExitRecord record;
  if (json.contains("exit_code")) {
    record.exit_code = static_cast<int>(IntegerOr(json, "exit_code", -1));
  } else if (json.contains("term_signal")) {
    record.term_signal = static_cast<int>(IntegerOr(json, "term_signal", 0));
  } else {
    return std::nullopt;
  }
  record.oom = IsTrue(json, "oom");
  record.stopped = IsTrue(json, "stopped");
  record.end_ns = IntegerOr(json, "end_ns", 0);
  return record;
}

std::optional<AckedRecord> ReadAcked(const std::string& rank_dir) {
  const Json json = ReadRecord(AckedPath(rank_dir));
  if (json.is_null()) return std::nullopt;
  return AckedRecord{.events = IntegerOr(json, "events", 0),
                     .log = IntegerOr(json, "log", 0)};
}

void ReplaceFile(const std::string& path, const std::string& content,
                 bool sync) {
  const std::string temporary = path + ".tmp";
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) ThrowErrno(temporary);
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n == 0 ? ENOSPC : errno;
      close(fd);
      unlink(temporary.c_str());
      errno = error;
      ThrowErrno(temporary);
    }
    done += static_cast<size_t>(n);
  }
  if ((sync && fsync(fd) != 0) | (close(fd) != 0)) ThrowErrno(temporary);
  if (rename(temporary.c_str(), path.c_str()) != 0) ThrowErrno(path);
}

std::optional<std::string> ReadFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string content;
  char buffer[16384];
  ssize_t n = 0;
  while ((n = read(fd, buffer, sizeof buffer)) > 0 ||
         (n < 0 && errno == EINTR)) {
    if (n > 0) content.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  if (n < 0) return std::nullopt;
  return content;
}

}  // namespace epochd::link
