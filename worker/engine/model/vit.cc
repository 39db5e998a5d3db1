// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/vit.h"

#include <torch/nn/init.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>

#include "worker/engine/core/error.h"
#include "worker/engine/model/declarations.h"
#include "worker/engine/model/initializer.h"
#include "worker/engine/model/layers.h"

namespace epochd::engine {
namespace {

using torch::nn::LayerNorm;
using torch::nn::Linear;

LayerNorm MakeNorm(int64_t width) {
  return LayerNorm(torch::nn::LayerNormOptions({width}).eps(1e-6));
}

// Multi-head self-attention with nn.MultiheadAttention's names; [B, N, D].
class SelfAttention : public Layer {
 public:
  SelfAttention(int64_t width, int64_t heads, double dropout)
      : heads_(heads), dropout_(dropout) {
    in_weight_ =
        register_parameter("in_proj_weight", at::empty({3 * width, width}));
    in_bias_ = register_parameter("in_proj_bias", at::zeros({3 * width}));
    out_ = register_module("out_proj", Linear(width, width));
    torch::nn::init::xavier_uniform_(in_weight_);
    torch::nn::init::zeros_(out_->bias);
  }

  at::Tensor Forward(const at::Tensor& x) override {
    const int64_t batch = x.size(0);
    const int64_t tokens = x.size(1);
    const int64_t width = x.size(2);
    // [3, B, heads, N, D / heads]
    const at::Tensor parts =
        at::linear(x, in_weight_, in_bias_)
            .view({batch, tokens, 3, heads_, width / heads_})
            .permute({2, 0, 3, 1, 4});
    const at::Tensor y = at::scaled_dot_product_attention(
        parts[0], parts[1], parts[2], {}, is_training() ? dropout_ : 0.0);
    return out_->forward(y.transpose(1, 2).reshape({batch, tokens, width}));
  }

 private:
  const int64_t heads_;
  const double dropout_;
  at::Tensor in_weight_;
  at::Tensor in_bias_;
  Linear out_{nullptr};
};

class EncoderLayer : public Layer {
 public:
  explicit EncoderLayer(const VitOptions& options) : dropout_(options.dropout) {
    ln_1_ = register_module("ln_1", MakeNorm(options.hidden));
    attention_ = register_module(
        "self_attention",
        std::make_shared<SelfAttention>(options.hidden, options.heads,
                                        /*dropout=*/0.0));
    ln_2_ = register_module("ln_2", MakeNorm(options.hidden));
    // Places 1, 2 and 4 are activation and dropouts.
    auto mlp = register_module("mlp", std::make_shared<torch::nn::Module>());
    first_ = mlp->register_module("0", Linear(options.hidden, options.mlp));
    second_ = mlp->register_module("3", Linear(options.mlp, options.hidden));
    for (Linear* linear : {&first_, &second_}) {
      torch::nn::init::xavier_uniform_((*linear)->weight);
      torch::nn::init::normal_((*linear)->bias, 0.0, 1e-6);
    }
  }

  at::Tensor Forward(const at::Tensor& input) override {
    const at::Tensor x =
        Drop(attention_->Forward(ln_1_->forward(input))) + input;
    const at::Tensor y = Drop(at::gelu(first_->forward(ln_2_->forward(x))));
    return x + Drop(second_->forward(y));
  }

 private:
  at::Tensor Drop(const at::Tensor& x) const {
    return dropout_ > 0 ? at::dropout(x, dropout_, is_training()) : x;
  }

  const double dropout_;
  LayerNorm ln_1_{nullptr};
  std::shared_ptr<SelfAttention> attention_;
  LayerNorm ln_2_{nullptr};
  Linear first_{nullptr};
  Linear second_{nullptr};
};

class VitModule : public Layer {
 public:
  explicit VitModule(const VitOptions& options)
      : size_(options.image_size), dropout_(options.dropout) {
    const int64_t patch = options.patch_size;
    const int64_t side = options.image_size / patch;
    conv_proj_ = register_module(
        "conv_proj",
        torch::nn::Conv2d(
            torch::nn::Conv2dOptions(options.in_channels, options.hidden, patch)
                .stride(patch)));
    class_token_ =
        register_parameter("class_token", at::zeros({1, 1, options.hidden}));
    auto encoder =
        register_module("encoder", std::make_shared<torch::nn::Module>());
    positions_ = encoder->register_parameter(
        "pos_embedding", at::empty({1, side * side + 1, options.hidden}));
    torch::nn::init::normal_(positions_, 0.0, 0.02);
    auto layers = encoder->register_module(
        "layers", std::make_shared<torch::nn::Module>());
    for (int64_t i = 0; i < options.layers; ++i) {
      layers_.push_back(
          layers->register_module("encoder_layer_" + std::to_string(i),
                                  std::make_shared<EncoderLayer>(options)));
    }
    norm_ = encoder->register_module("ln", MakeNorm(options.hidden));
    auto heads =
        register_module("heads", std::make_shared<torch::nn::Module>());
    head_ = heads->register_module("head",
                                   Linear(options.hidden, options.num_classes));
    const double fan_in =
        static_cast<double>(options.in_channels * patch * patch);
    TruncatedNormal(conv_proj_->weight, 0.0, std::sqrt(1.0 / fan_in), -2, 2);
    torch::nn::init::zeros_(conv_proj_->bias);
    torch::nn::init::zeros_(head_->weight);
    torch::nn::init::zeros_(head_->bias);
  }

