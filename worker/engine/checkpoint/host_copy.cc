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
#include <utility>
#include <vector>
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

constexpr size_t kPieceBytes = 256 << 10;

// Copies past the caches: nobody reads the copy soon, and what the training
// has in them stays there.
void Stream(const Piece& piece) {
  size_t done = 0;
#ifdef __SSE2__
  constexpr size_t kLine = 64;
  const size_t head = std::min(
      piece.bytes, (16 - reinterpret_cast<uintptr_t>(piece.to) % 16) % 16);
  std::memcpy(piece.to, piece.from, head);
  done = head;
  for (; done + kLine <= piece.bytes; done += kLine) {
    const auto* from = reinterpret_cast<const __m128i*>(piece.from + done);
    auto* to = reinterpret_cast<__m128i*>(piece.to + done);
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
  std::atomic<size_t> next = 0;
  const auto most = static_cast<int64_t>((pieces.size() + 3) / 4);
  const int64_t workers = std::min<int64_t>(at::get_num_threads(), most);
  at::parallel_for(0, workers, 1, [&](int64_t, int64_t) {
    for (size_t i = next++; i < pieces.size(); i = next++) Stream(pieces[i]);
#ifdef __SSE2__
    // The writer's thread must see what was streamed.
    _mm_sfence();
#endif
  });
}

}  // namespace

void HostCopy::TakeList(std::vector<NamedTensor>& tensors, Buffers& buffers) {
  Buffers kept;
  std::optional<c10::Device> device;
  std::vector<Piece> pieces;
  // Some live in the snapshot alone, and must last until they are copied.
  std::vector<at::Tensor> sources;
  for (NamedTensor& each : tensors) {
    const at::Tensor source = sources.emplace_back(each.tensor.detach());
    at::Tensor& buffer = kept[each.name];
    auto found = buffers.find(each.name);
    if (found != buffers.end() &&
        found->second.scalar_type() == source.scalar_type() &&
        found->second.sizes() == source.sizes()) {
      buffer = std::move(found->second);
    } else {
      // Pinned, a copy from a device needs no further copy.
      buffer = at::empty(
          source.sizes(),
          source.options().device(at::kCPU).pinned_memory(source.is_cuda()));
    }
    if (source.is_cpu() && source.is_contiguous()) {
      const auto* from = static_cast<const char*>(source.const_data_ptr());
      auto* to = static_cast<char*>(buffer.data_ptr());
      for (size_t offset = 0; offset < source.nbytes(); offset += kPieceBytes) {
        pieces.push_back({from + offset, to + offset,
                          std::min(kPieceBytes, source.nbytes() - offset)});
      }
    } else {
      buffer.copy_(source, /*non_blocking=*/true);
      if (!source.is_cpu()) device = source.device();
    }
    each.tensor = buffer;
  }
  CopyAll(pieces);
  if (device) {
    c10::impl::VirtualGuardImpl(device->type())
        .synchronizeDevice(device->index());
  }
  buffers = std::move(kept);
}

void HostCopy::Take(Snapshot& snapshot) {
  c10::NoGradGuard no_grad;
  TakeList(snapshot.model, model_);
  TakeList(snapshot.state, state_);
}

}  // namespace epochd::engine
