// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/resnet1d.h"

#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>

#include "worker/engine/core/error.h"
#include "worker/engine/model/declarations.h"
#include "worker/engine/model/layers.h"

namespace epochd::engine {
namespace {

using torch::nn::BatchNorm1d;
using torch::nn::Conv1d;

Conv1d MakeConv1d(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return Conv1d(torch::nn::Conv1dOptions(in, out, kernel)
                    .stride(stride)
                    .padding(kernel / 2)
                    .bias(false));
}

class BasicBlock1d : public Layer {
 public:
  struct Shape {
    int64_t in;
    int64_t out;
    int64_t kernel;
    int64_t stride;
  };

  // torchvision makes the shortcut before the block.
  explicit BasicBlock1d(const Shape& shape) {
    if (shape.stride != 1 || shape.in != shape.out) {
      downsample_ = std::make_shared<Sequence>();
      downsample_->Add(MakeConv1d(shape.in, shape.out, 1, shape.stride));
      downsample_->Add(BatchNorm1d(shape.out));
    }
    conv1_ = register_module(
        "conv1", MakeConv1d(shape.in, shape.out, shape.kernel, shape.stride));
    bn1_ = register_module("bn1", BatchNorm1d(shape.out));
    conv2_ = register_module("conv2",
                             MakeConv1d(shape.out, shape.out, shape.kernel, 1));
    bn2_ = register_module("bn2", BatchNorm1d(shape.out));
    if (downsample_ != nullptr) register_module("downsample", downsample_);
  }

  at::Tensor Forward(const at::Tensor& input) override {
    const at::Tensor shortcut =
        downsample_ == nullptr ? input : downsample_->Forward(input);
    const at::Tensor x = bn1_->forward(conv1_->forward(input)).relu_();
    return bn2_->forward(conv2_->forward(x)).add_(shortcut).relu_();
  }

 private:
  std::shared_ptr<Sequence> downsample_;
  Conv1d conv1_{nullptr};
  BatchNorm1d bn1_{nullptr};
  Conv1d conv2_{nullptr};
  BatchNorm1d bn2_{nullptr};
};

class ResNet1dModule : public Layer {
 public:
  explicit ResNet1dModule(const ResNet1dOptions& options)
      : dropout_(options.dropout) {
    int64_t channels = options.width;
    int64_t width = options.width;
    conv1_ =
        register_module("conv1", MakeConv1d(options.in_channels, width,
                                            options.stem_kernel, /*stride=*/2));
    bn1_ = register_module("bn1", BatchNorm1d(width));
    for (size_t stage = 0; stage < options.blocks.size(); ++stage) {
      auto blocks = std::make_shared<Sequence>();
      for (int64_t i = 0; i < options.blocks[stage]; ++i) {
        blocks->Add(std::make_shared<BasicBlock1d>(
            BasicBlock1d::Shape{.in = channels,
                                .out = width,
                                .kernel = options.kernel,
                                .stride = stage > 0 && i == 0 ? 2 : 1}));
        channels = width;
      }
      stages_.push_back(
          register_module("layer" + std::to_string(stage + 1), blocks));
      width *= 2;
    }
    fc_ =
        register_module("fc", torch::nn::Linear(channels, options.num_classes));
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* conv = module->as<torch::nn::Conv1dImpl>()) {
        torch::nn::init::kaiming_normal_(conv->weight, 0.0, torch::kFanOut,
                                         torch::kReLU);
      }
    }
  }

  at::Tensor Forward(const at::Tensor& input) override {
    at::Tensor x = bn1_->forward(conv1_->forward(input)).relu_();
    x = at::max_pool1d(x, {3}, {2}, {1});
    for (const auto& stage : stages_) x = stage->Forward(x);
    x = x.mean(2);
    if (dropout_ > 0) x = at::dropout(x, dropout_, is_training());
    return fc_->forward(x);
  }

 private:
  const double dropout_;
  Conv1d conv1_{nullptr};
  BatchNorm1d bn1_{nullptr};
  std::vector<std::shared_ptr<Sequence>> stages_;
  torch::nn::Linear fc_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeResNet1d(const ResNet1dOptions& options) {
  if (options.blocks.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "blocks: empty; the blocks of each stage are accepted");
  }
  for (const auto& [name, kernel] :
       {std::pair("kernel", options.kernel),
        std::pair("stem_kernel", options.stem_kernel)}) {
    if (kernel % 2 == 1) continue;
    throw Error(ErrorKind::kBadSpec, std::string(name) + ": " +
                                         std::to_string(kernel) +
                                         " is even; an odd number is accepted");
  }
  return MakeModel(std::make_shared<ResNet1dModule>(options), options.fields);
}

Entry<Model> ResNet1dEntry() {
  return {{.kind = "model",
           .name = "ResNet1d",
           .aliases = {"resnet1d"},
           .help = "ResNet for signals [B, leads, samples], with torchvision's "
                   "parameter names",
           .parameters = SignalParameters(
               {{.name = "blocks",
                 .type = "list<int>",
                 .default_value = catalogue::Json{2, 2, 2, 2},
                 .min = 1,
                 .min_items = 1,
                 .help = "blocks of each stage; each stage but the first "
                         "halves the samples and doubles the channels"},
                CountParameter("width", 64, "channels of the first stage"),
                Odd(CountParameter("kernel", 3, "samples of a kernel")),
                Odd(CountParameter("stem_kernel", 7,
                                   "samples of the first kernel")),
                {.name = "dropout",
                 .type = "float",
                 .default_value = 0.0,
                 .min = 0,
                 .max = 1,
                 .help = "probability of dropping a value before the last "
                         "layer"}})},
          [](const Params& params) {
            ResNet1dOptions options;
            options.fields = FieldsFrom(params);
            options.in_channels = params.Int("in_channels");
            options.num_classes = params.Int("num_classes");
            options.blocks = params.Ints("blocks");
            options.width = params.Int("width");
            options.kernel = params.Int("kernel");
            options.stem_kernel = params.Int("stem_kernel");
            options.dropout = params.Float("dropout");
            return MakeResNet1d(options);
          }};
}

}  // namespace epochd::engine
