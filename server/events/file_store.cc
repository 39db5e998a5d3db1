// SPDX-License-Identifier: Apache-2.0
#include "server/events/file_store.h"

#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace epochd::events {
namespace {

constexpr char kIncoming[] = "incoming";

absl::Status CheckHash(const std::string& sha256) {
  if (IsSha256(sha256)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "sha256: not a hash, '", absl::CHexEscape(sha256.substr(0, 80)),
      "'; expected 64 lower-case hex digits"));
}

std::string Shelf(const std::string& sha256) { return sha256.substr(0, 2); }

}  // namespace

bool IsSha256(std::string_view text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

struct FileStore::Upload::Digest {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  bool ok = context != nullptr &&
            EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1;

  ~Digest() { EVP_MD_CTX_free(context); }
  void Update(std::string_view data) {
    ok = ok && EVP_DigestUpdate(context, data.data(), data.size()) == 1;
  }
  std::string Hex() {
    std::string bytes(EVP_MAX_MD_SIZE, '\0');
    unsigned int size = 0;
    ok = ok && EVP_DigestFinal_ex(
                   context, reinterpret_cast<unsigned char*>(bytes.data()),
                   &size) == 1;
    bytes.resize(ok ? size : 0);
    return absl::BytesToHexString(bytes);
  }
};

FileStore::Upload::Upload(const FileStore& store, std::string sha256,
                          std::string temp_name, File file)
    : store_(store),
      sha256_(std::move(sha256)),
      temp_name_(std::move(temp_name)),
      file_(std::move(file)),
      digest_(std::make_unique<Digest>()) {}

FileStore::Upload::~Upload() {
  // Gone already after a rename.
  unlinkat(store_.incoming_.get(), temp_name_.c_str(), 0);
}

absl::Status FileStore::Upload::Append(std::string_view data) {
  const std::int64_t limit = store_.options_.max_file_bytes;
  const auto added = static_cast<std::int64_t>(data.size());
  if (added > limit - size_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("file ", sha256_, ": larger than ", limit,
                     " bytes; put it on storage that workers see"));
  }
  digest_->Update(data);
  const absl::Status status =
      WriteAt(file_, data, size_, absl::StrCat("file ", sha256_));
  if (status.ok()) size_ += added;
  return status;
}

absl::StatusOr<std::int64_t> FileStore::Upload::Finish() {
  const std::string subject = absl::StrCat("file ", sha256_);
  const std::string found = digest_->Hex();
  if (found != sha256_) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": the content has another hash, '", found, "'"));
  }
  // A short write that was not repeated would leave a hole.
  struct stat info {};
  if (fstat(file_.get(), &info) != 0 || info.st_size != size_) {
    return absl::InternalError(absl::StrCat(subject, ": written in part"));
  }
  if (fsync(file_.get()) != 0) {
    return ErrnoStatus(errno, subject, "cannot be synced");
  }
  const absl::StatusOr<File> shelf =
      OpenFolderBeneath(store_.root_, {Shelf(sha256_)}, Missing::kMake);
  if (!shelf.ok()) return shelf.status();
  {
    absl::MutexLock lock(&store_.use_mutex_);
    if (renameat(store_.incoming_.get(), temp_name_.c_str(), shelf->get(),
                 sha256_.c_str()) != 0) {
      return ErrnoStatus(errno, subject, "cannot be put in place");
    }
  }
  if (fsync(shelf->get()) != 0 || fsync(store_.root_.get()) != 0) {
    return ErrnoStatus(errno, subject, "its folder cannot be synced");
  }
  return size_;
}

absl::StatusOr<std::unique_ptr<FileStore>> FileStore::Open(Options options) {
  absl::StatusOr<File> root = OpenFolder(options.root);
  if (!root.ok()) return root.status();
  if (absl::Status status = RemoveTree(*root, kIncoming); !status.ok()) {
    return status;
  }
  absl::StatusOr<File> incoming =
      OpenFolderBeneath(*root, {kIncoming}, Missing::kMake);
  if (!incoming.ok()) return incoming.status();
  return std::unique_ptr<FileStore>(new FileStore(
      std::move(options), *std::move(root), *std::move(incoming)));
}

