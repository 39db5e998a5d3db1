// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/gpu_module.h"

#include <dlfcn.h>

#include <string>

#include "worker/engine/core/error.h"

namespace epochd::trainer {
namespace {

[[noreturn]] void Refuse(const std::string& problem) {
  throw engine::Error(engine::ErrorKind::kInfrastructure,
                      "device gpu: " + problem);
}

}  // namespace

const cuda::Module& OpenGpuModule() {
  // Stays open: CUDA cannot be unloaded.
  void* library = dlopen(cuda::kModuleFile, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    Refuse(std::string("the GPU module cannot be opened: ") + dlerror());
  }
  using Getter = const cuda::Module* (*)();
  const auto getter =
      reinterpret_cast<Getter>(dlsym(library, cuda::kModuleSymbol));
  if (getter == nullptr) Refuse("the GPU module is of another version");
  const cuda::Module* module = getter();
  if (module->num_devices() < 1) Refuse("this process sees no GPU");
  return *module;
}

}  // namespace epochd::trainer
