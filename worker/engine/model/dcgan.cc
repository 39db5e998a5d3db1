// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/dcgan.h"

#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "worker/engine/core/error.h"
#include "worker/engine/model/noise.h"

namespace epochd::engine {
namespace {

using torch::nn::BatchNorm2d;
using torch::nn::Conv2d;
using torch::nn::Conv2dOptions;
using torch::nn::ConvTranspose2d;
using torch::nn::ConvTranspose2dOptions;

void CheckSize(int64_t size) {
  if (size < 8 || !std::has_single_bit(static_cast<uint64_t>(size))) {
    throw Error(ErrorKind::kBadSpec, "size: " + std::to_string(size) +
                                         "; a power of two from 8 is accepted");
  }
}

// A flat Python Sequential called `main`: layers without parameters take a
// number too.
class SequentialModule : public torch::nn::Module {
 public:
  SequentialModule() {
    main_ = register_module("main", std::make_shared<torch::nn::Module>());
  }

  at::Tensor Forward(at::Tensor x) {
    for (const auto& layer : layers_) x = layer(std::move(x));
    return x;
  }

 protected:
  using Layer = std::function<at::Tensor(at::Tensor)>;

  // The layer's module is kept by `main_`.
  template <class Holder>
  void Add(const Holder& holder) {
    auto added = main_->register_module(std::to_string(layers_.size()), holder);
    auto* const module = added.get();
    layers_.push_back(
        [module](const at::Tensor& x) { return module->forward(x); });
  }
  void AddFunction(Layer function) { layers_.push_back(std::move(function)); }

  void InitializeWeights() {
    for (const auto& module : main_->children()) {
      if (auto* conv = module->as<torch::nn::Conv2dImpl>()) {
        torch::nn::init::normal_(conv->weight, 0.0, 0.02);
      } else if (auto* up = module->as<torch::nn::ConvTranspose2dImpl>()) {
        torch::nn::init::normal_(up->weight, 0.0, 0.02);
      } else if (auto* norm = module->as<torch::nn::BatchNorm2dImpl>()) {
        torch::nn::init::normal_(norm->weight, 1.0, 0.02);
        torch::nn::init::zeros_(norm->bias);
      }
    }
  }

 private:
  std::shared_ptr<torch::nn::Module> main_;
  std::vector<Layer> layers_;
};

class GeneratorModule : public SequentialModule {
 public:
  explicit GeneratorModule(const DcGeneratorOptions& options) {
    CheckSize(options.size);
    int64_t channels = options.width * (options.size / 8);
    Add(ConvTranspose2d(
        ConvTranspose2dOptions(options.latent, channels, 4).bias(false)));
    for (int64_t side = 4; side < options.size; side *= 2) {
      Add(BatchNorm2d(channels));
      AddFunction([](at::Tensor x) { return x.relu_(); });
      const int64_t next =
          side * 2 == options.size ? options.channels : channels / 2;
      Add(ConvTranspose2d(ConvTranspose2dOptions(channels, next, 4)
                              .stride(2)
                              .padding(1)
                              .bias(false)));
      channels = next;
    }
    if (options.activation == "tanh") {
      AddFunction([](at::Tensor x) { return x.tanh_(); });
    } else if (options.activation == "sigmoid") {
      AddFunction([](at::Tensor x) { return x.sigmoid_(); });
    } else if (options.activation != "none") {
      throw Error(ErrorKind::kBadSpec,
                  "activation: unknown \"" + options.activation +
                      "\"; tanh, sigmoid, none are accepted");
    }
    InitializeWeights();
  }
};

class DiscriminatorModule : public SequentialModule {
 public:
  explicit DiscriminatorModule(const DcDiscriminatorOptions& options)
      : image_({-1, options.channels, options.size, options.size}) {
    CheckSize(options.size);
    const auto leaky_relu = [](at::Tensor x) {
      return at::leaky_relu_(x, 0.2);
    };
    const auto halve = [](int64_t in, int64_t out) {
      return Conv2d(Conv2dOptions(in, out, 4).stride(2).padding(1).bias(false));
    };
    int64_t channels = options.width;
    Add(halve(options.channels, channels));
    AddFunction(leaky_relu);
    for (int64_t side = options.size / 2; side > 4; side /= 2, channels *= 2) {
      Add(halve(channels, channels * 2));
      Add(BatchNorm2d(channels * 2));
      AddFunction(leaky_relu);
    }
    Add(Conv2d(Conv2dOptions(channels, 1, 4).bias(false)));
    InitializeWeights();
  }

  at::Tensor Score(const at::Tensor& images) {
    return Forward(images.dim() == 2 ? images.reshape(image_) : images)
        .flatten();
  }

 private:
  const std::vector<int64_t> image_;
};

class DcGenerator : public ModuleModel, public NoiseFed {
 public:
  DcGenerator(std::shared_ptr<GeneratorModule> module,
              const DcGeneratorOptions& options)
      : ModuleModel(
            module,
            [generator = module.get(),
             latent = options.latent](const at::Tensor& noise) {
              return generator->Forward(noise.reshape({-1, latent, 1, 1}));
            },
            options.fields),
        latent_(options.latent) {}

  Batch Forward(const Batch& batch) override {
    const at::Tensor* noise = batch.Find(fields().input);
    return {{fields().output,
             Call(noise != nullptr ? *noise : DrawNoise(batch.Size()))}};
  }

  at::Tensor DrawNoise(int64_t n) const override {
    return at::randn({n, latent_}, first_parameter().options());
  }

  const std::string& noise_field() const override { return fields().input; }

 private:
  const int64_t latent_;
};

}  // namespace

std::shared_ptr<Model> MakeDcGenerator(const DcGeneratorOptions& options) {
  return std::make_shared<DcGenerator>(
      std::make_shared<GeneratorModule>(options), options);
}

std::shared_ptr<Model> MakeDcDiscriminator(
    const DcDiscriminatorOptions& options) {
  auto module = std::make_shared<DiscriminatorModule>(options);
  DiscriminatorModule* const discriminator = module.get();
  return std::make_shared<ModuleModel>(
      std::move(module),
      [discriminator](const at::Tensor& images) {
        return discriminator->Score(images);
      },
      options.fields);
}

}  // namespace epochd::engine