absl::StatusOr<std::unique_ptr<FileStore::Upload>> FileStore::Begin(
    const std::string& sha256) {
  if (absl::Status status = CheckHash(sha256); !status.ok()) return status;
  std::random_device random;
  const std::string temp_name =
      absl::StrCat(absl::Hex(random(), absl::kZeroPad8),
                   absl::Hex(random(), absl::kZeroPad8));
  absl::StatusOr<File> file =
      OpenFileIn(incoming_, temp_name, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.ok()) return file.status();
  return std::unique_ptr<Upload>(
      new Upload(*this, sha256, temp_name, *std::move(file)));
}

absl::StatusOr<File> FileStore::OpenStored(const std::string& sha256) const {
  if (absl::Status status = CheckHash(sha256); !status.ok()) return status;
  const absl::StatusOr<File> shelf =
      OpenFolderBeneath(root_, {Shelf(sha256)}, Missing::kFail);
  absl::StatusOr<File> file = shelf.ok() ? OpenFileIn(*shelf, sha256, O_RDONLY)
                                         : absl::StatusOr<File>(shelf.status());
  if (absl::IsNotFound(file.status())) {
    return absl::NotFoundError(
        absl::StrCat("file ", sha256, ": not uploaded here"));
  }
  return file;
}

absl::StatusOr<std::int64_t> FileStore::Use(const std::string& sha256) {
  absl::MutexLock lock(&use_mutex_);
  const absl::StatusOr<File> file = OpenStored(sha256);
  if (!file.ok()) return file.status();
  struct stat info {};
  if (fstat(file->get(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("file ", sha256),
                       "cannot be examined");
  }
  if (futimens(file->get(), nullptr) != 0) {
    return ErrnoStatus(errno, absl::StrCat("file ", sha256),
                       "cannot be marked as used");
  }
  return info.st_size;
}

absl::StatusOr<std::vector<std::string>> FileStore::List() const {
  const absl::StatusOr<std::vector<std::string>> shelves = NamesIn(root_);
  if (!shelves.ok()) return shelves.status();
  std::vector<std::string> hashes;
  for (const std::string& shelf : *shelves) {
    if (shelf == kIncoming) continue;
    const absl::StatusOr<File> folder =
        OpenFolderBeneath(root_, {shelf}, Missing::kFail);
    if (!folder.ok()) continue;
    const absl::StatusOr<std::vector<std::string>> names = NamesIn(*folder);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      if (IsSha256(name) && Shelf(name) == shelf) hashes.push_back(name);
    }
  }
  return hashes;
}

absl::Status FileStore::RemoveUnlessUsedSince(const std::string& sha256,
                                              absl::Time cutoff) {
  absl::MutexLock lock(&use_mutex_);
  const absl::StatusOr<File> file = OpenStored(sha256);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  if (!file.ok()) return file.status();
  const std::string subject = absl::StrCat("file ", sha256);
  struct stat info {};
  if (fstat(file->get(), &info) != 0) {
    return ErrnoStatus(errno, subject, "cannot be examined");
  }
  if (absl::TimeFromTimespec(info.st_mtim) >= cutoff) return absl::OkStatus();
  const absl::StatusOr<File> shelf =
      OpenFolderBeneath(root_, {Shelf(sha256)}, Missing::kFail);
  if (!shelf.ok()) return shelf.status();
  if (unlinkat(shelf->get(), sha256.c_str(), 0) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, subject, "cannot be removed");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> FileStore::Read(const std::string& sha256,
                                            std::int64_t offset,
                                            std::int64_t max_bytes) const {
  const absl::StatusOr<File> file = OpenStored(sha256);
  if (!file.ok()) return file.status();
  struct stat info {};
  const std::string subject = absl::StrCat("file ", sha256);
  if (fstat(file->get(), &info) != 0) {
    return ErrnoStatus(errno, subject, "cannot be examined");
  }
  const std::int64_t wanted =
      std::min<std::int64_t>(max_bytes, info.st_size - offset);
  if (offset < 0 || wanted <= 0) return std::string();
  return ReadAt(*file, offset, static_cast<std::size_t>(wanted), subject);
}

}  // namespace epochd::events
