// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/model_summary.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace epochd::engine {
namespace {

constexpr std::string_view kSpace = "aten::";

bool IsOneOf(std::string_view name,
             std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class Values>
std::vector<at::Tensor> TensorsAmong(const Values& values) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : values) {
    if (value.isTensor()) {
      if (value.toTensor().defined()) tensors.push_back(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& each : value.toTensorVector()) {
        tensors.push_back(each);
      }
    }
  }
  return tensors;
}

enum class Work {
  kNone,
  kConvolution,
  kTransposed,
  kProduct,
  kAttention,
  kRecurrent
};

Work WorkOf(std::string_view operation) {
  if (operation.starts_with("conv_transpose")) return Work::kTransposed;
  if (operation.starts_with("conv")) return Work::kConvolution;
  if (IsOneOf(operation, {"linear", "addmm", "mm", "bmm", "baddbmm", "matmul",
                          "mv", "addmv"})) {
    return Work::kProduct;
  }
  if (operation == "scaled_dot_product_attention") return Work::kAttention;
  if (IsOneOf(operation, {"lstm", "gru", "rnn_tanh", "rnn_relu"})) {
    return Work::kRecurrent;
  }
  return Work::kNone;
}

// Values of one of the weight's slices along its first dimension. By sizes:
// operations within the watch would be watched.
int64_t SliceSize(const at::Tensor& weight) {
  return weight.size(0) == 0 ? 0 : weight.numel() / weight.size(0);
}

int64_t MultiplyAdds(std::string_view operation,
                     const std::vector<at::Tensor>& in, const at::Tensor& out) {
  switch (WorkOf(operation)) {
    case Work::kConvolution:  // input, weight [out, in / groups, ...]
      return in.size() < 2 ? 0 : out.numel() * SliceSize(in[1]);
    case Work::kTransposed:  // input, weight [in, out / groups, ...]
      return in.size() < 2 ? 0 : in[0].numel() * SliceSize(in[1]);
    case Work::kProduct: {
      const bool has_sum = IsOneOf(operation, {"addmm", "baddbmm", "addmv"});
      const size_t left = has_sum ? 1 : 0;
      return in.size() <= left ? 0 : out.numel() * in[left].size(-1);
    }
    case Work::kAttention: {  // query, key, value [..., N, D]
      if (in.size() < 3) return 0;
      const int64_t scores = in[0].numel() / in[0].size(-1) * in[1].size(-2);
      return scores * (in[0].size(-1) + in[2].size(-1));
    }
    case Work::kRecurrent: {  // input [T, B, D] or [B, T, D], ...
      if (in.empty()) return 0;
      int64_t weights = 0;
      for (const at::Tensor& each : in) {
        if (each.dim() == 2) weights += each.numel();
      }
      return weights * in[0].size(0) * in[0].size(1);
    }
    case Work::kNone:
      return 0;
  }
  return 0;
}

// Watches one pass on this thread. Operations within one that is a row are
// part of it.
class Watch {
 public:
  Watch(const Model& model, ModelSummary& summary) : summary_(summary) {
    for (const NamedTensor& each : model.Parameters()) {
      parameters_[each.tensor.unsafeGetTensorImpl()] = {
          each.name, each.tensor.numel(), false};
    }
    watching = this;
    handle_ =
        at::addThreadLocalCallback(at::RecordFunctionCallback(&Begin, &End)
                                       .needsInputs(true)
                                       .needsOutputs(true)
                                       .scopes({at::RecordScope::FUNCTION}));
  }
  ~Watch() {
    at::removeCallback(handle_);
    watching = nullptr;
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  struct Known {
    std::string name;
    int64_t size = 0;
    bool counted = false;
  };

  static thread_local Watch* watching;

  struct RowContext : at::ObserverContext {};

  static std::unique_ptr<at::ObserverContext> Begin(
      const at::RecordFunction& function) {
    return watching == nullptr ? nullptr : watching->BeginRow(function);
  }
  static void End(const at::RecordFunction& function,
                  at::ObserverContext* context) {
    if (watching != nullptr && context != nullptr) watching->EndRow(function);
  }

  std::unique_ptr<at::ObserverContext> BeginRow(
      const at::RecordFunction& function) {
    std::string_view name = function.name();
    if (is_open_ || !name.starts_with(kSpace)) return nullptr;
    name.remove_prefix(kSpace.size());
    inputs_ = TensorsAmong(function.inputs());
    std::vector<Known*> read;
    for (const at::Tensor& each : inputs_) {
      auto found = parameters_.find(each.unsafeGetTensorImpl());
      if (found != parameters_.end()) read.push_back(&found->second);
    }
    // Names and looks alone are no work.
    const bool looks = IsOneOf(name, {"detach", "alias", "t", "numpy_T",
                                      "requires_grad_", "set_", "size"});
    if (looks || (read.empty() && WorkOf(name) == Work::kNone)) return nullptr;
    ModelSummary::Row row;
    row.operation = std::string(name);
    for (Known* known : read) {
      row.layer = row.layer.empty() ? LayerOf(known->name)
                                    : Common(row.layer, LayerOf(known->name));
      if (!known->counted) row.parameters += known->size;
      known->counted = true;
    }
    summary_.rows.push_back(std::move(row));
    is_open_ = true;
    return std::make_unique<RowContext>();
  }

  void EndRow(const at::RecordFunction& function) {
    const std::vector<at::Tensor> outputs = TensorsAmong(function.outputs());
    ModelSummary::Row& row = summary_.rows.back();
    if (!outputs.empty()) {
      row.output_shape = outputs.front().sizes().vec();
      row.multiply_adds = MultiplyAdds(row.operation, inputs_, outputs.front());
    }
    summary_.multiply_adds += row.multiply_adds;
    inputs_.clear();
    is_open_ = false;
  }

  static std::string LayerOf(const std::string& parameter) {
    const size_t dot = parameter.rfind('.');
    return dot == std::string::npos ? parameter : parameter.substr(0, dot);
  }

  // The leading part up to a dot that two layers share.
  static std::string Common(const std::string& one, const std::string& other) {
    if (one == other) return one;
    const auto [end, ignored] =
        std::mismatch(one.begin(), one.end(), other.begin(), other.end());
    const std::string shared(one.begin(), end);
    const size_t dot = shared.rfind('.');
    return dot == std::string::npos ? one : shared.substr(0, dot);
  }

  ModelSummary& summary_;
  std::unordered_map<const c10::TensorImpl*, Known> parameters_;
  std::vector<at::Tensor> inputs_;
  bool is_open_ = false;
  at::CallbackHandle handle_ = 0;
};

thread_local Watch* Watch::watching = nullptr;

// Puts the default generators back.
class ChanceGuard {
 public:
  explicit ChanceGuard(c10::Device device) {
    Keep(c10::Device(c10::kCPU));
    if (device.type() != c10::kCPU) Keep(device);
  }
  ~ChanceGuard() {
    for (auto& [generator, state] : kept_) {
      const std::lock_guard lock(generator.mutex());
      generator.set_state(state);
    }
  }
  ChanceGuard(const ChanceGuard&) = delete;
  ChanceGuard& operator=(const ChanceGuard&) = delete;

