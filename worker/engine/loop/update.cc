// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/update.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/scalar.h"

namespace epochd::engine {
namespace {

void Count(bool is_left_out, Update::LeftOut& counts) {
  counts.total += is_left_out ? 1 : 0;
  counts.in_a_row = is_left_out ? counts.in_a_row + 1 : 0;
}

}  // namespace

Update::Update(std::string name, std::shared_ptr<Optimizer> optimizer,
               const Options& options)
    : name_(std::move(name)),
      optimizer_(std::move(optimizer)),
      options_(options) {
  if (options_.accumulation < 1) {
    throw Error(ErrorKind::kBadSpec, "gradient_accumulation_steps: " +
                                         std::to_string(options_.accumulation) +
                                         "; 1 or more is accepted");
  }
  if (optimizer_->may_need_closure() &&
      (options_.accumulation > 1 || options_.scaler)) {
    throw Error(ErrorKind::kBadSpec,
                name_ +
                    ": evaluates the loss several times a step, which goes "
                    "neither with accumulation nor with fp16");
  }
  if (options_.scaler) scaler_.emplace(*options_.scaler);
}

Update::Share Update::ShareOf(int64_t index, int64_t total,
                              bool is_last) const {
  const int64_t size = options_.accumulation;
  Share share{.ends_group = is_last || (index + 1) % size == 0,
              .divisor = static_cast<double>(size)};
  if (options_.remainder == Remainder::kActual && total >= 0) {
    const int64_t left = total % size;
    if (index >= total - left) share.divisor = static_cast<double>(left);
  }
  return share;
}

void Update::Backward(GradientSync& sync, const at::Tensor& loss,
                      const Share& share, double num_items) {
  const bool counts = CountsItems(sync);
  at::Tensor scaled = loss;
  losses_.push_back(WithoutGraph(loss));
  if (counts) {
    if (scaler_ && num_waiting_ == 0) ExpectItems(sync, num_items);
    // Half floats end at 65504.
    if (expected_items_.defined()) scaled = scaled.to(at::kFloat);
    scaled = scaled * num_items;
    if (expected_items_.defined()) scaled = scaled / expected_items_;
    num_items_ += num_items;
  } else if (share.divisor != 1) {
    scaled = scaled / share.divisor;
  }
  if (scaler_) scaled = scaled.to(at::kFloat) * scaler_->scale();
  sync.Backward(scaled, share.ends_group);
  ++num_waiting_;
  if (counts && share.ends_group) DivideByItems(sync);
}

void Update::ExpectItems(GradientSync& sync, double num_items) {
  if (optimizer_->parameters().empty()) return;
  const c10::NoGradGuard no_grad;
  const at::Tensor& some = optimizer_->parameters().front().tensor;
  const at::Tensor total =
      sync.Sum(at::full({}, num_items, some.options().dtype(at::kDouble)));
  const double batches = static_cast<double>(options_.accumulation) /
                         static_cast<double>(sync.num_ranks());
  // Stays on the device, so that nothing waits.
  expected_items_ = at::clamp_min(total * batches, 1.0);
}

void Update::DivideByItems(GradientSync& sync) {
  const c10::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = Gradients();
  if (optimizer_->parameters().empty()) return;
  const at::Tensor& some = optimizer_->parameters().front().tensor;
  const at::Tensor total =
      sync.Sum(at::full({}, num_items_, some.options().dtype(at::kDouble)));
  // Where nothing counts, gradients are 0 already.
  at::Tensor factor = at::where(
      total > 0, static_cast<double>(sync.num_ranks()) / total, total);
  if (expected_items_.defined()) factor = factor * expected_items_;
  if (!gradients.empty()) {
    at::_foreach_mul_(gradients, factor.to(some.scalar_type()));
  }
}

void Update::CloseGroup(GradientSync& sync) {
  // Ranks average in a backward pass; this one adds nothing.
  at::Tensor zero;
  for (const NamedTensor& each : optimizer_->parameters()) {
    if (!each.tensor.requires_grad()) continue;
    const at::Tensor part = each.tensor.sum() * 0;
    zero = zero.defined() ? zero + part : part;
  }
  if (!zero.defined()) return;
  sync.BeforeForward(true);
  sync.Backward(zero, true);
  if (CountsItems(sync)) DivideByItems(sync);
}

std::vector<at::Tensor> Update::Gradients() const {
  std::vector<at::Tensor> gradients;
  gradients.reserve(optimizer_->parameters().size());
  for (const NamedTensor& each : optimizer_->parameters()) {
    if (each.tensor.grad().defined()) gradients.push_back(each.tensor.grad());
  }
  return gradients;
}

void Update::Unscale() {
  if (!scaler_ || is_unscaled_) return;
  is_unscaled_ = true;
  const c10::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = Gradients();
  if (gradients.empty()) return;
  const auto options = gradients.front().options().dtype(at::kFloat);
  at::Tensor found = at::zeros({1}, options);
  at::_amp_foreach_non_finite_check_and_unscale_(
      gradients, found, at::full({}, scaler_->inverse(), options));
  found_non_finite_ = found.item<float>() != 0;
}

at::Tensor Update::Norm(double norm_type) {
  Unscale();
  const c10::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = Gradients();
  if (gradients.empty()) return at::zeros({}, at::kFloat);
  return at::linalg_vector_norm(
      at::stack(at::_foreach_norm(gradients, norm_type)), norm_type);
}

at::Tensor Update::ClipNorm(double max_norm, double norm_type) {
  clips_.push_back({max_norm, norm_type});
  const at::Tensor norm = Norm(norm_type);
  const c10::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = Gradients();
  if (gradients.empty()) return norm;
  at::_foreach_mul_(gradients, at::clamp(max_norm / (norm + 1e-6), {}, 1.0));
  return norm;
}

void Update::ClipValue(double limit) {
  clips_.push_back({limit, std::nullopt});
  Unscale();
  const c10::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = Gradients();
  if (gradients.empty()) return;
  at::_foreach_clamp_min_(gradients, -limit);
  at::_foreach_clamp_max_(gradients, limit);
}

void Update::ClipAgain() {
  for (const Clip& clip : std::exchange(clips_, {})) {
    if (clip.norm_type) {
      ClipNorm(clip.limit, *clip.norm_type);
    } else {
      ClipValue(clip.limit);
    }
  }
}

std::string Update::FindNonFinite() {
  Unscale();
  for (const NamedTensor& each : optimizer_->parameters()) {
    const at::Tensor& gradient = each.tensor.grad();
    if (gradient.defined() && !IsFinite(gradient)) return each.name;
  }
  return "";
}

bool Update::MustLook() const {
  if (must_look_) return true;
  switch (options_.non_finite) {
    case NonFinite::kSkip:
    case NonFinite::kError:
      return true;
    case NonFinite::kApply:
      return false;
    case NonFinite::kAuto:
      break;
  }
  const auto& parameters = optimizer_->parameters();
  return !parameters.empty() && parameters.front().tensor.is_cpu();
}

bool Update::Step(const Optimizer::Closure& evaluate) {
  Unscale();
  if (!scaler_ && MustLook()) {
    const std::string odd = FindNonFinite();
    found_non_finite_ = !odd.empty();
    if (found_non_finite_ && options_.non_finite == NonFinite::kError) {
      throw Error(ErrorKind::kTraining,
                  name_ + ": the gradient of \"" + odd +
                      "\" is not finite; non_finite_gradients: skip would "
                      "leave such steps out");
    }
  }
  const bool steps = !found_non_finite_;
  if (steps && evaluate) {
    optimizer_->Step(evaluate);
  } else if (steps) {
    optimizer_->Step();
  }
  EndStep(found_non_finite_);
  return steps;
}

void Update::Drop() { EndStep(found_non_finite_); }

void Update::Forget() {
  optimizer_->ZeroGrad();
  is_unscaled_ = found_non_finite_ = false;
  num_waiting_ = 0;
  clips_.clear();
  num_items_ = 0;
  expected_items_.reset();
  losses_.clear();
}

void Update::EndStep(bool found_non_finite) {
  if (scaler_ && is_unscaled_) scaler_->Update(found_non_finite);
  if (found_non_finite) {
    loss_was_finite_ = std::all_of(losses_.begin(), losses_.end(), &IsFinite);
  }
  Count(found_non_finite, left_out_);
  Count(found_non_finite && !(scaler_ && loss_was_finite_), faults_);
  if (options_.max_skipped_in_a_row > 0 &&
      left_out_.in_a_row >= options_.max_skipped_in_a_row) {
    throw Error(ErrorKind::kTraining,
                name_ + ": gradients were not finite in " +
                    std::to_string(left_out_.in_a_row) +
                    " steps in a row; a smaller learning rate, clipped "
                    "gradients or other data are needed (max_non_finite_steps "
                    "sets how many are borne)");
  }
  Forget();
}

nlohmann::ordered_json Update::State() const {
  nlohmann::ordered_json state = {{"skipped", left_out_.total},
                                  {"skipped_in_a_row", left_out_.in_a_row},
                                  {"faults", faults_.total},
                                  {"faults_in_a_row", faults_.in_a_row}};
  if (scaler_) state["scaler"] = scaler_->State();
  return state;
}

void Update::LoadState(const nlohmann::ordered_json& state) {
  left_out_ = {.total = state.value("skipped", int64_t{0}),
               .in_a_row = state.value("skipped_in_a_row", int64_t{0})};
  faults_ = {.total = state.value("faults", int64_t{0}),
             .in_a_row = state.value("faults_in_a_row", int64_t{0})};
  const auto scaler = state.find("scaler");
  if (scaler_ && scaler != state.end()) scaler_->LoadState(*scaler);
}

}  // namespace epochd::engine
