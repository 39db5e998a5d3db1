// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/torch_script.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/loop/explain.h"
#include "worker/engine/model/declarations.h"

namespace epochd::engine {
namespace {

// What LibTorch says, without its stack of C++ frames.
std::string Reason(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error != nullptr
                         ? torch_error->what_without_backtrace()
                         : error.what();
  const size_t frames = text.find("\nException raised from");
  return text.substr(0, frames);
}

torch::jit::Module Load(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) {
    throw Error(ErrorKind::kBadSpec, "file: \"" + file + "\" is no file");
  }
  try {
    return torch::jit::load(file, c10::Device(c10::kCPU));
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kBadSpec,
                "file: \"" + file + "\": no TorchScript archive, as " +
                    "torch.jit.save writes it: " + Reason(error));
  }
}

class TorchScriptModel : public Model {
 public:
  explicit TorchScriptModel(const TorchScriptOptions& options)
      : options_(options), module_(Load(options.file)) {}

  Batch Forward(const Batch& batch) override {
    std::vector<c10::IValue> inputs;
    for (const std::string& name : options_.inputs) {
      inputs.emplace_back(batch.At(name));
    }
    // Without: the first passes are watched and the others differ from them.
    const torch::jit::GraphOptimizerEnabledGuard unoptimized(false);
    try {
      return Fields(module_.forward(std::move(inputs)));
    } catch (const Error&) {
      throw;
    } catch (const c10::Error&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(ErrorKind::kTraining,
                  "\"" + options_.file + "\": " + Reason(error) +
                      "; the batch holds " + DescribeFields(batch));
    }
  }

  std::vector<NamedTensor> Parameters() const override {
    return Copy(module_.named_parameters());
  }
  std::vector<NamedTensor> Buffers() const override {
    return Copy(module_.named_buffers());
  }

  void SetTraining(bool training) override {
    module_.train(training);
    for (torch::jit::Module& norm : still_) norm.eval();
  }

  void To(c10::Device device) override { module_.to(device); }

  void Freeze(const std::vector<std::string>& names) override {
    Model::Freeze(names);
    for (torch::jit::Module module : module_.modules()) {
      if (!module.hasattr("running_mean")) continue;
      size_t own = 0;
      size_t trained = 0;
      for (const at::Tensor& each : module.parameters(/*recurse=*/false)) {
        ++own;
        if (each.requires_grad()) ++trained;
      }
      if (own == 0 || trained > 0) continue;
      module.eval();
      still_.push_back(std::move(module));
    }
  }

  void CheckSample(const std::function<Batch()>& sample) override {
    const Batch batch = sample();
    // Leaves no trace in chance and statistics.
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    const auto refuse = [&](const std::string& problem) {
      throw Error(ErrorKind::kBadSpec,
                  "\"" + options_.file + "\": a pass with one sample (" +
                      DescribeFields(batch) + "): " + problem);
    };
    at::Tensor chance;
    {
      const std::lock_guard lock(generator.mutex());
      chance = generator.get_state();
    }
    const c10::NoGradGuard no_grad;
    SetTraining(false);
    try {
      for (const auto& [name, tensor] : Forward(batch)) {
        if (!tensor.is_floating_point()) {
          refuse("\"" + name + "\" is of type " +
                 std::string(c10::toString(tensor.scalar_type())) +
                 "; a floating type is accepted");
        }
      }
    } catch (const Error& error) {
      refuse(error.what());
    } catch (const c10::Error& error) {
      refuse(Reason(error));
    }
    const std::lock_guard lock(generator.mutex());
    generator.set_state(chance);
  }

 private:
  template <class List>
  static std::vector<NamedTensor> Copy(const List& named) {
    std::vector<NamedTensor> tensors;
    std::set<const void*> seen;  // a module may be there under two names
    for (const auto& item : named) {
      if (seen.insert(item.value.unsafeGetTensorImpl()).second) {
        tensors.push_back({item.name, item.value});
      }
    }
    return tensors;
  }

  Batch Fields(const c10::IValue& result) const {
    const std::vector<std::string>& names = options_.outputs;
    Batch fields;
    const auto set = [&](const std::string& name, const c10::IValue& value) {
      if (!value.isTensor()) Refuse(value.tagKind() + " for \"" + name + "\"");
      fields.Set(name, value.toTensor());
    };
    if (result.isGenericDict()) {
      const auto dictionary = result.toGenericDict();
      for (const std::string& name : names) {
        const auto found = dictionary.find(name);
        if (found == dictionary.end()) {
          Refuse("a dictionary without \"" + name + "\"");
        }
        set(name, found->value());
      }
      return fields;
    }
    std::vector<c10::IValue> values = {result};
    if (result.isTuple()) {
      const auto tuple = result.toTuple();
      values = tuple->elements().vec();
    } else if (result.isList()) {
      values = result.toListRef().vec();
    }
    if (values.size() != names.size()) {
      Refuse(std::to_string(values.size()) + " values");
    }
    for (size_t i = 0; i < names.size(); ++i) set(names[i], values[i]);
    return fields;
  }

  [[noreturn]] void Refuse(const std::string& returned) const {
    std::string names;
    for (const std::string& name : options_.outputs) {
      names += (names.empty() ? "" : ", ") + name;
    }
    throw Error(ErrorKind::kTraining,
                "\"" + options_.file + "\" returned " + returned +
                    "; a tensor for each of its outputs (" + names +
                    ") is accepted");
  }

  const TorchScriptOptions options_;
  torch::jit::Module module_;
  // Frozen normalizations.
  std::vector<torch::jit::Module> still_;
};

}  // namespace

std::shared_ptr<Model> LoadTorchScript(const TorchScriptOptions& options) {
  return std::make_shared<TorchScriptModel>(options);
}

Entry<Model> TorchScriptEntry() {
  return {
      {.kind = "model",
       .name = "TorchScript",
       .help =
           "a module that torch.jit.save wrote; such archives hold code: only "
           "workers that were started with --allow-torchscript run them",
       .parameters =
           {{.name = "file",
             .type = "path",
             .required = true,
             .help = "the archive"},
            {.name = "inputs",
             .type = "list<string>",
             .default_value = catalogue::Json{"input"},
             .aliases = {"input"},
             .scalar_ok = true,
             .help = "fields that its forward method takes, in order"},
            {.name = "outputs",
             .type = "list<string>",
             .default_value = catalogue::Json{"output"},
             .aliases = {"output"},
             .scalar_ok = true,
             .min_items = 1,
             .help = "fields that it returns: a tensor, a tuple or list of "
                     "as many, or a dictionary with these keys"}}},
      [](const Params& params) {
        if (!params.AllowsTorchScript()) {
          throw Error(ErrorKind::kBadSpec,
                      "a TorchScript archive holds code, which this "
                      "worker does not run; one started with "
                      "--allow-torchscript does");
        }
        TorchScriptOptions options;
        options.file = params.String("file");
        options.inputs = params.Strings("inputs");
        options.outputs = params.Strings("outputs");
        return LoadTorchScript(options);
      }};
}

}  // namespace epochd::engine
