// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/core/batch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <sstream>

#include "worker/engine/core/error.h"

namespace epochd::engine {

const at::Tensor* Batch::Find(std::string_view name) const {
  for (const auto& [key, value] : entries_) {
    if (key == name) return &value;
  }
  return nullptr;
}

const at::Tensor& Batch::At(std::string_view name) const {
  if (const at::Tensor* found = Find(name)) return *found;
  std::ostringstream message;
  message << "batch field \"" << name << "\": not there; the batch has";
  for (const auto& [key, value] : entries_) message << " \"" << key << "\"";
  if (entries_.empty()) message << " no fields";
  throw Error(ErrorKind::kBadSpec, message.str());
}

void Batch::Set(std::string_view name, at::Tensor value) {
  for (auto& [key, old] : entries_) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  entries_.emplace_back(std::string(name), std::move(value));
}

bool Batch::Erase(std::string_view name) {
  auto found =
      std::find_if(entries_.begin(), entries_.end(),
                   [name](const Entry& entry) { return entry.first == name; });
  if (found == entries_.end()) return false;
  entries_.erase(found);
  return true;
}

void Batch::Merge(Batch other) {
  for (auto& [key, value] : other.entries_) Set(key, std::move(value));
}

int64_t Batch::Size() const {
  if (entries_.empty() || entries_.front().second.dim() == 0) return 0;
  return entries_.front().second.size(0);
}

Batch Batch::To(c10::Device device, bool non_blocking) const {
  Batch moved = *this;
  moved.MoveTo(device, non_blocking);
  return moved;
}

void Batch::MoveTo(c10::Device device, bool non_blocking) {
  for (auto& [key, value] : entries_) {
    if (value.device() == device) continue;
    value = value.to(device, value.scalar_type(), non_blocking);
  }
}

Batch Stack(const std::vector<Batch>& samples,
            std::span<const int64_t> indices) {
  Batch batch;
  if (samples.empty()) return batch;
  std::vector<at::Tensor> column(samples.size());
  for (const auto& [key, first] : samples.front()) {
    for (size_t i = 0; i < samples.size(); ++i) {
      column[i] = samples[i].At(key);
      if (column[i].sizes() != first.sizes()) {
        std::ostringstream message;
        message << "batch field \"" << key << "\": sample "
                << (indices.empty() ? static_cast<int64_t>(i) : indices[i])
                << " has shape " << column[i].sizes() << ", ";
        if (indices.empty()) {
          message << "the first ";
        } else {
          message << "sample " << indices[0] << " ";
        }
        message << first.sizes() << "; samples of a batch must agree";
        throw Error(ErrorKind::kBadSpec, message.str());
      }
    }
    batch.Set(key, at::stack(column));
  }
  return batch;
}

Batch SampleOf(const Batch& batch, int64_t index) {
  Batch sample;
  for (const auto& [name, values] : batch) {
    sample.Set(name, values.select(0, index));
  }
  return sample;
}

}  // namespace epochd::engine
