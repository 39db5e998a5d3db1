// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/power_sgd.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <string>
#include <utility>

#include "worker/engine/core/seed.h"

namespace epochd::engine {
namespace {

constexpr char kPrefix[] = "power_sgd.";

class PowerSgdHook
    : public c10d::CppCommHookInterface<std::shared_ptr<PowerSgd>> {
 public:
  using CppCommHookInterface::CppCommHookInterface;

  c10::intrusive_ptr<c10::ivalue::Future> runHook(
      c10d::GradBucket& bucket) override {
    // Its sums depend on each other, so nothing is gained by a later end.
    auto done = c10::make_intrusive<c10::ivalue::Future>(
        c10::TensorType::get(),
        std::vector<c10::Device>(
            bucket.getBuffer().is_cuda()
                ? std::vector<c10::Device>{bucket.getBuffer().device()}
                : std::vector<c10::Device>{}));
    done->markCompleted(c10::IValue(state_->Average(bucket)));
    return done;
  }
};

}  // namespace

void Orthonormalise(at::Tensor matrix, double epsilon) {
  const int64_t columns = matrix.size(1);
  if (columns > 2) {
    matrix.copy_(std::get<0>(at::linalg_qr(matrix)));
    return;
  }
  for (int64_t i = 0; i < columns; ++i) {
    at::Tensor column = matrix.slice(1, i, i + 1);
    column.div_(at::norm(column) + epsilon);
    if (i + 1 == columns) break;
    at::Tensor rest = matrix.slice(1, i + 1);
    rest.sub_(at::sum(column * rest, 0, /*keepdim=*/true) * column);
  }
}

void PowerSgd::Sum(at::Tensor& tensor) {
  if (tensor.numel() == 0) return;
  std::vector<at::Tensor> tensors{tensor};
  group_->allreduce(tensors)->wait();
}

bool PowerSgd::IsCompressed(int64_t n, int64_t m, int64_t r) const {
  return static_cast<double>((n + m) * r) * options_.min_compression_rate <
         static_cast<double>(n * m);
}

at::Tensor PowerSgd::Average(c10d::GradBucket& bucket) {
  c10::NoGradGuard no_grad;
  at::Tensor buffer = bucket.getBuffer();
  if (steps_ < options_.start_step) {
    buffer.div_(group_->getSize());
    Sum(buffer);
  } else {
    Memory& memory = memories_[bucket.getIndex()];
    at::Tensor before;
    if (options_.error_feedback) {
      if (memory.error.defined()) buffer.add_(memory.error);
      before = buffer.clone();
    }
    Compress(bucket, memory);
    if (options_.error_feedback) memory.error = before - buffer;
    if (!options_.warm_start) memory.p = memory.q = at::Tensor();
  }
  if (bucket.isLast()) ++steps_;
  return buffer;
}

void PowerSgd::Compress(c10d::GradBucket& bucket, Memory& memory) {
  const int64_t world_size = group_->getSize();
  std::vector<at::Tensor> matrices;
  std::vector<at::Tensor> others;
  std::vector<int64_t> ranks;
  int64_t p_size = 0;
  int64_t q_size = 0;
  for (const at::Tensor& gradient : bucket.getGradients()) {
    const int64_t n = gradient.dim() > 0 ? gradient.size(0) : 1;
    const int64_t m = n > 0 ? gradient.numel() / n : 0;
    const int64_t r = std::min({n, m, options_.rank});
    if (!IsCompressed(n, m, r)) {
      others.push_back(gradient);
      continue;
    }
    matrices.push_back(gradient.view({n, m}));
    ranks.push_back(r);
    p_size += n * r;
    q_size += m * r;
  }
  if (!others.empty()) {
    std::vector<at::Tensor> flat;
    for (const at::Tensor& each : others) flat.push_back(each.flatten());
    at::Tensor all = at::cat(flat);
    Sum(all);
    all.div_(world_size);
    int64_t offset = 0;
    for (at::Tensor& each : others) {
      each.copy_(all.slice(0, offset, offset + each.numel()).view_as(each));
      offset += each.numel();
    }
  }
  if (matrices.empty()) return;
  const bool is_first = !memory.q.defined();
  if (is_first) {
    memory.p = at::empty({p_size}, matrices[0].options());
    memory.q = at::empty({q_size}, matrices[0].options());
  }
  std::vector<at::Tensor> ps;
  std::vector<at::Tensor> qs;
  int64_t p_begin = 0;
  int64_t q_begin = 0;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const int64_t n = matrices[i].size(0);
    const int64_t m = matrices[i].size(1);
    const int64_t r = ranks[i];
    ps.push_back(memory.p.slice(0, p_begin, p_begin + n * r).view({n, r}));
    qs.push_back(memory.q.slice(0, q_begin, q_begin + m * r).view({m, r}));
    p_begin += n * r;
    q_begin += m * r;
  }
  if (is_first) {
    // Equal on all ranks, other each step, and none of the training's numbers.
    at::Generator generator = at::detail::createCPUGenerator(
        HashSeed32({options_.seed, static_cast<uint64_t>(steps_),
                    static_cast<uint64_t>(bucket.getIndex())}));
    for (at::Tensor& q : qs) {
      q.copy_(at::randn(q.sizes(), generator, q.options().device(at::kCPU)));
    }
  }
  for (size_t i = 0; i < matrices.size(); ++i) {
    Orthonormalise(qs[i], options_.epsilon);
    at::mm_out(ps[i], matrices[i], qs[i]);
  }
  Sum(memory.p);
  for (size_t i = 0; i < matrices.size(); ++i) {
    Orthonormalise(ps[i], options_.epsilon);
    at::mm_out(qs[i], matrices[i].t(), ps[i]);
  }
  Sum(memory.q);
  memory.q.div_(world_size);
  for (size_t i = 0; i < matrices.size(); ++i) {
    at::mm_out(matrices[i], ps[i], qs[i].t());
  }
}

std::vector<NamedTensor> PowerSgd::Tensors() const {
  std::vector<NamedTensor> tensors;
  for (const auto& [bucket, memory] : memories_) {
    const std::string name = kPrefix + std::to_string(bucket);
    if (memory.error.defined()) {
      tensors.push_back({name + ".error", memory.error});
    }
    if (!memory.q.defined()) continue;
    tensors.push_back({name + ".p", memory.p});
    tensors.push_back({name + ".q", memory.q});
  }
  return tensors;
}

void PowerSgd::LoadTensors(const std::vector<NamedTensor>& saved) {
  memories_.clear();
  for (const NamedTensor& each : saved) {
    if (!each.name.starts_with(kPrefix)) continue;
    const std::string rest = each.name.substr(sizeof(kPrefix) - 1);
    const size_t dot = rest.find('.');
    Memory& memory = memories_[std::stoul(rest.substr(0, dot))];
    const std::string what = rest.substr(dot + 1);
    at::Tensor& into = what == "error" ? memory.error
                       : what == "p"   ? memory.p
                                       : memory.q;
    into = each.tensor.clone();
  }
}

std::unique_ptr<c10d::CommHookInterface> MakePowerSgdHook(
    std::shared_ptr<PowerSgd> power_sgd) {
  return std::make_unique<PowerSgdHook>(std::move(power_sgd));
}

}  // namespace epochd::engine
