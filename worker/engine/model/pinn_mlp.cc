// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/pinn_mlp.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>
#include <torch/nn/init.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/point_fields.h"
#include "worker/engine/core/seed.h"

namespace epochd::engine {
namespace {

// The argument is a layer's fresh output.
using Activation = at::Tensor (*)(at::Tensor);

struct NamedPinnActivation {
  const char* name;
  Activation function;
};

constexpr NamedPinnActivation kPinnActivations[] = {
    {"tanh", [](at::Tensor x) { return x.tanh_(); }},
    {"sin", [](at::Tensor x) { return at::sin(x); }},
    {"gelu", [](at::Tensor x) { return at::gelu(x); }},
    {"silu", [](at::Tensor x) { return at::silu(x); }},
    {"swish", [](at::Tensor x) { return at::silu(x); }},
    {"sigmoid", [](at::Tensor x) { return x.sigmoid_(); }},
    {"relu", [](at::Tensor x) { return x.relu_(); }},
};

[[noreturn]] void RefuseOption(const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, problem);
}

Activation FindPinnActivation(const std::string& name) {
  std::string known;
  for (const NamedPinnActivation& activation : kPinnActivations) {
    if (name == activation.name) return activation.function;
    known += std::string(known.empty() ? "" : ", ") + activation.name;
  }
  RefuseOption("activation: unknown \"" + name + "\"; " + known +
               " are accepted");
}

void CheckOptions(const PinnMlpOptions& options) {
  const auto count = static_cast<size_t>(options.in_features);
  for (const auto& [name, list] :
       {std::pair("lower", &options.lower), std::pair("upper", &options.upper),
        std::pair("periods", &options.periods)}) {
    if (!list->empty() && list->size() != count) {
      RefuseOption(std::string(name) + ": " + std::to_string(list->size()) +
                   " numbers for " + std::to_string(count) +
                   " coordinates; one for each is accepted");
    }
  }
  if (options.lower.size() != options.upper.size()) {
    RefuseOption("lower: goes with upper only");
  }
  for (size_t i = 0; i < options.lower.size(); ++i) {
    if (!(options.lower[i] < options.upper[i])) {
      RefuseOption("lower: " + std::to_string(options.lower[i]) +
                   " is not below upper, " + std::to_string(options.upper[i]));
    }
  }
  if (options.inputs.empty()) RefuseOption("inputs: one or more are needed");
  for (const std::string& field : options.differentiable) {
    if (std::find(options.inputs.begin(), options.inputs.end(), field) ==
        options.inputs.end()) {
      RefuseOption("differentiable: \"" + field + "\" is none of inputs");
    }
  }
}

void Initialize(const at::Tensor& weight, PinnInit init) {
  switch (init) {
    case PinnInit::kXavierNormal:
      torch::nn::init::xavier_normal_(weight);
      return;
    case PinnInit::kXavierUniform:
      torch::nn::init::xavier_uniform_(weight);
      return;
    case PinnInit::kTorch:
      torch::nn::init::kaiming_uniform_(weight, std::sqrt(5.0));
      return;
  }
}

// A linear layer, factorised or not.
class Dense : public torch::nn::Module {
 public:
  Dense(int64_t in, int64_t out, const PinnMlpOptions& options) {
    at::Tensor weight = torch::empty({out, in});
    Initialize(weight, options.init);
    at::Tensor bias = torch::zeros({out});
    if (options.init == PinnInit::kTorch) {
      const double bound = 1.0 / std::sqrt(static_cast<double>(in));
      torch::nn::init::uniform_(bias, -bound, bound);
    }
    if (options.factorized) {
      const at::Tensor g =
          at::exp(at::randn({out}) * options.factor_std + options.factor_mean);
      weight = weight / g.unsqueeze(1);
      g_ = register_parameter("weight_g", g);
    }
    weight_ =
        register_parameter(options.factorized ? "weight_v" : "weight", weight);
    bias_ = register_parameter("bias", bias);
  }

  at::Tensor Forward(const at::Tensor& x) const {
    return at::linear(x, g_.defined() ? weight_ * g_.unsqueeze(1) : weight_,
                      bias_);
  }

 private:
  at::Tensor g_;
  at::Tensor weight_;
  at::Tensor bias_;
};

class PinnModule : public torch::nn::Module {
 public:
  explicit PinnModule(const PinnMlpOptions& options)
      : options_(options), activation_(FindPinnActivation(options.activation)) {
    int64_t width = options.in_features;
    for (const double period : options.periods) width += period != 0.0 ? 1 : 0;
    if (!options.lower.empty()) MakeScale();
    if (options.fourier_features > 0) {
      at::Generator generator =
          at::detail::createCPUGenerator(HashSeed32({options.fourier_seed}));
      const at::Tensor b = at::randn({width, options.fourier_features},
                                     generator, at::TensorOptions(at::kFloat)) *
                           options.fourier_scale;
      fourier_ = options.fourier_trainable ? register_parameter("fourier", b)
                                           : register_buffer("fourier", b);
      width = 2 * options.fourier_features;
    }
    net_ = register_module("net", std::make_shared<torch::nn::Module>());
    std::vector<int64_t> widths = options.hidden;
    widths.push_back(options.out_features);
    int64_t index = 0;
    for (const int64_t out : widths) {
      layers_.push_back(net_->register_module(
          std::to_string(index), std::make_shared<Dense>(width, out, options)));
      width = out;
      index += 2;
    }
  }

  // Points are rows: a layer's output would else be a view, and what changes a
  // view in place is differentiated by way of copies.
  at::Tensor Forward(const at::Tensor& points) const {
    at::Tensor x = Embed(points);
    for (size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i]->Forward(x);
      if (i + 1 < layers_.size()) x = activation_(std::move(x));
    }
    return x;
  }

