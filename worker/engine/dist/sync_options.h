// SPDX-License-Identifier: Apache-2.0
//
// How ranks share gradients and buffers: plain values, read from
// `experiment.ddp`.
#pragma once

#include <chrono>
#include <cstdint>

namespace epochd::engine {

// What travels in place of float gradients.
enum class Compression {
  kNone,
  kFp16,      // c10d's own: halves, summed, then divided
  kBf16,      // divided, then summed
  kPowerSgd,  // low-rank factors (dist/power_sgd.h)
};

// When buffers become the same on all ranks.
enum class BufferSync {
  kBroadcast,  // rank 0's, before each forward pass and each validation
  kMean,       // their mean, before each validation; own ones in training
  kLocal,      // never
};

struct PowerSgdOptions {
  int64_t rank = 1;  // of the factors
  // Synced steps without compression, at first.
  int64_t start_step = 1000;
  // Matrices that would shrink less than this stay as they are.
  double min_compression_rate = 2;
  // Adds what the last step's compression lost; starts from the last factors.
  bool error_feedback = true;
  bool warm_start = true;
  // Added to norms, so that a zero gradient does not divide by zero.
  double epsilon = 1e-12;
  uint64_t seed = 0;  // of the first factors; the same on all ranks
};

struct SyncOptions {
  // Parameters may get no gradient on some or all ranks; costs a walk over the
  // graph and one more sum each step.
  bool find_unused_parameters = false;
  // The same parameters get gradients in every step; what the first step finds
  // unused stays so. Refused in later steps otherwise.
  bool static_graph = false;
  Compression compression = Compression::kNone;
  PowerSgdOptions power_sgd{};
  BufferSync buffers = BufferSync::kBroadcast;
  // Gradients are summed in groups of about this size.
  int64_t bucket_bytes = 25 << 20;
};

}  // namespace epochd::engine