 private:
  void Keep(c10::Device device) {
    at::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard lock(generator.mutex());
    kept_.emplace_back(generator, generator.get_state());
  }
  std::vector<std::pair<at::Generator, at::Tensor>> kept_;
};

std::string Thousands(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<size_t>(at), ",");
  }
  return text;
}

std::string Rounded(int64_t number) {
  if (number < 10'000) return Thousands(number);
  const char* unit = "";
  auto value = static_cast<double>(number);
  for (const char* next : {" k", " M", " G", " T"}) {
    if (value < 1000) break;
    value /= 1000;
    unit = next;
  }
  char text[32];
  snprintf(text, sizeof(text), value < 10 ? "%.2f%s" : "%.1f%s", value, unit);
  return text;
}

}  // namespace

std::string ModelSummary::Totals() const {
  std::string text = Thousands(parameters) + " parameters";
  if (trained != parameters) text += " (" + Thousands(trained) + " trained)";
  if (buffers > 0) text += ", " + Thousands(buffers) + " values in buffers";
  return text + ", " + Rounded(multiply_adds) + " multiply-adds for " +
         std::to_string(samples) + (samples == 1 ? " sample" : " samples");
}

std::string ModelSummary::Table() const {
  std::vector<std::vector<std::string>> lines = {
      {"layer", "operation", "output", "parameters", "multiply-adds"}};
  for (const Row& row : rows) {
    std::string shape;
    for (const int64_t size : row.output_shape) {
      shape += (shape.empty() ? "" : "x") + std::to_string(size);
    }
    lines.push_back({row.layer.empty() ? "-" : row.layer, row.operation, shape,
                     Thousands(row.parameters), Rounded(row.multiply_adds)});
  }
  std::vector<size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string table;
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string pad(widths[i] - line[i].size(), ' ');
      const bool is_number = i >= 3;
      if (i > 0) table += "  ";
      table += is_number ? pad + line[i] : line[i] + pad;
    }
    table += '\n';
  }
  return table + Totals() + '\n';
}

ModelSummary Summarize(Model& model, const Batch& batch, bool training) {
  ModelSummary summary;
  summary.samples = batch.Size();
  c10::Device device(c10::kCPU);
  for (const NamedTensor& each : model.Parameters()) {
    summary.parameters += each.tensor.numel();
    if (each.tensor.requires_grad()) summary.trained += each.tensor.numel();
    device = each.tensor.device();
  }
  for (const NamedTensor& each : model.Buffers()) {
    summary.buffers += each.tensor.numel();
  }
  const ChanceGuard chance(device);
  const c10::NoGradGuard no_grad;
  struct ModeGuard {
    Model& model;
    const bool training;
    ~ModeGuard() { model.SetTraining(training); }
  } const mode{model, training};
  model.SetTraining(false);
  const Watch watch(model, summary);
  if (auto* gan = dynamic_cast<AdversarialModel*>(&model)) {
    gan->Discriminate(gan->Generate(batch, batch.Size()));
  } else {
    model.Forward(batch);
  }
  return summary;
}

}  // namespace epochd::engine
