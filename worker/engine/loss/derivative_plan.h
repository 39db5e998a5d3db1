// SPDX-License-Identifier: Apache-2.0
//
// DerivativePlan: which derivatives the variables of an expression ask for, and
// how to get each with few passes. Variables are named as
// expression/derivative.h says. `u_x` and `u_t` come from one pass; `u_xx`
// builds on `u_x`. Immutable, any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace epochd::engine {

class DerivativePlan {
 public:
  // Throws Error(kBadSpec) naming a variable that is none of these, and those
  // that are.
  DerivativePlan(const std::vector<std::string>& variables,
                 const std::vector<std::string>& unknowns,
                 const std::vector<std::string>& coordinates);

  // Values of the variables, [...] each, of points [..., coordinates] and a
  // model's values [..., unknowns] there.
  std::vector<at::Tensor> Evaluate(const at::Tensor& points,
                                   const at::Tensor& values) const;
  // Whether there is a derivative among them.
  bool has_derivatives() const { return has_derivatives_; }

 private:
  // An unknown, or what a node before it gives by one more coordinate.
  struct Node {
    size_t base = 0;
    size_t coordinate = 0;  // column
    std::string name;
  };
  static constexpr size_t kNone = SIZE_MAX;
  struct Source {
    size_t coordinate = kNone;
    size_t node = kNone;
  };

  Source Find(const std::string& variable,
              const std::vector<std::string>& unknowns,
              const std::vector<std::string>& coordinates);
  size_t NodeOf(size_t base, size_t coordinate, const std::string& name);

  const size_t num_unknowns_;
  const size_t num_coordinates_;
  bool has_derivatives_ = false;
  // The unknowns, then derivatives, each behind its base.
  std::vector<Node> nodes_;
  std::vector<Source> sources_;
};

}  // namespace epochd::engine
