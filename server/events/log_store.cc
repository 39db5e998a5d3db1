// SPDX-License-Identifier: Apache-2.0
#include "server/events/log_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace epochd::events {
namespace {

std::string FileName(int32_t rank) {
  return absl::StrCat("rank-", rank, ".log");
}

std::string Subject(const LogKey& key) {
  return absl::StrCat("log of ", key.attempt.ResourceName(), " rank ",
                      key.rank);
}

absl::Status CheckKey(const LogKey& key) {
  if (!key.attempt.job.IsNil() && key.attempt.number.value() >= 1 &&
      key.rank >= 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Subject(key),
                   ": there can be none; expected a job, an attempt from 1 on "
                   "and a rank from 0 on"));
}

absl::StatusOr<std::int64_t> SizeOf(const File& file, const LogKey& key) {
  struct stat info {};
  if (fstat(file.get(), &info) != 0) {
    return ErrnoStatus(errno, Subject(key), "cannot be examined");
  }
  return info.st_size;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogStore>> LogStore::Open(Options options) {
  absl::StatusOr<File> root = OpenFolder(options.root);
  if (!root.ok()) return root.status();
  return std::unique_ptr<LogStore>(
      new LogStore(std::move(options), *std::move(root)));
}

absl::StatusOr<File> LogStore::OpenLog(const LogKey& key, int flags,
                                       Missing missing) const {
  if (absl::Status status = CheckKey(key); !status.ok()) return status;
  const absl::StatusOr<File> folder = OpenFolderBeneath(
      root_,
      {key.attempt.job.ToString(), absl::StrCat(key.attempt.number.value())},
      missing);
  if (!folder.ok()) return folder.status();
  return OpenFileIn(*folder, FileName(key.rank), flags);
}

absl::StatusOr<LogStore::Appended> LogStore::Append(const LogKey& key,
                                                    std::int64_t offset,
                                                    std::string_view data) {
  if (offset < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("offset: below 0, '", offset, "'"));
  }
  Appended result;
  bool grew = false;
  {
    const std::size_t stripe =
        absl::HashOf(key.attempt, key.rank) % std::size(append_mutexes_);
    // Held while writing: what is written depends on the size found.
    absl::MutexLock lock(&append_mutexes_[stripe]);
    const absl::StatusOr<File> file =
        OpenLog(key, O_RDWR | O_CREAT, Missing::kMake);
    if (!file.ok()) return file.status();
    const absl::StatusOr<std::int64_t> size = SizeOf(*file, key);
    if (!size.ok()) return size.status();
    result.next_offset = *size;
    if (offset <= *size) {
      const std::int64_t num_seen = *size - offset;
      if (num_seen < static_cast<std::int64_t>(data.size())) {
        data.remove_prefix(static_cast<std::size_t>(num_seen));
        const std::int64_t room =
            std::max<std::int64_t>(0, options_.max_log_bytes - *size);
        data = data.substr(0, static_cast<std::size_t>(room));
        const absl::Status status = WriteAt(*file, data, *size, Subject(key));
        if (!status.ok()) return status;
        grew = !data.empty();
        result.next_offset += static_cast<std::int64_t>(data.size());
      }
    }
  }
  result.full = result.next_offset >= options_.max_log_bytes;
  if (grew) wake_list_.Wake(key.attempt.job);
  return result;
}

absl::StatusOr<LogStore::Chunk> LogStore::Read(const LogKey& key,
                                               std::int64_t offset,
                                               std::int64_t max_bytes) const {
  const absl::StatusOr<File> file = OpenLog(key, O_RDONLY, Missing::kFail);
  if (absl::IsNotFound(file.status())) return Chunk{};
  if (!file.ok()) return file.status();
  const absl::StatusOr<std::int64_t> size = SizeOf(*file, key);
  if (!size.ok()) return size.status();
  Chunk chunk;
  chunk.size = *size;
  chunk.full = *size >= options_.max_log_bytes;
  const std::int64_t wanted = std::min(max_bytes, *size - offset);
  if (offset < 0 || wanted <= 0) return chunk;
  absl::StatusOr<std::string> data =
      ReadAt(*file, offset, static_cast<std::size_t>(wanted), Subject(key));
  if (!data.ok()) return data.status();
  chunk.data = *std::move(data);
  return chunk;
}

absl::StatusOr<std::vector<job::AttemptNumber>> LogStore::Attempts(
    job::JobId job, int32_t rank) const {
  std::vector<job::AttemptNumber> attempts;
  const absl::StatusOr<File> folder =
      OpenFolderBeneath(root_, {job.ToString()}, Missing::kFail);
  if (absl::IsNotFound(folder.status())) return attempts;
  if (!folder.ok()) return folder.status();
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(*folder);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    int attempt = 0;
    if (!absl::SimpleAtoi(name, &attempt) || attempt < 1) continue;
    const absl::StatusOr<File> inner =
        OpenFolderBeneath(*folder, {name}, Missing::kFail);
    if (inner.ok() && OpenFileIn(*inner, FileName(rank), O_RDONLY).ok()) {
      attempts.emplace_back(attempt);
    }
  }
  std::sort(attempts.begin(), attempts.end());
  return attempts;
}

absl::StatusOr<std::vector<job::JobId>> LogStore::Jobs() const {
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(root_);
  if (!names.ok()) return names.status();
  std::vector<job::JobId> jobs;
  for (const std::string& name : *names) {
    // What is not ours is left alone.
    const auto job = job::JobId::Parse(name);
    if (job.ok()) jobs.push_back(*job);
  }
  return jobs;
}

absl::Status LogStore::Delete(job::JobId job) {
  const absl::Status status = RemoveTree(root_, job.ToString());
  wake_list_.WakeAndForget(job);
  return status;
}

}  // namespace epochd::events
