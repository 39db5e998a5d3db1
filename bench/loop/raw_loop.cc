// SPDX-License-Identifier: Apache-2.0
#include "bench/loop/raw_loop.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/nn/functional/loss.h>
#include <torch/optim/sgd.h>

#include "bench/loop/network.h"

namespace epochd::bench {
namespace {

// SGD by ATen's fused kernel, and nothing around it.
class FusedSgd {
 public:
  explicit FusedSgd(std::vector<at::Tensor> parameters)
      : parameters_(std::move(parameters)), gradients_(parameters_.size()) {
    for (const at::Tensor& each : parameters_) {
      momentum_.push_back(at::zeros_like(each));
    }
  }
  void zero_grad() {
    for (at::Tensor& each : parameters_) each.mutable_grad().reset();
  }
  void step() {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      gradients_[i] = parameters_[i].grad();
    }
    at::_fused_sgd_(parameters_, gradients_, momentum_, /*weight_decay=*/0,
                    Workload::kMomentum, Workload::kLearningRate,
                    /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                    /*is_first_step=*/is_first_);
    is_first_ = false;
    for (at::Tensor& each : gradients_) each.reset();
  }

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> gradients_;
  std::vector<at::Tensor> momentum_;
  bool is_first_ = true;
};

template <class Optimizer>
Result Train(const Workload& workload, const Data& data, Batches batches,
             Network& network, Optimizer optimizer) {
  network.train();
  StepClock clock(workload);
  const auto step = [&](const at::Tensor& input, const at::Tensor& target) {
    clock.Tick();
    optimizer.zero_grad();
    const at::Tensor output = network.Forward(input);
    const at::Tensor loss =
        torch::nn::functional::cross_entropy(output, target);
    loss.backward();
    optimizer.step();
  };
  if (batches == Batches::kReady) {
    std::vector<Data> ready;
    for (int64_t i = 0; i < workload.NumBatches(); ++i) {
      ready.push_back(ReadyBatch(workload, data, i));
    }
    for (const Data& batch : ready) step(batch.input, batch.target);
  } else {
    const at::Tensor order = at::arange(data.input.size(0), at::kLong);
    for (int64_t i = 0; i < workload.NumBatches(); ++i) {
      const at::Tensor rows = order.slice(0, i * workload.batch_size,
                                          (i + 1) * workload.batch_size);
      step(data.input.index_select(0, rows), data.target.index_select(0, rows));
    }
  }
  Result result = clock.PerStep();
  result.weights = network.parameters();
  return result;
}

}  // namespace

NamedWeights InitialWeights(Workload::Model model) {
  NamedWeights weights;
  for (const auto& item : MakeNetwork(model)->named_parameters()) {
    weights.emplace_back(item.key(), item.value().detach());
  }
  return weights;
}

Result RunRawLoop(const Workload& workload, const Data& data, Batches batches,
                  bool fused) {
  const std::shared_ptr<Network> network = MakeNetwork(workload.model);
  if (fused) {
    return Train(workload, data, batches, *network,
                 FusedSgd(network->parameters()));
  }
  return Train(
      workload, data, batches, *network,
      torch::optim::SGD(network->parameters(),
                        torch::optim::SGDOptions(Workload::kLearningRate)
                            .momentum(Workload::kMomentum)));
}

}  // namespace epochd::bench