 private:
  void MakeScale() {
    std::vector<double> shift;
    std::vector<double> scale;
    for (size_t i = 0; i < options_.lower.size(); ++i) {
      shift.push_back((options_.lower[i] + options_.upper[i]) / 2);
      scale.push_back(2 / (options_.upper[i] - options_.lower[i]));
    }
    shift_ = register_buffer("input_shift", torch::tensor(shift, at::kFloat));
    scale_ = register_buffer("input_scale", torch::tensor(scale, at::kFloat));
  }

  at::Tensor Embed(const at::Tensor& points) const {
    at::Tensor x = points;
    if (shift_.defined()) x = (x - shift_) * scale_;
    if (!options_.periods.empty()) x = Periodic(points, x);
    if (fourier_.defined()) {
      const at::Tensor phase = at::matmul(x, fourier_);
      x = at::cat({at::cos(phase), at::sin(phase)}, -1);
    }
    return x;
  }

  at::Tensor Periodic(const at::Tensor& points,
                      const at::Tensor& scaled) const {
    std::vector<at::Tensor> columns;
    for (size_t i = 0; i < options_.periods.size(); ++i) {
      const auto column = static_cast<int64_t>(i);
      const double period = options_.periods[i];
      if (period == 0.0) {
        columns.push_back(scaled.select(-1, column));
        continue;
      }
      const at::Tensor phase =
          points.select(-1, column) * (2 * std::numbers::pi / period);
      columns.push_back(at::cos(phase));
      columns.push_back(at::sin(phase));
    }
    return at::stack(columns, -1);
  }

  const PinnMlpOptions options_;
  const Activation activation_;
  at::Tensor shift_;
  at::Tensor scale_;
  at::Tensor fourier_;
  std::shared_ptr<torch::nn::Module> net_;
  std::vector<std::shared_ptr<Dense>> layers_;
};

class PinnMlp : public Model {
 public:
  explicit PinnMlp(const PinnMlpOptions& options)
      : options_(options), module_(std::make_shared<PinnModule>(options)) {}

  Batch Forward(const Batch& batch) override {
    Batch returned;
    // Fields that need no graph of their own go through together.
    std::vector<std::string> others;
    std::vector<at::Tensor> rows;
    for (const std::string& field : options_.inputs) {
      const at::Tensor* points = batch.Find(field);
      if (points == nullptr) continue;
      if (!IsDifferentiable(field)) {
        others.push_back(field);
        rows.push_back(Rows(*points));
        continue;
      }
      const c10::AutoGradMode with_graph(true);
      const at::Tensor leaf = points->detach().requires_grad_(true);
      returned.Set(field, leaf);
      returned.Set(OutputFieldOf(field),
                   Shaped(module_->Forward(Rows(leaf)), leaf));
    }
    if (!others.empty()) {
      const at::Tensor outputs =
          module_->Forward(rows.size() == 1 ? rows[0] : at::cat(rows));
      int64_t first = 0;
      for (size_t i = 0; i < others.size(); ++i) {
        const int64_t count = rows[i].size(0);
        const at::Tensor own =
            rows.size() == 1 ? outputs : outputs.slice(0, first, first + count);
        returned.Set(OutputFieldOf(others[i]),
                     Shaped(own, batch.At(others[i])));
        first += count;
      }
    }
    // Names what is missing.
    if (returned.empty()) static_cast<void>(batch.At(options_.inputs.front()));
    return returned;
  }

  std::vector<NamedTensor> Parameters() const override {
    return Copy(module_->named_parameters());
  }
  std::vector<NamedTensor> Buffers() const override {
    return Copy(module_->named_buffers());
  }
  void SetTraining(bool training) override { module_->train(training); }
  void To(c10::Device device) override { module_->to(device); }

 private:
  bool IsDifferentiable(const std::string& field) const {
    const std::vector<std::string>& all = options_.differentiable;
    return std::find(all.begin(), all.end(), field) != all.end();
  }
  // Points [..., coordinates] as [rows, coordinates], and values back.
  at::Tensor Rows(const at::Tensor& points) const {
    if (points.dim() < 1 || points.size(-1) != options_.in_features) {
      throw Error(ErrorKind::kTraining,
                  "model: points of shape " + c10::str(points.sizes()) +
                      "; [..., " + std::to_string(options_.in_features) +
                      "] is accepted");
    }
    return points.dim() == 2 ? points
                             : points.reshape({-1, options_.in_features});
  }
  static at::Tensor Shaped(const at::Tensor& values, const at::Tensor& points) {
    if (points.dim() == 2) return values;
    std::vector<int64_t> shape = points.sizes().vec();
    shape.back() = values.size(-1);
    return values.reshape(shape);
  }

  static std::vector<NamedTensor> Copy(
      const torch::OrderedDict<std::string, at::Tensor>& named) {
    std::vector<NamedTensor> tensors;
    for (const auto& item : named) {
      tensors.push_back({item.key(), item.value()});
    }
    return tensors;
  }

  const PinnMlpOptions options_;
  const std::shared_ptr<PinnModule> module_;
};

}  // namespace

std::vector<std::string> PinnActivations() {
  std::vector<std::string> names;
  for (const NamedPinnActivation& activation : kPinnActivations) {
    names.push_back(activation.name);
  }
  return names;
}

std::shared_ptr<Model> MakePinnMlp(const PinnMlpOptions& options) {
  CheckOptions(options);
  return std::make_shared<PinnMlp>(options);
}

}  // namespace epochd::engine
