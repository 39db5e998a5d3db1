// SPDX-License-Identifier: Apache-2.0
//
// Initial weights by the names of torch.nn.init, over those that a model
// starts with:
//
//   init: [{type: kaiming_normal, nonlinearity: relu, bias: 0},
//          {type: zeros, match: head.weight}]
//
// They come in order, so a later one overrides. Values are drawn from the
// default generator, which the experiment's seed sets.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

class Initializer {
 public:
  using Fill = std::function<void(at::Tensor& tensor)>;

  // `match`: patterns of names (core/name_pattern.h); empty: every weight of
  // two or more dimensions. `bias`: what the biases of the same layers become;
  // nothing: they stay.
  Initializer(std::string name, Fill fill, std::vector<std::string> match,
              std::optional<double> bias)
      : name_(std::move(name)),
        fill_(std::move(fill)),
        match_(std::move(match)),
        bias_(bias) {}

  // Throws Error(kBadSpec): a pattern fits nothing, or a tensor has a shape
  // that the rule is not made for.
  void Apply(const Model& model) const;

 private:
  const std::string name_;
  const Fill fill_;
  const std::vector<std::string> match_;
  const std::optional<double> bias_;
};

// A normal distribution cut off at `low` and `high`, as
// torch.nn.init.trunc_normal_.
void TruncatedNormal(at::Tensor tensor, double mean, double deviation,
                     double low, double high);

std::vector<Entry<Initializer>> BuiltinInitializers();

}  // namespace epochd::engine
