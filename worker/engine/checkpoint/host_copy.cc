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
#include <vector>

#include "worker/engine/core/allocator.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace epochd::engine {
namespace {

struct Piece {
  const char* from;
  char* to;
  size_t bytes;
};

constexpr int64_t kPieceBytes = 256 << 10;

// Each tensor begins at a cache line of its own.
constexpr int64_t RoundUp(size_t bytes) {
  return static_cast<int64_t>((bytes + 63) / 64 * 64);
}

// Copies past the caches: nobody reads the copy soon, and what the training
// has in them stays there.
void Stream(const Piece& piece) {
  size_t done = 0;
#ifdef __SSE2__
  constexpr size_t kLine = 64;
  constexpr size_t kAhead = 1024;
  const size_t head = std::min(
      piece.bytes, (16 - reinterpret_cast<uintptr_t>(piece.to) % 16) % 16);
  std::memcpy(piece.to, piece.from, head);
  done = head;
  for (; done + kLine <= piece.bytes; done += kLine) {
    const auto* from = reinterpret_cast<const __m128i*>(piece.from + done);
    auto* to = reinterpret_cast<__m128i*>(piece.to + done);
    // Processors look ahead within a page only.
    _mm_prefetch(piece.from + done + kAhead, _MM_HINT_NTA);
    const __m128i a = _mm_loadu_si128(from);
    const __m128i b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2);
    const __m128i d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
#endif
  std::memcpy(piece.to + done, piece.from + done, piece.bytes - done);
}

// Threads take pieces one by one: where a core is busy with something else, the
// others do its share.
void CopyAll(const std::vector<Piece>& pieces) {
  constexpr size_t kPiecesPerThread = 16;
  std::atomic<size_t> next = 0;
  const auto copy = [&] {
    for (size_t i = next++; i < pieces.size(); i = next++) Stream(pieces[i]);
#ifdef __SSE2__
    // The writer's thread must see what was streamed.
    _mm_sfence();
#endif
  };
  const size_t workers =
      std::min(static_cast<size_t>(at::get_num_threads()),
               std::max<size_t>(pieces.size() / kPiecesPerThread, 1));
  // Not at::parallel_for(): it is serial in code compiled without OpenMP.
  std::vector<std::jthread> others;
  while (others.size() + 1 < workers) others.emplace_back(copy);
  copy();
}

}  // namespace

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
  std::vector<Piece> pieces;
  int64_t begin = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& source = sources[i];
    const auto size = static_cast<int64_t>(source.nbytes());
    const at::Tensor copy = block_.narrow(0, begin, size)
                                .view(source.scalar_type())
                                .view(source.sizes());
    begin += RoundUp(size);
    if (source.is_cpu() && source.is_contiguous()) {
      const auto* from = static_cast<const char*>(source.const_data_ptr());
      auto* to = static_cast<char*>(copy.mutable_data_ptr());
      for (int64_t done = 0; done < size; done += kPieceBytes) {
        pieces.push_back(
            {from + done, to + done,
             static_cast<size_t>(std::min(kPieceBytes, size - done))});
      }
    } else {
      copy.copy_(source, /*non_blocking=*/true);
    }
    tensors[i]->tensor = copy;
  }
  CopyAll(pieces);
  if (device) {
    c10::impl::VirtualGuardImpl(device->type())
        .synchronizeDevice(device->index());
  }
}

}  // namespace epochd::engine
