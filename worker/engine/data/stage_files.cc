// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/stage_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {

namespace fs = std::filesystem;

DataStages::DataStages(std::shared_ptr<DataModule> module,
                       Communicator& communicator)
    : module_(std::move(module)), is_main_rank_(communicator.rank() == 0) {
  if (is_main_rank_) module_->Prepare();
  communicator.Barrier();
  module_->Setup();
}

DataStages::~DataStages() {
  try {
    module_->Teardown(is_main_rank_);
  } catch (const std::exception&) {
  }
}

namespace {

// Of what cannot be, whatever the machine and however often it is tried, the
// job is the cause.
ErrorKind KindOf(int error) {
  const bool is_of_job = error == ELOOP || error == ENAMETOOLONG ||
                         error == EINVAL || error == ENOTDIR || error == EISDIR;
  return is_of_job ? ErrorKind::kBadSpec : ErrorKind::kInfrastructure;
}

[[noreturn]] void ThrowErrno(const std::string& path) {
  throw Error(KindOf(errno), "experiment.data_module: \"" + path +
                                 "\": " + std::strerror(errno));
}

// What is below `root`, and it: a line that ends in NUL for each, of files with
// size and time. Throws std::filesystem::filesystem_error.
std::string Listing(const fs::path& root) {
  std::vector<std::string> lines;
  const auto add = [&](const fs::path& path, const std::string& name) {
    const fs::file_status status = fs::status(path);
    if (fs::is_directory(status)) {
      lines.push_back("/ " + name);
      return;
    }
    if (!fs::is_regular_file(status)) {
      throw fs::filesystem_error(
          "neither a file nor a folder", path,
          std::make_error_code(std::errc::invalid_argument));
    }
    lines.push_back(
        std::to_string(fs::file_size(path)) + " " +
        std::to_string(fs::last_write_time(path).time_since_epoch().count()) +
        " " + name);
  };
  add(root, "");
  if (fs::is_directory(root)) {
    for (const auto& entry : fs::recursive_directory_iterator(
             root, fs::directory_options::follow_directory_symlink)) {
      add(entry.path(), entry.path().lexically_relative(root).string());
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) (text += line) += '\0';
  return text;
}

// With the times of the source, so that the copies can be told from others.
void CopyAll(const fs::path& from, const fs::path& to) {
  if (!fs::is_directory(from)) {
    fs::copy_file(from, to);
    fs::last_write_time(to, fs::last_write_time(from));
    return;
  }
  fs::create_directory(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    CopyAll(entry.path(), to / entry.path().filename());
  }
}

bool IsWithin(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end())
             .first == folder.end();
}

// Beside the target.
fs::path Beside(const fs::path& target, const char* ending) {
  return target.parent_path() / ("." + target.filename().string() + ending);
}

}  // namespace

// The file beside the target. It is locked as two parts: one by who looks and
// changes, the other, shared, by all jobs that use the target.
class StageFiles::Mark {
 public:
  explicit Mark(fs::path path) : path_(std::move(path)) { Lock(); }
  ~Mark() { Close(); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  // Waits for who changes now.
  void Lock() {
    while (true) {
      if (fd_ < 0) {
        fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
      }
      if (fd_ < 0 || !Set(F_WRLCK, kChange, F_OFD_SETLKW)) ThrowErrno(path_);
      struct stat mine, now;
      if (fstat(fd_, &mine) != 0) ThrowErrno(path_);
      if (stat(path_.c_str(), &now) == 0 && mine.st_ino == now.st_ino &&
          mine.st_dev == now.st_dev) {
        return;
      }
      Close();  // it was removed meanwhile
    }
  }
  void Unlock() { Set(F_UNLCK, kChange, F_OFD_SETLK); }
  // False: others use the target.
  bool UseAlone() { return Set(F_WRLCK, kUse, F_OFD_SETLK); }
  void Use() {
    if (!Set(F_RDLCK, kUse, F_OFD_SETLK)) ThrowErrno(path_);
  }

  std::string Read() const {
    std::string text;
    char buffer[1 << 16];
    while (true) {
      const ssize_t got =
          pread(fd_, buffer, sizeof(buffer), static_cast<off_t>(text.size()));
      if (got < 0) ThrowErrno(path_);
      if (got == 0) return text;
      text.append(buffer, static_cast<size_t>(got));
    }
  }
  void Write(const std::string& text) {
    if (ftruncate(fd_, 0) != 0) ThrowErrno(path_);
    for (size_t done = 0; done < text.size();) {
      const ssize_t got = pwrite(fd_, text.data() + done, text.size() - done,
                                 static_cast<off_t>(done));
      if (got <= 0) ThrowErrno(path_);
      done += static_cast<size_t>(got);
    }
  }
  void Remove() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }

 private:
  static constexpr off_t kChange = 0;
  static constexpr off_t kUse = 1;

  bool Set(short type, off_t part, int how) {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = part;
    lock.l_len = 1;
    while (fcntl(fd_, how, &lock) != 0) {
      if (errno != EINTR) return false;
    }
    return true;
  }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  const fs::path path_;
  int fd_ = -1;
};

