// SPDX-License-Identifier: Apache-2.0
//
// Preprocessor: what is done to each batch once it is there, before the model
// sees it: it is brought to the device and made ready there. In training,
// validation and prediction alike; batch augments in training alone.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/engine/core/batch.h"
#include "worker/engine/data/random.h"

namespace epochd::engine {

// Which batch it is. Chance depends on this alone, so a run that goes on draws
// as it would have.
struct BatchKey {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t batch = 0;  // of the epoch
  int rank = 0;
  bool is_training = false;
};

class Preprocessor {
 public:
  virtual ~Preprocessor() = default;

  // Gives the batch, ready and on `device`. One thread.
  virtual Batch Receive(const Batch& batch, c10::Device device,
                        const BatchKey& key) const = 0;
};

// Mixes samples of a batch. Works on the device that the batch is on.
class BatchAugment {
 public:
  virtual ~BatchAugment() = default;

  virtual void Apply(Batch& batch, Random& random) const = 0;
};

// MMEngine's ImgDataPreprocessor over named fields, [B, C, H, W] or, as
// signals, [B, C, T]; in this order:
//
//   channels are swapped (RGB <-> BGR)
//   (x - mean) / std per channel, in float
//   padded at bottom and right (at the end) to a multiple, with `mask` true
//   where the batch was real: [B, 1, H, W], or [B, T]; one that is there
//   already is padded, and so are `pad_fields`
//   in training: one of the batch augments, or none
//   cast
class DevicePreprocessor : public Preprocessor {
 public:
  struct Options {
    std::vector<std::string> fields{"input"};
    bool swap_channels = false;
    std::vector<double> mean{};  // one, or one per channel; empty: not done
    std::vector<double> std{};
    int64_t pad_multiple = 1;  // 1: not padded
    double pad_value = 0;
    // Further fields of the first one's height and width (length), or a
    // multiple of it, that are padded alike; whole numbers with `pad_label`.
    std::vector<std::string> pad_fields{};
    int64_t pad_label = -100;
    std::string mask = "mask";
    std::optional<at::ScalarType> cast{};
    bool non_blocking = true;
    std::vector<std::shared_ptr<BatchAugment>> augments{};
    // Chance of each; empty: all alike. What is missing to 1: none is applied.
    std::vector<double> augment_chances{};
  };
  // Throws Error(kBadSpec): lists whose lengths differ, a std of 0.
  explicit DevicePreprocessor(Options options);
  Batch Receive(const Batch& batch, c10::Device device,
                const BatchKey& key) const override;

 private:
  at::Tensor Prepared(const std::string& field, at::Tensor value) const;
  void Pad(Batch& batch) const;
  void PadAlike(Batch& batch, const at::Tensor& first) const;
  void Augment(Batch& batch, const BatchKey& key) const;

  const Options options_;
  // On the device of the last batch.
  mutable at::Tensor mean_;
  mutable at::Tensor std_;
};

}  // namespace epochd::engine
