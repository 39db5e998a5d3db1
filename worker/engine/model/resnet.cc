// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/resnet.h"

#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

using torch::nn::BatchNorm2d;
using torch::nn::Conv2d;
using torch::nn::Conv2dOptions;

Conv2d MakeConv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return Conv2d(Conv2dOptions(in, out, kernel)
                    .stride(stride)
                    .padding(kernel / 2)
                    .bias(false));
}

// One convolution with its normalisation.
struct ConvNorm {
  Conv2d conv{nullptr};
  BatchNorm2d norm{nullptr};

  at::Tensor operator()(const at::Tensor& x) {
    return norm->forward(conv->forward(x));
  }
};

// The shortcut where shape changes: children "0" and "1", as in Python's
// Sequential.
class DownsampleModule : public torch::nn::Module {
 public:
  DownsampleModule(int64_t in, int64_t out, int64_t stride) {
    conv_norm_.conv = register_module("0", MakeConv(in, out, 1, stride));
    conv_norm_.norm = register_module("1", BatchNorm2d(out));
  }

  at::Tensor Forward(const at::Tensor& x) { return conv_norm_(x); }

 private:
  ConvNorm conv_norm_;
};

// Both of torchvision's blocks: two 3x3 convolutions, or 1x1, 3x3, 1x1 with
// four times the width at the end.
class BlockModule : public torch::nn::Module {
 public:
  struct Shape {
    int64_t in;
    int64_t width;
    int64_t stride;
    bool bottleneck;

    int64_t out() const { return bottleneck ? width * 4 : width; }
  };

  // `downsample`: nullptr where the shortcut is the input itself.
  BlockModule(const Shape& shape, std::shared_ptr<DownsampleModule> downsample)
      : downsample_(std::move(downsample)) {
    if (shape.bottleneck) {
      Add(MakeConv(shape.in, shape.width, 1, 1), shape.width);
      Add(MakeConv(shape.width, shape.width, 3, shape.stride), shape.width);
      Add(MakeConv(shape.width, shape.out(), 1, 1), shape.out());
    } else {
      Add(MakeConv(shape.in, shape.width, 3, shape.stride), shape.width);
      Add(MakeConv(shape.width, shape.width, 3, 1), shape.width);
    }
    if (downsample_ != nullptr) register_module("downsample", downsample_);
  }

  at::Tensor Forward(const at::Tensor& input) {
    const at::Tensor shortcut =
        downsample_ == nullptr ? input : downsample_->Forward(input);
    at::Tensor x = input;
    for (size_t i = 0; i + 1 < layers_.size(); ++i) {
      x = layers_[i](x).relu_();
    }
    return layers_.back()(x).add_(shortcut).relu_();
  }

 private:
  void Add(const Conv2d& conv, int64_t out) {
    const std::string number = std::to_string(layers_.size() + 1);
    ConvNorm layer;
    layer.conv = register_module("conv" + number, conv);
    layer.norm = register_module("bn" + number, BatchNorm2d(out));
    layers_.push_back(std::move(layer));
  }

  std::vector<ConvNorm> layers_;
  const std::shared_ptr<DownsampleModule> downsample_;
};

struct Architecture {
  int64_t blocks[4];
  bool bottleneck;
};

Architecture FindArchitecture(int64_t depth) {
  switch (depth) {
    case 18:
      return {{2, 2, 2, 2}, false};
    case 34:
      return {{3, 4, 6, 3}, false};
    case 50:
      return {{3, 4, 6, 3}, true};
    default:
      throw Error(ErrorKind::kBadSpec, "depth: " + std::to_string(depth) +
                                           "; 18, 34 and 50 are accepted");
  }
}

class ResNetModule : public torch::nn::Module {
 public:
  explicit ResNetModule(const ResNetOptions& options)
      : small_image_stem_(options.small_image_stem) {
    const Architecture architecture = FindArchitecture(options.depth);
    stem_.conv = register_module(
        "conv1", small_image_stem_
                     ? MakeConv(options.in_channels, 64, 3, /*stride=*/1)
                     : MakeConv(options.in_channels, 64, 7, /*stride=*/2));
    stem_.norm = register_module("bn1", BatchNorm2d(64));
    int64_t channels = 64;
    int64_t width = 64;
    for (int stage = 0; stage < 4; ++stage, width *= 2) {
      channels = AddStage("layer" + std::to_string(stage + 1),
                          {.in = channels,
                           .width = width,
                           .stride = stage == 0 ? 1 : 2,
                           .bottleneck = architecture.bottleneck},
                          architecture.blocks[stage]);
    }
    fc_ =
        register_module("fc", torch::nn::Linear(channels, options.num_classes));
    InitializeConvolutions();
  }

  at::Tensor Forward(const at::Tensor& input) {
    at::Tensor x = stem_(input).relu_();
    if (!small_image_stem_) x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
    for (const auto& block : blocks_) x = block->Forward(x);
    x = at::adaptive_avg_pool2d(x, {1, 1}).flatten(1);
    return at::linear(x, fc_->weight, fc_->bias);
  }

 private:
  // Gives the channels behind the stage.
  int64_t AddStage(const std::string& name, BlockModule::Shape shape,
                   int64_t num_blocks) {
    auto stage = register_module(name, std::make_shared<torch::nn::Module>());
    for (int64_t i = 0; i < num_blocks; ++i) {
      std::shared_ptr<DownsampleModule> downsample;
      if (shape.stride != 1 || shape.in != shape.out()) {
        downsample = std::make_shared<DownsampleModule>(shape.in, shape.out(),
                                                        shape.stride);
      }
      blocks_.push_back(stage->register_module(
          std::to_string(i),
          std::make_shared<BlockModule>(shape, std::move(downsample))));
      shape.in = shape.out();
      shape.stride = 1;
    }
    return shape.out();
  }

  // Draws a second time, as torchvision does, so that the same seed gives the
  // same weights.
  void InitializeConvolutions() {
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* conv = module->as<torch::nn::Conv2dImpl>()) {
        torch::nn::init::kaiming_normal_(conv->weight, 0.0, torch::kFanOut,
                                         torch::kReLU);
      }
    }
  }

  const bool small_image_stem_;
  ConvNorm stem_;
  std::vector<std::shared_ptr<BlockModule>> blocks_;
  torch::nn::Linear fc_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeResNet(const ResNetOptions& options) {
  auto module = std::make_shared<ResNetModule>(options);
  ResNetModule* const resnet = module.get();
  return std::make_shared<ModuleModel>(
      std::move(module),
      [resnet](const at::Tensor& input) { return resnet->Forward(input); },
      options.fields);
}

}  // namespace epochd::engine
