# SPDX-License-Identifier: Apache-2.0
# Finds every dependency once; folders name the imported targets only.
# LibTorch comes from a wheel unpacked by scripts/setup into EPOCHD_PREFIX,
# all else from Debian.

if(NOT EPOCHD_PREFIX)
  if(DEFINED ENV{EPOCHD_PREFIX})
    set(epochd_prefix $ENV{EPOCHD_PREFIX})
  else()
    set(epochd_prefix ${PROJECT_SOURCE_DIR}/.prefix)
  endif()
  set(EPOCHD_PREFIX ${epochd_prefix}
      CACHE PATH "Where scripts/setup unpacked LibTorch" FORCE)
endif()

find_package(Threads REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
find_package(PNG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libjpeg REQUIRED IMPORTED_TARGET GLOBAL libjpeg)
pkg_check_modules(minizip REQUIRED IMPORTED_TARGET GLOBAL minizip)
find_package(OpenSSL REQUIRED)
find_package(GTest CONFIG REQUIRED)
find_package(benchmark CONFIG REQUIRED)

if(NOT EPOCHD_ENGINE_ONLY)
  find_package(Protobuf REQUIRED)
  find_package(gRPC CONFIG REQUIRED)
  find_package(absl CONFIG REQUIRED)
  find_package(yaml-cpp CONFIG REQUIRED)
  find_package(CLI11 CONFIG REQUIRED)
  find_package(fmt CONFIG REQUIRED)
  find_package(spdlog CONFIG REQUIRED)
  find_package(SQLite3 REQUIRED)
  find_package(prometheus-cpp CONFIG REQUIRED)
  pkg_check_modules(microhttpd REQUIRED IMPORTED_TARGET GLOBAL libmicrohttpd)
  add_library(epochd::microhttpd ALIAS PkgConfig::microhttpd)
endif()

# epochd::torch is LibTorch for CPUs: torch_cpu and c10 alone. TorchConfig.cmake
# is not used, as it insists on a CUDA toolkit for a CUDA build of the wheel;
# the libraries find libcudart and libcupti beside them by their own rpath.
# The wheel brings protobuf headers of its own: no target may use epochd::torch
# and protobuf both.
set(EPOCHD_TORCH ${EPOCHD_PREFIX}/torch)
if(NOT EXISTS ${EPOCHD_TORCH}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "EPOCHD_PREFIX: no LibTorch in '${EPOCHD_PREFIX}'; run "
                      "scripts/setup, or set EPOCHD_PREFIX to a folder that "
                      "holds torch/lib/libtorch_cpu.so")
endif()
foreach(name IN ITEMS c10 torch_cpu)
  add_library(epochd_imported_${name} SHARED IMPORTED GLOBAL)
  set_target_properties(
    epochd_imported_${name} PROPERTIES
    IMPORTED_LOCATION ${EPOCHD_TORCH}/lib/lib${name}.so
    IMPORTED_SONAME lib${name}.so)
endforeach()
add_library(epochd_torch INTERFACE)
add_library(epochd::torch ALIAS epochd_torch)
target_include_directories(
  epochd_torch SYSTEM INTERFACE
  ${EPOCHD_TORCH}/include ${EPOCHD_TORCH}/include/torch/csrc/api/include)
target_compile_definitions(
  epochd_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO
  _GLIBCXX_USE_CXX11_ABI=1)
target_link_libraries(
  epochd_torch INTERFACE epochd_imported_torch_cpu epochd_imported_c10
  Threads::Threads)
target_link_options(epochd_torch INTERFACE -Wl,--allow-shlib-undefined)

# epochd::torch_cuda adds the GPU half, for the GPU module alone. Its headers
# come from the wheels of scripts/setup --gpu, or from a CUDA toolkit.
find_path(
  EPOCHD_NCCL_INCLUDE nccl.h
  HINTS ${EPOCHD_PREFIX}/nvidia/nccl/include $ENV{CUDA_HOME}/include
        /usr/local/cuda/include
  NO_DEFAULT_PATH)
find_path(
  EPOCHD_CUDA_INCLUDE cuda_runtime_api.h
  HINTS ${EPOCHD_PREFIX}/nvidia/cu13/include $ENV{CUDA_HOME}/include
        /usr/local/cuda/include
  NO_DEFAULT_PATH)
if(EXISTS ${EPOCHD_TORCH}/lib/libtorch_cuda.so AND EPOCHD_NCCL_INCLUDE
   AND EPOCHD_CUDA_INCLUDE)
  set(epochd_gpu_found ON)
else()
  set(epochd_gpu_found OFF)
endif()
if(EPOCHD_GPU STREQUAL "AUTO")
  set(EPOCHD_WITH_GPU ${epochd_gpu_found})
elseif(EPOCHD_GPU AND NOT epochd_gpu_found)
  message(FATAL_ERROR "EPOCHD_GPU: ON, but '${EPOCHD_PREFIX}' holds no CUDA "
                      "libraries; run scripts/setup --gpu")
else()
  set(EPOCHD_WITH_GPU ${EPOCHD_GPU})
endif()
if(EPOCHD_WITH_GPU)
  foreach(name IN ITEMS c10_cuda torch_cuda)
    add_library(epochd_imported_${name} SHARED IMPORTED GLOBAL)
    set_target_properties(
      epochd_imported_${name} PROPERTIES
      IMPORTED_LOCATION ${EPOCHD_TORCH}/lib/lib${name}.so
      IMPORTED_SONAME lib${name}.so)
  endforeach()
  add_library(epochd_imported_cudart SHARED IMPORTED GLOBAL)
  set_target_properties(
    epochd_imported_cudart PROPERTIES
    IMPORTED_LOCATION ${EPOCHD_PREFIX}/nvidia/cu13/lib/libcudart.so.13
    IMPORTED_SONAME libcudart.so.13)
  add_library(epochd_torch_cuda INTERFACE)
  add_library(epochd::torch_cuda ALIAS epochd_torch_cuda)
  target_include_directories(
    epochd_torch_cuda SYSTEM INTERFACE
    ${EPOCHD_CUDA_INCLUDE} ${EPOCHD_NCCL_INCLUDE})
  target_compile_definitions(epochd_torch_cuda INTERFACE USE_C10D_NCCL)
  target_link_libraries(
    epochd_torch_cuda INTERFACE epochd_torch epochd_imported_torch_cuda
    epochd_imported_c10_cuda epochd_imported_cudart)
endif()