StageFiles::StageFiles(std::string source, std::string target, bool remove)
    : source_(std::move(source)), target_(std::move(target)), remove_(remove) {}

StageFiles::~StageFiles() = default;

void StageFiles::Fail(const std::string& problem) const {
  throw Error(ErrorKind::kBadSpec,
              "experiment.data_module.target: \"" + target_ + "\" " + problem);
}

void StageFiles::Prepare() {
  std::error_code error;
  const fs::path source = fs::canonical(source_, error);
  if (error) {
    throw Error(ErrorKind::kBadSpec, "experiment.data_module.source: \"" +
                                         source_ + "\": " + error.message());
  }
  mark_.reset();
  try {
    fs::path target = fs::weakly_canonical(target_);
    if (!target.has_filename()) target = target.parent_path();
    if (IsWithin(target, source) || IsWithin(source, target)) {
      Fail("is the source, \"" + source_ +
           "\", within it or around it; a place apart from it is accepted");
    }
    fs::create_directories(target.parent_path());
    target_ = target.string();
    if (fs::is_symlink(fs::symlink_status(target)) && !fs::exists(target)) {
      Fail("is a link to what is not there; remove it, or name another place");
    }
    const std::string listing = Listing(source);
    auto mark = std::make_unique<Mark>(Beside(target, ".epochd-staged"));
    if (!Copy(listing, *mark)) return;
    mark->Use();
    mark->Unlock();
    mark_ = std::move(mark);
  } catch (const fs::filesystem_error& problem) {
    throw Error(KindOf(problem.code().value()),
                "experiment.data_module: \"" + source_ + "\" to \"" + target_ +
                    "\": " + problem.what());
  }
}

bool StageFiles::Copy(const std::string& listing, Mark& file) const {
  const std::string mark = file.Read();
  const bool is_there =
      fs::symlink_status(target_).type() != fs::file_type::not_found;
  const std::string there = is_there ? Listing(target_) : "";
  if (is_there && mark == listing + '\0' + there) return true;
  // A line is never empty.
  const size_t end = mark.find(std::string(2, '\0'));
  const bool is_ours =
      end != std::string::npos && mark.compare(end + 2, mark.npos, there) == 0;
  if (is_there && !is_ours) {
    if (mark.empty()) file.Remove();
    // As good as a copy, but not to be removed.
    if (there == listing) return false;
    Fail(
        "is there, and is not what StageFiles brought or was changed since; "
        "remove it, or name a place where nothing is");
  }
  if (!file.UseAlone()) {
    throw Error(ErrorKind::kInfrastructure,
                "experiment.data_module.target: \"" + target_ +
                    "\" is used by another job, but \"" + source_ +
                    "\" is not what it was when that one brought it");
  }
  const fs::path copy = Beside(target_, ".epochd-copy");
  const fs::path old = Beside(target_, ".epochd-old");
  fs::remove_all(copy);
  fs::remove_all(old);
  try {
    CopyAll(source_, copy);
    const std::string made = Listing(copy);
    // In an order that leaves nothing that looks like somebody else's.
    if (is_there) fs::rename(target_, old);
    file.Write(listing + '\0' + made);
    fs::rename(copy, target_);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(copy, ignored);
    throw;
  }
  fs::remove_all(old);
  return true;
}

void StageFiles::Teardown(bool is_main_rank) {
  const std::unique_ptr<Mark> mark = std::move(mark_);
  if (!remove_ || !is_main_rank || mark == nullptr) return;
  mark->Lock();
  const std::string text = mark->Read();
  const size_t end = text.find(std::string(2, '\0'));
  if (!mark->UseAlone() || end == std::string::npos ||
      text.compare(end + 2, text.npos, Listing(target_)) != 0) {
    return;
  }
  const fs::path old = Beside(target_, ".epochd-old");
  fs::remove_all(old);
  fs::rename(target_, old);
  mark->Remove();
  fs::remove_all(old);
}

std::vector<Entry<DataModule>> BuiltinDataModules() {
  return {{{.kind = "data_module",
            .name = "StageFiles",
            .help = "copies data to where data sets read it",
            .parameters = {{.name = "source",
                            .type = "path",
                            .required = true,
                            .help = "a file or a folder"},
                           {.name = "target",
                            .type = "string",
                            .required = true,
                            .help = "where it goes: an absolute path that all "
                                    "ranks see, where nothing is"},
                           {.name = "remove",
                            .type = "bool",
                            .default_value = false,
                            .help = "take it away when the last run that uses "
                                    "it is over"}}},
           [](const Params& params) -> std::shared_ptr<DataModule> {
             const std::string target = params.String("target");
             if (!fs::path(target).is_absolute()) {
               params.Fail("target",
                           "\"" + target + "\"; an absolute path is accepted");
             }
             return std::make_shared<StageFiles>(params.String("source"),
                                                 target, params.Bool("remove"));
           }}};
}

}  // namespace epochd::engine
