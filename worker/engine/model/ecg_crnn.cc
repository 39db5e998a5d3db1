// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/ecg_crnn.h"

#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/rnn.h>

#include <algorithm>

#include "worker/engine/core/error.h"
#include "worker/engine/model/declarations.h"
#include "worker/engine/model/layers.h"

namespace epochd::engine {
namespace {

using torch::nn::BatchNorm1d;
using torch::nn::Conv1d;
using torch::nn::Linear;

at::Tensor Drop(const at::Tensor& x, double probability, bool is_training) {
  return probability > 0 ? at::dropout(x, probability, is_training) : x;
}

// Convolution and normalization: children conv1d and batch_norm.
std::shared_ptr<Sequence> MakeConvNorm(int64_t in, int64_t out, int64_t kernel,
                                       int64_t stride, bool bias) {
  auto layer = std::make_shared<Sequence>();
  Conv1d conv(torch::nn::Conv1dOptions(in, out, kernel)
                  .stride(stride)
                  .padding((kernel - 1) / 2)
                  .bias(bias));
  layer->Add("conv1d", conv);
  layer->Add("batch_norm", BatchNorm1d(out));
  return layer;
}

void InitializeHeNormal(Sequence& conv_norm) {
  auto* conv = conv_norm.children().front()->as<torch::nn::Conv1dImpl>();
  torch::nn::init::kaiming_normal_(conv->weight);
}

class EcgBlock : public Layer {
 public:
  EcgBlock(int64_t in, int64_t out, const EcgCrnnOptions& options)
      : subsample_(options.subsample), dropout_(options.dropout) {
    shortcut_ =
        register_module("shortcut", std::make_shared<torch::nn::Module>());
    auto down = shortcut_->register_module(
        "down_sample", std::make_shared<torch::nn::Module>());
    // Place 0 is the pooling.
    shortcut_conv_ = down->register_module(
        "1", Conv1d(torch::nn::Conv1dOptions(in, out, 1).bias(false)));
    shortcut_norm_ =
        shortcut_->register_module("batch_normalization", BatchNorm1d(out));
    auto main =
        register_module("main_stream", std::make_shared<torch::nn::Module>());
    first_ = main->register_module(
        "cba_0", MakeConvNorm(in, out, options.kernel, subsample_, false));
    InitializeHeNormal(*first_);
    second_ = main->register_module(
        "cba_1", MakeConvNorm(out, out, options.kernel, 1, false));
    InitializeHeNormal(*second_);
  }

  at::Tensor Forward(const at::Tensor& input) override {
    at::Tensor x = first_->Forward(input).relu_();
    x = second_->Forward(Drop(x, dropout_, is_training()));
    at::Tensor shortcut = at::max_pool1d(input, {subsample_}, {subsample_});
    shortcut = shortcut_norm_->forward(shortcut_conv_->forward(shortcut));
    // Pooling drops the last samples that are fewer than its window.
    const int64_t missing = x.size(2) - shortcut.size(2);
    if (missing > 0) {
      shortcut =
          at::constant_pad_nd(shortcut, {missing / 2, missing - missing / 2});
    }
    return Drop((x + shortcut).relu_(), dropout_, is_training());
  }

 private:
  const int64_t subsample_;
  const double dropout_;
  std::shared_ptr<torch::nn::Module> shortcut_;
  Conv1d shortcut_conv_{nullptr};
  BatchNorm1d shortcut_norm_{nullptr};
  std::shared_ptr<Sequence> first_;
  std::shared_ptr<Sequence> second_;
};

// Linear layers lin_0, lin_1, ... with a function between them.
class LinearStack : public Layer {
 public:
  using Function = at::Tensor (*)(const at::Tensor&);

  LinearStack(int64_t in, const std::vector<int64_t>& widths,
              Function activation, double dropout)
      : activation_(activation), dropout_(dropout) {
    for (const int64_t width : widths) {
      layers_.push_back(register_module("lin_" + std::to_string(layers_.size()),
                                        Linear(in, width)));
      in = width;
    }
  }

  at::Tensor Forward(const at::Tensor& input) override {
    at::Tensor x = input;
    for (size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i]->forward(x);
      if (i + 1 == layers_.size()) break;
      x = Drop(activation_(x), dropout_, is_training());
    }
    return x;
  }

 private:
  const Function activation_;
  const double dropout_;
  std::vector<Linear> layers_;
};

class EcgCrnnModule : public Layer {
 public:
  explicit EcgCrnnModule(const EcgCrnnOptions& options)
      : dropout_(options.dropout), takes_max_(options.pool == "max") {
    auto cnn = register_module("cnn", std::make_shared<torch::nn::Module>());
    auto stem = cnn->register_module("input_stem",
                                     std::make_shared<torch::nn::Module>());
    stem_ = stem->register_module(
        "conv_0", MakeConvNorm(options.in_channels, options.width,
                               options.kernel, 1, /*bias=*/true));
    int64_t channels = options.width;
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t next = options.width * (i + 2);
      blocks_.push_back(cnn->register_module(
          "ResNetBasicBlock_" + std::to_string(i) + "_0",
          std::make_shared<EcgBlock>(channels, next, options)));
      channels = next;
    }
    if (!options.lstm.empty()) {
      auto rnn = register_module("rnn", std::make_shared<torch::nn::Module>());
      for (const int64_t units : options.lstm) {
        lstms_.push_back(rnn->register_module(
            "bidirectional_lstm_" + std::to_string(lstms_.size() + 1),
            torch::nn::LSTM(
                torch::nn::LSTMOptions(channels, units).bidirectional(true))));
        channels = 2 * units;
      }
    }
    if (options.attention == "se") {
      auto attention =
          register_module("attn", std::make_shared<torch::nn::Module>());
      auto fc = attention->register_module(
          "fc", std::make_shared<torch::nn::Module>());
      excite_ = fc->register_module(
          "0", std::make_shared<LinearStack>(
                   channels,
                   std::vector<int64_t>{channels / options.reduction, channels},
                   +[](const at::Tensor& x) { return at::relu(x); },
                   /*dropout=*/0.0));
    }
    std::vector<int64_t> widths = options.hidden;
    widths.push_back(options.num_classes);
    classifier_ = register_module(
        "clf",
        std::make_shared<LinearStack>(
            channels, widths, +[](const at::Tensor& x) { return at::mish(x); },
            options.dropout));
  }

