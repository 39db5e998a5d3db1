// SPDX-License-Identifier: Apache-2.0
#include "worker/link/event_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>

#include "worker/link/event_line.h"

namespace epochd::link {
namespace {

using Json = nlohmann::ordered_json;

// Waiting lines beyond this: those that a later one replaces are given up.
constexpr int64_t kMaxWaitingBytes = 4 << 20;

double Now() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void SpellNonFinite(Json& value) {
  if (value.is_number_float()) {
    if (!std::isfinite(value.get<double>()))
      value = Number(value.get<double>());
  } else if (value.is_structured()) {
    for (Json& element : value) SpellNonFinite(element);
  }
}

std::string TypeOf(const Json& line) {
  const auto it = line.find("type");
  return it != line.end() && it->is_string() ? it->get<std::string>() : "";
}

bool MayBeGivenUp(const Json& line) {
  const std::string type = TypeOf(line);
  return type == kProgress || type == kMetrics;
}

}  // namespace

Json Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json NoticeLine(std::string_view severity, std::string_view text) {
  return {{"type", kNotice}, {"severity", severity}, {"text", text}};
}

EventWriter::EventWriter(const std::string& path, int rank)
    : EventWriter(path, rank, [](int fd, const void* data, size_t size) {
        return write(fd, data, size);
      }) {}

EventWriter::EventWriter(const std::string& path, int rank, WriteFunction write)
    : rank_(rank), write_(std::move(write)) {
  fd_ = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  struct stat status {};
  if (fd_ < 0 || fstat(fd_, &status) != 0) {
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    throw std::system_error(error, std::generic_category(), path);
  }
  written_ = status.st_size;
  char last = '\n';
  if (written_ > 0 && pread(fd_, &last, 1, written_ - 1) == 1 && last != '\n') {
    waiting_.push_back("\n");
    waiting_bytes_ = 1;
    FlushLocked();
  }
}

EventWriter::~EventWriter() {
  Flush();
  close(fd_);
}

int64_t EventWriter::Append(Json line) {
  if (!line.contains("time")) line["time"] = Now();
  if (!line.contains("rank")) line["rank"] = rank_;
  SpellNonFinite(line);
  const std::lock_guard<std::mutex> lock(mutex_);
  return AppendLocked(line);
}

int64_t EventWriter::AppendLocked(const Json& line) {
  std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() >= static_cast<size_t>(kMaxLineBytes)) {
    Json notice = NoticeLine(
        "warning", "a line of type '" + TypeOf(line).substr(0, 64) + "' with " +
                       std::to_string(text.size()) +
                       " bytes was left out, more than " +
                       std::to_string(kMaxLineBytes) + " are not forwarded");
    notice["time"] = line.at("time");
    notice["rank"] = line.at("rank");
    text = notice.dump();
  }
  text += '\n';
  if (waiting_bytes_ > kMaxWaitingBytes && MayBeGivenUp(line)) {
    ++num_dropped_;
  } else {
    waiting_bytes_ += static_cast<int64_t>(text.size());
    waiting_.push_back(std::move(text));
  }
  FlushLocked();
  return written_ + waiting_bytes_;
}

bool EventWriter::Flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return FlushLocked();
}

int64_t EventWriter::offset() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return written_ + waiting_bytes_;
}

bool EventWriter::FlushLocked() {
  while (!waiting_.empty()) {
    std::string& line = waiting_.front();
    const ssize_t n = write_(fd_, line.data(), line.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      // Says so where a person may see it, once, and once again when it works.
      if (stuck_since_ == 0) {
        stuck_since_ = Now();
        dprintf(STDERR_FILENO, "epochd: events.jsonl: cannot be written: %s\n",
                n < 0 ? strerror(errno) : "no space");
      }
      return false;
    }
    written_ += n;
    waiting_bytes_ -= n;
    if (static_cast<size_t>(n) < line.size()) {
      line.erase(0, static_cast<size_t>(n));
      continue;
    }
    waiting_.pop_front();
    if (waiting_.empty() && stuck_since_ != 0) {
      const double now = Now();
      Json notice = NoticeLine(
          "warning", "events.jsonl could not be written for " +
                         std::to_string(std::lround(now - stuck_since_)) +
                         " s; lines of progress left out: " +
                         std::to_string(num_dropped_));
      notice["time"] = now;
      notice["rank"] = rank_;
      stuck_since_ = 0;
      num_dropped_ = 0;
      waiting_.push_back(notice.dump() + "\n");
      waiting_bytes_ += static_cast<int64_t>(waiting_.back().size());
    }
  }
  return true;
}

}  // namespace epochd::link
