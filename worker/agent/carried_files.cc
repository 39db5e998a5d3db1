// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/carried_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace epochd::agent {
namespace {

// A descriptor that closes itself.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void Add(std::string_view data) {
    EVP_DigestUpdate(context_.get(), data.data(), data.size());
  }
  std::string Hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), digest, &size);
    return absl::BytesToHexString(
        absl::string_view(reinterpret_cast<const char*>(digest), size));
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

int OpenBeneath(int dir_fd, const std::string& path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(
      syscall(SYS_openat2, dir_fd, path.c_str(), &how, sizeof how));
}

absl::Status Problem(const CarriedFile& file, const std::string& problem) {
  return absl::UnavailableError(
      absl::StrCat("carried file '", file.path, "': ", problem));
}

absl::Status CheckPath(const CarriedFile& file) {
  bool good = !file.path.empty() && file.path.size() < 4096 &&
              file.path.find('\0') == std::string::npos;
  for (const absl::string_view part : absl::StrSplit(file.path, '/')) {
    good = good && !part.empty() && part != "." && part != "..";
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("carried file '", absl::CHexEscape(file.path),
                   "': is not a relative path below the work folder"));
}

// Opens the folder that holds the file, making what is missing on the way.
absl::StatusOr<Fd> OpenParent(const std::string& folder,
                              const CarriedFile& file, std::string& name) {
  Fd dir(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::string> parts = absl::StrSplit(file.path, '/');
  name = parts.back();
  parts.pop_back();
  for (const std::string& part : parts) {
    if (dir.get() < 0) break;
    mkdirat(dir.get(), part.c_str(), 0755);
    dir = Fd(OpenBeneath(dir.get(), part, O_PATH | O_DIRECTORY, 0));
  }
  if (dir.get() < 0) {
    return Problem(file, absl::StrCat("its folder: ", strerror(errno)));
  }
  return dir;
}

bool WriteAll(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

absl::Status PlaceFile(Transport& transport, const std::string& folder,
                       const CarriedFile& file) {
  if (absl::Status checked = CheckPath(file); !checked.ok()) return checked;
  std::string name;
  absl::StatusOr<Fd> dir = OpenParent(folder, file, name);
  if (!dir.ok()) return dir.status();
  const std::string temporary = absl::StrCat(".", name.substr(0, 200), ".part");
  unlinkat(dir->get(), temporary.c_str(), 0);
  const mode_t mode = file.executable ? 0755 : 0644;
  const Fd out(
      OpenBeneath(dir->get(), temporary, O_WRONLY | O_CREAT | O_EXCL, mode));
  if (out.get() < 0) return Problem(file, strerror(errno));
  Sha256 hash;
  int64_t size = 0;
  std::string problem;
  const absl::Status fetched =
      transport.FetchFile(file.sha256, [&](std::string_view data) {
        hash.Add(data);
        size += static_cast<int64_t>(data.size());
        if (size > file.size_bytes) {
          problem =
              absl::StrCat("more than its ", file.size_bytes, " bytes came");
        } else if (!WriteAll(out.get(), data)) {
          problem = strerror(errno);
        }
        return problem.empty();
      });
  if (problem.empty() && !fetched.ok())
    problem = std::string(fetched.message());
  if (problem.empty() && hash.Hex() != file.sha256) {
    problem =
        absl::StrCat("what came does not have the hash '", file.sha256, "'");
  }
  if (problem.empty() &&
      renameat(dir->get(), temporary.c_str(), dir->get(), name.c_str()) != 0) {
    problem = strerror(errno);
  }
  if (problem.empty()) return absl::OkStatus();
  unlinkat(dir->get(), temporary.c_str(), 0);
  return Problem(file, problem);
}

CarriedFileFetcher::CarriedFileFetcher(Transport& transport, Done done)
    : transport_(transport), done_(std::move(done)), background_("fetch") {}

void CarriedFileFetcher::Fetch(const std::string& attempt,
                               const std::string& folder,
                               std::vector<CarriedFile> files) {
  background_.Post([this, attempt, folder, files = std::move(files)] {
    for (const CarriedFile& file : files) {
      const absl::Status placed = PlaceFile(transport_, folder, file);
      if (!placed.ok()) return done_(attempt, placed);
    }
    done_(attempt, absl::OkStatus());
  });
}

}  // namespace epochd::agent