  at::Tensor Forward(const at::Tensor& images) override {
    if (images.dim() != 4 || images.size(2) != size_ ||
        images.size(3) != size_) {
      throw Error(ErrorKind::kTraining,
                  "ViT: images of " + c10::str(images.sizes()) + "; [B, C, " +
                      std::to_string(size_) + ", " + std::to_string(size_) +
                      "] is accepted");
    }
    const at::Tensor patches =
        conv_proj_->forward(images).flatten(2).transpose(1, 2);
    at::Tensor x =
        at::cat({class_token_.expand({images.size(0), -1, -1}), patches}, 1);
    x = x + positions_;
    if (dropout_ > 0) x = at::dropout(x, dropout_, is_training());
    for (const auto& layer : layers_) x = layer->Forward(x);
    return head_->forward(norm_->forward(x).select(1, 0));
  }

 private:
  const int64_t size_;
  const double dropout_;
  torch::nn::Conv2d conv_proj_{nullptr};
  at::Tensor class_token_;
  at::Tensor positions_;
  std::vector<std::shared_ptr<EncoderLayer>> layers_;
  LayerNorm norm_{nullptr};
  Linear head_{nullptr};
};

void CheckDivides(const char* name, int64_t part, const char* whole_name,
                  int64_t whole) {
  if (whole % part == 0) return;
  throw Error(ErrorKind::kBadSpec,
              std::string(name) + ": " + std::to_string(part) +
                  "; a divisor of " + whole_name + ", which is " +
                  std::to_string(whole) + ", is accepted");
}

}  // namespace

std::shared_ptr<Model> MakeVit(const VitOptions& options) {
  CheckDivides("patch_size", options.patch_size, "image_size",
               options.image_size);
  CheckDivides("heads", options.heads, "hidden", options.hidden);
  return MakeModel(std::make_shared<VitModule>(options), options.fields);
}

Entry<Model> VitEntry() {
  return {
      {.kind = "model",
       .name = "ViT",
       .aliases = {"VisionTransformer", "vit"},
       .help = "vision transformer with torchvision's parameter names; "
               "images [B, C, size, size] to logits",
       .parameters = WithFields(
           {ChannelsParameter("in_channels"),
            CountWithAliases("image_size", 32, "sides of the images", {"size"}),
            CountParameter("patch_size", 4, "sides of a patch"),
            CountWithAliases("layers", 6, "encoder layers", {"num_layers"}),
            CountWithAliases("heads", 4, "heads of attention", {"num_heads"}),
            CountWithAliases("hidden", 128, "values of a token",
                             {"hidden_dim"}),
            CountWithAliases("mlp", 256, "values inside a layer's MLP",
                             {"mlp_dim"}),
            {.name = "dropout",
             .type = "float",
             .default_value = 0.0,
             .min = 0,
             .max = 1,
             .help = "probability of dropping a value"},
            CountParameter("num_classes", 10, "values of the output")}),
       .rules = {{.check = catalogue::Rule::Check::kDivides,
                  .of = {"patch_size", "image_size"}},
                 {.check = catalogue::Rule::Check::kDivides,
                  .of = {"heads", "hidden"}}}},
      [](const Params& params) {
        VitOptions options;
        options.fields = FieldsFrom(params);
        options.in_channels = params.Int("in_channels");
        options.image_size = params.Int("image_size");
        options.patch_size = params.Int("patch_size");
        options.layers = params.Int("layers");
        options.heads = params.Int("heads");
        options.hidden = params.Int("hidden");
        options.mlp = params.Int("mlp");
        options.dropout = params.Float("dropout");
        options.num_classes = params.Int("num_classes");
        return MakeVit(options);
      }};
}

}  // namespace epochd::engine
