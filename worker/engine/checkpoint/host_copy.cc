// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/checkpoint/host_copy.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <unordered_set>
#include <vector>

#include "worker/engine/core/allocator.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace epochd::engine {
namespace {

constexpr int64_t kPieceBytes = 256 << 10;

// Each tensor begins at a cache line of its own.
constexpr int64_t RoundUp(size_t bytes) {
  return static_cast<int64_t>((bytes + 63) / 64 * 64);
}

// Copies past the caches: nobody reads the copy soon, and what the training
// has in them stays there.
void Stream(const char* from, char* to, size_t bytes) {
  size_t done = 0;
#ifdef __SSE2__
  constexpr size_t kLine = 64;
  constexpr size_t kAhead = 1024;
  const size_t head =
      std::min(bytes, (16 - reinterpret_cast<uintptr_t>(to) % 16) % 16);
  std::memcpy(to, from, head);
  done = head;
  for (; done + kLine <= bytes; done += kLine) {
    const auto* source = reinterpret_cast<const __m128i*>(from + done);
    auto* target = reinterpret_cast<__m128i*>(to + done);
    // Processors look ahead within a page only.
    _mm_prefetch(from + done + kAhead, _MM_HINT_NTA);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
#endif
  std::memcpy(to + done, from + done, bytes - done);
}

}  // namespace

// Threads take pieces one by one: where a core is busy with something else, the
// others do its share.
class HostCopy::Work {
 public:
  void Add(const at::Tensor& source, const at::Tensor& copy) {
    sources_.push_back(source);
    const auto* from = static_cast<const char*>(source.const_data_ptr());
    auto* to = static_cast<char*>(copy.mutable_data_ptr());
    const auto size = static_cast<int64_t>(source.nbytes());
    for (int64_t done = 0; done < size; done += kPieceBytes) {
      pieces_.push_back(
          {from + done, to + done,
           static_cast<size_t>(std::min(kPieceBytes, size - done))});
    }
  }
  size_t num_pieces() const { return pieces_.size(); }
  // Copies what nobody has begun with, then waits for the others. Any thread.
  void Finish() {
    for (size_t i = next_++; i < pieces_.size(); i = next_++) {
      const Piece& piece = pieces_[i];
      Stream(piece.from, piece.to, piece.bytes);
#ifdef __SSE2__
      // Other threads must see what was streamed.
      _mm_sfence();
#endif
      if (++num_done_ == pieces_.size()) num_done_.notify_all();
    }
    for (size_t done = num_done_; done < pieces_.size(); done = num_done_) {
      num_done_.wait(done);
    }
  }

 private:
  struct Piece {
    const char* from;
    char* to;
    size_t bytes;
  };

  std::vector<at::Tensor> sources_;  // last until they are copied
  std::vector<Piece> pieces_;
  std::atomic<size_t> next_ = 0;
  std::atomic<size_t> num_done_ = 0;
};

HostCopy::HostCopy() = default;
HostCopy::~HostCopy() { Finish(); }

void HostCopy::Finish() {
  if (late_ == nullptr) return;
  late_->Finish();
  late_.reset();
}

void HostCopy::Take(Snapshot& snapshot) {
  c10::NoGradGuard no_grad;
  std::vector<NamedTensor*> tensors;
  for (auto* list : {&snapshot.model, &snapshot.state}) {
    for (NamedTensor& each : *list) tensors.push_back(&each);
  }
  // Some live in the snapshot alone, and must last until they are copied.
  std::vector<at::Tensor> sources;
  std::optional<c10::Device> device;
  int64_t bytes = 0;
  for (const NamedTensor* each : tensors) {
    const at::Tensor& source = sources.emplace_back(each->tensor.detach());
    if (!source.is_cpu()) device = source.device();
    bytes += RoundUp(source.nbytes());
  }
  if (!block_.defined() || block_.numel() < bytes) {
    // Pinned, a copy from a device needs no further copy.
    block_ = at::empty({bytes}, at::TensorOptions(at::kByte).pinned_memory(
                                    device && device->is_cuda()));
    AdviseHugePages(block_.mutable_data_ptr(), block_.nbytes());
  }
  std::unordered_set<const c10::TensorImpl*> later;
  for (const Snapshot::Late& late : snapshot.late) {
    for (const at::Tensor& tensor : late.tensors) {
      later.insert(tensor.unsafeGetTensorImpl());
    }
  }
  Work now;
  late_ = std::make_shared<Work>();
  int64_t begin = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& source = sources[i];
    const auto size = static_cast<int64_t>(source.nbytes());
    const at::Tensor copy = block_.narrow(0, begin, size)
                                .view(source.scalar_type())
                                .view(source.sizes());
    begin += RoundUp(size);
    if (source.is_cpu() && source.is_contiguous()) {
      const bool may_wait =
          later.contains(tensors[i]->tensor.unsafeGetTensorImpl());
      (may_wait ? *late_ : now).Add(source, copy);
    } else {
      copy.copy_(source, /*non_blocking=*/true);
    }
    tensors[i]->tensor = copy;
  }
  for (const Snapshot::Late& late : snapshot.late) {
    late.reads->Add([work = late_] { work->Finish(); });
  }
  snapshot.late.clear();
  {
    constexpr size_t kPiecesPerThread = 16;
    const size_t workers =
        std::min(static_cast<size_t>(at::get_num_threads()),
                 std::max<size_t>(now.num_pieces() / kPiecesPerThread, 1));
    // Not at::parallel_for(): it is serial in code compiled without OpenMP.
    std::vector<std::jthread> others;
    while (others.size() + 1 < workers) {
      others.emplace_back([&now] { now.Finish(); });
    }
    now.Finish();
  }
  if (device) {
    c10::impl::VirtualGuardImpl(device->type())
        .synchronizeDevice(device->index());
  }
}

}  // namespace epochd::engine
