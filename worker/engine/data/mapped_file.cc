// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/mapped_file.h"

#include <ATen/ATen.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace epochd::engine {

// What is mapped, for the handler, which may come at any time: nodes are reused
// but never freed, and `begin` is set last.
struct MappedRange {
  std::atomic<uintptr_t> begin = 0;  // 0: not in use
  std::atomic<size_t> size = 0;
  std::atomic<const char*> path = nullptr;
  MappedRange* next = nullptr;
};

namespace {

std::atomic<MappedRange*> first_range = nullptr;
std::mutex range_mutex;  // of those who change them
std::atomic<int> unreadable_exit_code = -1;
struct sigaction previous_bus_action;

MappedRange* AddRange(uintptr_t begin, size_t size, const char* path) {
  std::lock_guard lock(range_mutex);
  MappedRange* range = first_range;
  while (range != nullptr && range->begin != 0) range = range->next;
  if (range == nullptr) {
    range = new MappedRange;
    range->next = first_range;
    first_range = range;
  }
  range->size = size;
  range->path = path;
  range->begin = begin;
  return range;
}

// Only what a signal handler may do.
void TellUnreadable(const char* path, size_t byte) {
  std::array<char, 24> digits;
  char* number = digits.data() + digits.size();
  size_t length = 0;
  do {
    *--number = static_cast<char>('0' + byte % 10);
    byte /= 10;
    ++length;
  } while (byte != 0);
  for (const std::string_view part :
       {std::string_view("file \""), std::string_view(path),
        std::string_view("\": cannot be read at byte "),
        std::string_view(number, length),
        std::string_view(", while it is used: it was shortened, or its disk "
                         "fails\n")}) {
    if (write(STDERR_FILENO, part.data(), part.size()) < 0) return;
  }
}

void OnBusError(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const bool was_sent = info->si_code <= 0;  // by a process
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const MappedRange* range = was_sent ? nullptr : first_range.load();
       range != nullptr; range = range->next) {
    const uintptr_t begin = range->begin;
    if (begin == 0 || address < begin || address - begin >= range->size) {
      continue;
    }
    TellUnreadable(range->path, address - begin);
    if (unreadable_exit_code >= 0) _exit(unreadable_exit_code);
    break;
  }
  errno = error;
  const bool is_ignored = previous_bus_action.sa_handler == SIG_IGN;
  if ((previous_bus_action.sa_flags & SA_SIGINFO) != 0) {
    previous_bus_action.sa_sigaction(signal, info, context);
  } else if (previous_bus_action.sa_handler != SIG_DFL && !is_ignored) {
    previous_bus_action.sa_handler(signal);
  } else if (!was_sent || !is_ignored) {
    // What faulted does so again, and meets what was there before.
    sigaction(SIGBUS, &previous_bus_action, nullptr);
    if (was_sent) raise(signal);
  }
}

void CatchBusErrors() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = OnBusError;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    // Known before ours can be called.
    sigaction(SIGBUS, nullptr, &previous_bus_action);
    sigaction(SIGBUS, &action, nullptr);
  });
}

}  // namespace

class MappedFile {
 public:
  // nullptr: the file cannot be mapped.
  static std::shared_ptr<const MappedFile> Map(const RandomAccessFile& file) {
    CatchBusErrors();
    const auto size = static_cast<size_t>(file.num_bytes());
    // Writable so that changing a tensor in place is no crash; no memory is set
    // aside for that. Pages come when they are used: filling them in ahead
    // (MAP_POPULATE, MADV_POPULATE_READ) was measured to be no faster.
    void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_NORESERVE, file.descriptor(), 0);
    if (pages == MAP_FAILED) return nullptr;
    return std::shared_ptr<const MappedFile>(
        new MappedFile(file.path(), pages, size));
  }
  ~MappedFile() {
    range_->begin = 0;
    munmap(pages_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* pages() const { return static_cast<char*>(pages_); }

 private:
  MappedFile(std::string path, void* pages, size_t size)
      : path_(std::move(path)),
        pages_(pages),
        size_(size),
        range_(AddRange(reinterpret_cast<uintptr_t>(pages), size,
                        path_.c_str())) {}

  const std::string path_;
  void* const pages_;
  const size_t size_;
  MappedRange* const range_;
};

at::Tensor FileTensors::At(int64_t offset, at::IntArrayRef shape,
                           at::ScalarType type) {
  const auto item = static_cast<int64_t>(c10::elementSize(type));
  int64_t size = item;
  for (const int64_t each : shape) size *= each;
  if (size >= kLeastMapped && offset % item == 0 && can_map_) {
    if (mapped_ == nullptr) mapped_ = MappedFile::Map(file_);
    can_map_ = mapped_ != nullptr;
    if (can_map_) {
      return at::from_blob(
          mapped_->pages() + offset, shape, [mapped = mapped_](void*) {}, type);
    }
  }
  at::Tensor tensor = at::empty(shape, type);
  if (size > 0) {
    file_.ReadBulk(offset, {static_cast<uint8_t*>(tensor.mutable_data_ptr()),
                            tensor.nbytes()});
  }
  return tensor;
}

void EndUnreadableMappings(int exit_code) { unreadable_exit_code = exit_code; }

}  // namespace epochd::engine