  at::Tensor Forward(const at::Tensor& input) override {
    at::Tensor x = stem_->Forward(input).relu_();
    for (const auto& block : blocks_) x = block->Forward(x);
    if (!lstms_.empty()) {
      x = x.permute({2, 0, 1});
      for (size_t i = 0; i < lstms_.size(); ++i) {
        if (i > 0) x = Drop(x, dropout_, is_training());
        x = std::get<0>(lstms_[i]->forward(x));
      }
      x = x.permute({1, 2, 0});
    }
    if (excite_ != nullptr) {
      x = x * excite_->Forward(x.mean(2)).sigmoid().unsqueeze(2);
    }
    return classifier_->Forward(takes_max_ ? x.amax(2) : x.mean(2));
  }

 private:
  const double dropout_;
  const bool takes_max_;
  std::shared_ptr<Sequence> stem_;
  std::vector<std::shared_ptr<EcgBlock>> blocks_;
  std::vector<torch::nn::LSTM> lstms_;
  std::shared_ptr<LinearStack> excite_;  // nullptr: none
  std::shared_ptr<LinearStack> classifier_;
};

void CheckChoice(const char* name, const std::string& value,
                 std::initializer_list<const char*> choices) {
  std::string known;
  for (const char* choice : choices) {
    if (value == choice) return;
    known += std::string(known.empty() ? "" : ", ") + choice;
  }
  throw Error(ErrorKind::kBadSpec, std::string(name) + ": unknown \"" + value +
                                       "\"; " + known + " are accepted");
}

}  // namespace

std::shared_ptr<Model> MakeEcgCrnn(const EcgCrnnOptions& options) {
  CheckChoice("attention", options.attention, {"se", "none"});
  CheckChoice("pool", options.pool, {"max", "avg"});
  if (options.kernel % 2 == 0) {
    throw Error(ErrorKind::kBadSpec,
                "kernel: " + std::to_string(options.kernel) +
                    " is even; an odd number is accepted");
  }
  const int64_t channels =
      options.lstm.empty() ? options.width * 5 : options.lstm.back() * 2;
  if (options.attention == "se" && channels < options.reduction) {
    throw Error(ErrorKind::kBadSpec,
                "reduction: " + std::to_string(options.reduction) +
                    "; at most the channels, " + std::to_string(channels) +
                    ", is accepted");
  }
  return MakeModel(std::make_shared<EcgCrnnModule>(options), options.fields);
}

Entry<Model> EcgCrnnEntry() {
  return {{.kind = "model",
           .name = "ECG_CRNN",
           .aliases = {"EcgCrnn", "ecg_crnn"},
           .help = "torch_ecg's ECG_CRNN with the backbone "
                   "resnet_nature_comm: signals [B, leads, samples] to logits",
           .parameters = SignalParameters(
               {CountParameter("width", 64,
                               "channels of the stem; the blocks have 2, 3, 4 "
                               "and 5 times as many"),
                Odd(CountParameter("kernel", 17, "samples of a kernel")),
                {.name = "subsample",
                 .type = "int",
                 .default_value = 4,
                 .min = 2,
                 .help = "samples of which each block keeps one"},
                {.name = "dropout",
                 .type = "float",
                 .default_value = 0.2,
                 .min = 0,
                 .max = 1,
                 .help = "probability of dropping a value"},
                {.name = "lstm",
                 .type = "list<int>",
                 .default_value = catalogue::Json::array(),
                 .min = 1,
                 .aliases = {"hidden_sizes"},
                 .scalar_ok = true,
                 .help = "units of each LSTM, which runs in both directions; "
                         "none by default, as in torch_ecg"},
                {.name = "attention",
                 .type = "string",
                 .default_value = "se",
                 .choices = {"se", "none"},
                 .aliases = {"attn"},
                 .help = "squeeze-and-excitation, or none"},
                CountParameter("reduction", 8,
                               "by which the excitation is narrower"),
                {.name = "pool",
                 .type = "string",
                 .default_value = "max",
                 .choices = {"max", "avg"},
                 .aliases = {"global_pool"},
                 .help = "over time"},
                {.name = "hidden",
                 .type = "list<int>",
                 .default_value = catalogue::Json{1024},
                 .min = 1,
                 .scalar_ok = true,
                 .help = "widths of the classifier's hidden layers"}})},
          [](const Params& params) {
            EcgCrnnOptions options;
            options.fields = FieldsFrom(params);
            options.in_channels = params.Int("in_channels");
            options.num_classes = params.Int("num_classes");
            options.width = params.Int("width");
            options.kernel = params.Int("kernel");
            options.subsample = params.Int("subsample");
            options.dropout = params.Float("dropout");
            options.lstm = params.Ints("lstm");
            options.attention = params.String("attention");
            options.reduction = params.Int("reduction");
            options.pool = params.String("pool");
            options.hidden = params.Ints("hidden");
            return MakeEcgCrnn(options);
          }};
}

}  // namespace epochd::engine
