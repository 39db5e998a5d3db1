// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/backward_pass.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <c10/util/flat_hash_map.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace epochd::engine {
namespace {

using torch::autograd::Edge;
using torch::autograd::Node;
using torch::autograd::variable_list;

// Whether a walk does all that the engine would.
bool IsPlain(Node& node) {
  return node.pre_hooks().empty() && node.post_hooks().empty() &&
         node.tensor_pre_hooks().empty() && node.retains_grad_hooks().empty() &&
         node.tensor_post_acc_grad_hooks() == nullptr && node.device().is_cpu();
}

// The engine's rule: in place where nobody else sees the tensor.
void Accumulate(at::Tensor& sum, at::Tensor gradient) {
  if (!gradient.defined()) return;
  if (!sum.defined()) {
    sum = std::move(gradient);
  } else if (sum.layout() != at::kStrided) {
    sum = gradient + sum;
  } else if (gradient.layout() == at::kStrided && sum.use_count() == 1 &&
             sum.has_storage() && sum.storage().use_count() == 1 &&
             sum.is_non_overlapping_and_dense()) {
    sum.add_(gradient);
  } else {
    sum = sum + gradient;
  }
}

}  // namespace

class BackwardPass::Walk {
 public:
  // Counts what each node of the graph waits for. False: the engine is needed.
  bool Plan(Node* root) {
    visits_.clear();
    places_.clear();
    PlaceOf(root);
    for (size_t i = 0; i < visits_.size(); ++i) {
      Node& node = *visits_[i].node;
      if (!IsPlain(node)) return false;
      for (const Edge& edge : node.next_edges()) {
        if (edge.is_valid()) ++visits_[PlaceOf(edge.function.get())].missing;
      }
    }
    return true;
  }

  // After Plan(). `root`: where the gradient of the loss enters.
  void Run(const Edge& root, const at::Tensor& gradient) {
    const c10::AutoGradMode no_grad(false);
    Inputs(visits_.front())[root.input_nr] = gradient;
    ready_ = {{root.function->sequence_nr(), 0}};
    while (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end());
      Visit& visit = visits_[ready_.back().second];
      ready_.pop_back();
      Evaluate(*visit.node, std::exchange(visit.inputs, {}));
    }
  }

 private:
  struct Visit {
    Node* node;
    int64_t missing = 0;  // gradients that are still to come
    variable_list inputs{};
  };

  size_t PlaceOf(Node* node) {
    const auto [place, is_new] = places_.emplace(node, visits_.size());
    if (is_new) visits_.push_back({node});
    return place->second;
  }

  static variable_list& Inputs(Visit& visit) {
    if (visit.inputs.empty()) visit.inputs.resize(visit.node->num_inputs());
    return visit.inputs;
  }

  void Evaluate(Node& node, variable_list inputs) {
    node.will_release_variables();
    variable_list outputs = node(std::move(inputs));
    torch::autograd::validate_outputs(
        node.next_edges(), outputs, [&node](const std::string& problem) {
          return "Function " + node.name() + " returned an " + problem;
        });
    node.release_variables();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Edge& edge = node.next_edge(i);
      if (!edge.is_valid()) continue;
      const size_t place = places_.find(edge.function.get())->second;
      Visit& next = visits_[place];
      Accumulate(Inputs(next)[edge.input_nr], std::move(outputs[i]));
      if (--next.missing > 0) continue;
      ready_.emplace_back(next.node->sequence_nr(), place);
      std::push_heap(ready_.begin(), ready_.end());
    }
  }

  // The graph's nodes, from the root on; the loss keeps them alive.
  std::vector<Visit> visits_;
  ska::flat_hash_map<Node*, size_t> places_;
  // A heap: what was made last comes first, as in the engine.
  std::vector<std::pair<uint64_t, size_t>> ready_;
};

BackwardPass::BackwardPass() : walk_(std::make_unique<Walk>()) {}
BackwardPass::~BackwardPass() = default;

void BackwardPass::Run(const at::Tensor& loss) {
  if (loss.dim() != 0 || !loss.requires_grad()) {
    loss.backward();  // which says what is wrong
    return;
  }
  if (!one_.defined() || one_.scalar_type() != loss.scalar_type() ||
      one_.device() != loss.device()) {
    one_ = at::ones({}, loss.options().requires_grad(false));
  }
  const Edge root = torch::autograd::impl::gradient_edge(loss);
  const bool is_alone = torch::autograd::get_current_graph_task_id() == -1 &&
                        !torch::autograd::AnomalyMode::is_enabled();
  if (loss.is_cpu() && is_alone && walk_->Plan(root.function.get())) {
    walk_->Run(root, one_);
  } else {
    loss.backward(one_);
  }
}

}  // namespace epochd::engine
