// SPDX-License-Identifier: Apache-2.0
#include "bench/loop/network.h"

#include <ATen/ATen.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

namespace epochd::bench {
namespace {

class Mlp : public Network {
 public:
  Mlp() {
    // One by one: as arguments of one call the layers would draw their
    // weights in no certain order.
    torch::nn::Sequential layers;
    layers->push_back(
        torch::nn::Linear(Workload::kFeatures, Workload::kHidden));
    layers->push_back(torch::nn::ReLU());
    layers->push_back(torch::nn::Linear(Workload::kHidden, Workload::kHidden));
    layers->push_back(torch::nn::ReLU());
    layers->push_back(torch::nn::Linear(Workload::kHidden, Workload::kClasses));
    net_ = register_module("net", layers);
  }
  at::Tensor Forward(const at::Tensor& input) override {
    return net_->forward(input);
  }

 private:
  torch::nn::Sequential net_{nullptr};
};

torch::nn::Conv2d Convolution(int64_t in, int64_t out, int64_t size,
                              int64_t stride) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, size)
                               .stride(stride)
                               .padding(size / 2)
                               .bias(false));
}

class Block : public torch::nn::Module {
 public:
  Block(int64_t in, int64_t out, int64_t stride) {
    c1_ = register_module("c1", Convolution(in, out, 3, stride));
    b1_ = register_module("b1", torch::nn::BatchNorm2d(out));
    c2_ = register_module("c2", Convolution(out, out, 3, 1));
    b2_ = register_module("b2", torch::nn::BatchNorm2d(out));
    if (stride == 1 && in == out) return;
    down_ = register_module("dc", Convolution(in, out, 1, stride));
    down_norm_ = register_module("db", torch::nn::BatchNorm2d(out));
  }
  at::Tensor Forward(const at::Tensor& input) {
    const at::Tensor y = b2_(c2_(at::relu(b1_(c1_(input)))));
    return at::relu(y + (down_.is_empty() ? input : down_norm_(down_(input))));
  }

 private:
  torch::nn::Conv2d c1_{nullptr}, c2_{nullptr}, down_{nullptr};
  torch::nn::BatchNorm2d b1_{nullptr}, b2_{nullptr}, down_norm_{nullptr};
};

class Cnn : public Network {
 public:
  Cnn() {
    stem_ = register_module("stem", Convolution(1, 16, 3, 1));
    norm_ = register_module("bn", torch::nn::BatchNorm2d(16));
    first_ = register_module("l1", std::make_shared<Block>(16, 16, 1));
    second_ = register_module("l2", std::make_shared<Block>(16, 32, 2));
    third_ = register_module("l3", std::make_shared<Block>(32, 64, 2));
    head_ = register_module("fc", torch::nn::Linear(64, Workload::kClasses));
  }
  at::Tensor Forward(const at::Tensor& input) override {
    at::Tensor x = at::relu(norm_(stem_(input)));
    x = third_->Forward(second_->Forward(first_->Forward(x)));
    return head_(x.mean(at::IntArrayRef{2, 3}));
  }

 private:
  torch::nn::Conv2d stem_{nullptr};
  torch::nn::BatchNorm2d norm_{nullptr};
  std::shared_ptr<Block> first_, second_, third_;
  torch::nn::Linear head_{nullptr};
};

}  // namespace

std::shared_ptr<Network> MakeNetwork(Workload::Model model) {
  at::manual_seed(0);
  if (model == Workload::Model::kMlp) return std::make_shared<Mlp>();
  return std::make_shared<Cnn>();
}

}  // namespace epochd::bench
