// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/rrdbnet.h"

#include "worker/engine/core/error.h"
#include "worker/engine/model/declarations.h"
#include "worker/engine/model/residual_blocks.h"

namespace epochd::engine {
namespace {

using torch::nn::Conv2d;

constexpr double kSlope = 0.2;
// Of what a dense block, and a block of them, adds.
constexpr double kResidualScale = 0.2;
constexpr int kDenseLayers = 5;

class DenseBlock : public Layer {
 public:
  DenseBlock(int64_t features, int64_t growth) {
    for (int i = 0; i < kDenseLayers; ++i) {
      const int64_t out = i + 1 < kDenseLayers ? growth : features;
      convs_.push_back(
          register_module("conv" + std::to_string(i + 1),
                          MakeConv2d(features + i * growth, out, 3)));
    }
    for (Conv2d& conv : convs_) ScaleInitialWeights(*conv, 0.1);
  }

  at::Tensor Forward(const at::Tensor& x) override {
    std::vector<at::Tensor> known = {x};
    for (int i = 0; i + 1 < kDenseLayers; ++i) {
      at::Tensor next = convs_[i]->forward(at::cat(known, 1));
      known.push_back(at::leaky_relu_(next, kSlope));
    }
    return at::add(x, convs_.back()->forward(at::cat(known, 1)),
                   kResidualScale);
  }

 private:
  std::vector<Conv2d> convs_;
};

class BlockOfDenseBlocks : public Layer {
 public:
  BlockOfDenseBlocks(int64_t features, int64_t growth) {
    for (const char* name : {"rdb1", "rdb2", "rdb3"}) {
      blocks_.push_back(register_module(
          name, std::make_shared<DenseBlock>(features, growth)));
    }
  }

  at::Tensor Forward(const at::Tensor& input) override {
    at::Tensor x = input;
    for (const auto& block : blocks_) x = block->Forward(x);
    return at::add(input, x, kResidualScale);
  }

 private:
  std::vector<std::shared_ptr<DenseBlock>> blocks_;
};

class RrdbNetModule : public Layer {
 public:
  explicit RrdbNetModule(const RrdbNetOptions& options)
      : unshuffle_(4 / options.upscale) {
    const int64_t features = options.features;
    conv_first_ = Register(
        "conv_first", options.in_channels * unshuffle_ * unshuffle_, features);
    body_ = std::make_shared<Sequence>();
    for (int64_t i = 0; i < options.blocks; ++i) {
      body_->Add(
          std::make_shared<BlockOfDenseBlocks>(features, options.growth));
    }
    register_module("body", body_);
    conv_body_ = Register("conv_body", features, features);
    conv_up1_ = Register("conv_up1", features, features);
    conv_up2_ = Register("conv_up2", features, features);
    conv_hr_ = Register("conv_hr", features, features);
    conv_last_ = Register("conv_last", features, options.out_channels);
  }

  at::Tensor Forward(const at::Tensor& input) override {
    at::Tensor x = conv_first_->forward(
        unshuffle_ == 1 ? input : at::pixel_unshuffle(input, unshuffle_));
    x = x + conv_body_->forward(body_->Forward(x));
    x = Rectified(conv_up1_, Doubled(x));
    x = Rectified(conv_up2_, Doubled(x));
    return conv_last_->forward(Rectified(conv_hr_, x));
  }

 private:
  Conv2d Register(const char* name, int64_t in, int64_t out) {
    return register_module(name, MakeConv2d(in, out, 3));
  }
  static at::Tensor Doubled(const at::Tensor& x) {
    return at::upsample_nearest2d(x, {x.size(2) * 2, x.size(3) * 2}, 2.0, 2.0);
  }
  static at::Tensor Rectified(Conv2d& conv, const at::Tensor& x) {
    at::Tensor y = conv->forward(x);
    return at::leaky_relu_(y, kSlope);
  }

  const int64_t unshuffle_;
  Conv2d conv_first_{nullptr};
  std::shared_ptr<Sequence> body_;
  Conv2d conv_body_{nullptr};
  Conv2d conv_up1_{nullptr};
  Conv2d conv_up2_{nullptr};
  Conv2d conv_hr_{nullptr};
  Conv2d conv_last_{nullptr};
};

}  // namespace

std::shared_ptr<Model> MakeRrdbNet(const RrdbNetOptions& options) {
  if (options.upscale != 1 && options.upscale != 2 && options.upscale != 4) {
    throw Error(ErrorKind::kBadSpec,
                "upscale: " + std::to_string(options.upscale) +
                    "; 1, 2 and 4 are accepted");
  }
  return MakeModel(std::make_shared<RrdbNetModule>(options), options.fields);
}

Entry<Model> RrdbNetEntry() {
  return {{.kind = "model",
           .name = "RRDBNet",
           .aliases = {"rrdbnet"},
           .help = "ESRGAN's generator with basicsr's parameter names; images "
                   "[B, C, H, W] to images upscale times as large",
           .parameters = EnlargingParameters(
               23, {1, 2, 4},
               {CountWithAliases("growth", 32,
                                 "channels that a layer of a block adds",
                                 {"num_grow_ch"})})},
          [](const Params& params) {
            auto options = ReadEnlarging<RrdbNetOptions>(params);
            options.growth = params.Int("growth");
            return MakeRrdbNet(options);
          }};
}

}  // namespace epochd::engine
