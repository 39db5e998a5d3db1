// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/balancer.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "worker/engine/core/error.h"
#include "worker/engine/core/number.h"

namespace epochd::engine {
namespace {

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

torch::autograd::variable_list GradientsOf(
    const at::Tensor& value, const std::vector<at::Tensor>& parameters) {
  return torch::autograd::grad({value}, parameters, /*grad_outputs=*/{},
                               /*retain_graph=*/true, /*create_graph=*/false,
                               /*allow_unused=*/true);
}

// The gradient of `value` over `parameters`, one after the other.
at::Tensor FlatGradient(const at::Tensor& value,
                        const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> flat;
  torch::autograd::variable_list gradients(parameters.size());
  if (value.requires_grad()) gradients = GradientsOf(value, parameters);
  for (size_t i = 0; i < parameters.size(); ++i) {
    flat.push_back(gradients[i].defined()
                       ? gradients[i].to(at::kFloat).flatten()
                       : at::zeros({parameters[i].numel()},
                                   value.options().dtype(at::kFloat)));
  }
  return flat.empty() ? at::zeros({0}) : at::cat(flat);
}

// Squared norm of the gradient of `value` over `parameters`.
double SquaredNorm(const at::Tensor& value,
                   const std::vector<at::Tensor>& parameters) {
  if (!value.requires_grad()) return 0.0;
  at::Tensor sum;
  for (const at::Tensor& gradient : GradientsOf(value, parameters)) {
    if (!gradient.defined()) continue;
    const at::Tensor part = gradient.to(at::kFloat).square().sum();
    sum = sum.defined() ? sum + part : part;
  }
  return sum.defined() ? sum.item<double>() : 0.0;
}

}  // namespace

void LossBalancer::Bind(std::vector<at::Tensor> parameters,
                        Communicator* communicator) {
  parameters_ = std::move(parameters);
  std::erase_if(parameters_,
                [](const at::Tensor& each) { return !each.requires_grad(); });
  communicator_ = communicator;
}

double LossBalancer::WeightOf(const std::string& name) const {
  const auto own = weights_.find(name);
  if (own != weights_.end()) return own->second;
  const auto initial = options_.initial_weights.find(name);
  return initial == options_.initial_weights.end() ? 1.0 : initial->second;
}

void LossBalancer::MaybeUpdate(int64_t step, const std::vector<Term>& terms,
                               const Batch& batch) {
  const int64_t start = options_.start.value_or(options_.every);
  if (step < start || (step - start) % options_.every != 0) return;
  const std::vector<double> measured = Measure(terms, batch);
  if (measured.empty()) return;
  // A gradient that is not finite says nothing about the others.
  if (!std::all_of(measured.begin(), measured.end(),
                   [](double value) { return std::isfinite(value); })) {
    return;
  }
  std::vector<double> weights;
  for (const Term& term : terms) weights.push_back(WeightOf(*term.name));
  const std::vector<double> raw = RawWeights(measured, weights);
  for (size_t i = 0; i < terms.size(); ++i) {
    weights_[*terms[i].name] =
        options_.momentum * weights[i] + (1.0 - options_.momentum) * raw[i];
  }
}

at::Tensor LossBalancer::MeanOverRanks(const at::Tensor& values) const {
  if (num_ranks() == 1) return values;
  at::Tensor sum = values.to(at::kCPU, values.scalar_type(),
                             /*non_blocking=*/false, /*copy=*/true);
  communicator_->AllReduceSum(sum);
  return sum / num_ranks();
}

nlohmann::ordered_json LossBalancer::State() const {
  auto state = nlohmann::ordered_json::object();
  for (const auto& [name, weight] : weights_) state[name] = FromNumber(weight);
  return state;
}

void LossBalancer::LoadState(const nlohmann::ordered_json& state) {
  weights_.clear();
  for (const auto& [name, weight] : state.items()) {
    weights_[name] = ToNumber(weight);
  }
}

std::vector<double> GradientNormBalancer::Measure(
    const std::vector<Term>& terms, const Batch& /*batch*/) const {
  std::vector<double> norms;
  for (const Term& term : terms) {
    norms.push_back(MeanOverRanks(FlatGradient(term.value, parameters()))
                        .norm()
                        .item<double>());
  }
  return norms;
}

std::vector<double> GradientNormBalancer::RawWeights(
    const std::vector<double>& measured,
    const std::vector<double>& weights) const {
  const double mean = MeanOf(measured);
  if (!(mean > 0.0)) return weights;
  constexpr double kTiny = std::numeric_limits<float>::min();
  std::vector<double> raw;
  for (const double norm : measured) {
    raw.push_back(mean / std::max(norm + options().eps * mean, kTiny));
  }
  return raw;
}

std::vector<double> NtkBalancer::Measure(const std::vector<Term>& terms,
                                         const Batch& batch) const {
  const int64_t wanted = (num_samples_ + num_ranks() - 1) / num_ranks();
  std::vector<double> traces;
  for (const Term& term : terms) {
    const at::Tensor residual = term.loss->Residual(batch);
    const int64_t samples = std::min(wanted, residual.size(0));
    double sum = 0.0;
    for (int64_t sample = 0; sample < samples; ++sample) {
      const at::Tensor values = residual[sample].flatten();
      for (int64_t i = 0; i < values.numel(); ++i) {
        sum += SquaredNorm(values[i], parameters());
      }
    }
    traces.push_back(sum / static_cast<double>(std::max<int64_t>(1, samples)));
  }
  const at::Tensor mean = MeanOverRanks(at::tensor(traces, at::kDouble));
  std::copy_n(mean.const_data_ptr<double>(), traces.size(), traces.begin());
  return traces;
}

std::vector<double> NtkBalancer::RawWeights(
    const std::vector<double>& measured,
    const std::vector<double>& weights) const {
  const double mean = MeanOf(measured);
  if (!(mean > options().eps)) return weights;
  std::vector<double> raw;
  for (size_t i = 0; i < measured.size(); ++i) {
    raw.push_back(measured[i] > options().eps ? mean / measured[i]
                                              : weights[i]);
  }
  return raw;
}

}  // namespace epochd::engine
