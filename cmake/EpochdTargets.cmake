# SPDX-License-Identifier: Apache-2.0
# One helper per kind of target. A target is named after its folder:
# server/store gives epochd_server_store with the alias epochd::server_store.
#
#   epochd_library(
#     [NAME server_store]       # default: the folder, '/' becomes '_'
#     SOURCES a.cc b.cc         # none: a header-only (INTERFACE) library
#     DEPS epochd::server_job absl::status      # seen by users of the headers
#     PRIVATE_DEPS SQLite::SQLite3              # used in .cc files alone
#     [SHARED] [TORCH] [UNITY])
#   epochd_executable(NAME epochd SOURCES main.cc DEPS ... [TORCH])
#     puts <build>/bin/epochd; the target is epochd_bin_<name>, the alias
#     epochd::bin_<name>, '-' becoming '_'. The target epochd_programs builds
#     all of them; each is an install component of its own name.
#   epochd_test([NAME server_store] SOURCES a_test.cc DEPS ... [TORCH]
#               [LABELS l...] [TIMEOUT s] [RUN_SERIAL] [DEFINITIONS d...]
#               [TARGETS t...])  # TARGETS: programs the test starts
#     one GoogleTest binary per folder of tests/, main() included; ctest lists
#     each test case, but a TORCH binary counts as one test, since loading
#     LibTorch for each case would take longer than the cases.
#   epochd_engine_sources(a.cc ...)  adds to libepochd_engine.so
#   epochd_engine_test([NAME worker_engine_loop] SOURCES ... [DEPS ...] ...)
#   epochd_proto(NAME proto_v1 FILES a.proto ... [GRPC] [DEPS ...])
#   epochd_add_folders(a b ...)  adds those that exist and EPOCHD_ONLY allows
#
# TORCH links LibTorch and uses the one precompiled header, which holds
# <ATen/ATen.h> and nlohmann-json; include <torch/torch.h> only where nothing
# smaller will do. Includes are written from the project root.

include(GoogleTest)

# ---- flags of our own code ---------------------------------------------------

add_library(epochd_flags INTERFACE)
target_compile_options(
  epochd_flags
  INTERFACE
    # -fPIC also for executables (linked with -pie): objects of programs and
    # of the engine then share one precompiled header.
    -fPIC
    -Wall
    -Wextra
    -Wshadow
    -Werror
    -fstack-protector-strong
    # GCC 12 sees these in correct code of std and LibTorch once inlined.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-error=array-bounds;-Wno-error=stringop-overflow;-Wno-error=stringop-overread;-Wno-error=maybe-uninitialized;-Wno-error=dangling-pointer>
    $<$<CONFIG:Dev,Release>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>
    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
target_compile_definitions(
  epochd_flags INTERFACE _GLIBCXX_ASSERTIONS
                         EPOCHD_VERSION="${PROJECT_VERSION}")
target_include_directories(
  epochd_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_link_options(epochd_flags INTERFACE -Wl,-z,relro,-z,now)

# ---- precompiled headers -------------------------------------------------------

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pch.cc CONTENT "")

if(EPOCHD_PCH)
  add_library(epochd_torch_pch OBJECT EXCLUDE_FROM_ALL
                               ${PROJECT_BINARY_DIR}/pch.cc)
  target_link_libraries(epochd_torch_pch PRIVATE epochd_flags epochd::torch)
  # ATen alone: with torch/torch.h each file would instantiate its pending
  # templates again, which takes 8 s in place of 2 s.
  target_precompile_headers(
    epochd_torch_pch PRIVATE <ATen/ATen.h> <algorithm> <filesystem>
    <functional> <map> <memory> <nlohmann/json.hpp> <optional> <string>
    <string_view> <unordered_map> <utility> <vector>)
endif()

# What code without LibTorch includes most. Only the release preset asks for
# them, so that a dev build shows a missing include.
if(EPOCHD_STD_PCH AND NOT EPOCHD_ENGINE_ONLY)
  # Makes the command lines of all targets agree.
  target_compile_options(epochd_flags INTERFACE -pthread)
  foreach(kind IN ITEMS std test)
    add_library(epochd_${kind}_pch OBJECT EXCLUDE_FROM_ALL
                                   ${PROJECT_BINARY_DIR}/pch.cc)
    target_link_libraries(epochd_${kind}_pch PRIVATE epochd_flags)
    target_precompile_headers(
      epochd_${kind}_pch PRIVATE <algorithm> <array> <chrono> <cstdint>
      <filesystem> <functional> <map> <memory> <nlohmann/json.hpp> <optional>
      <set> <sstream> <string> <string_view> <unordered_map> <utility>
      <variant> <vector> <absl/status/status.h> <absl/status/statusor.h>
      <absl/strings/str_cat.h> <absl/synchronization/mutex.h>
      <absl/time/time.h>)
  endforeach()
  target_link_libraries(epochd_test_pch PRIVATE GTest::gmock GTest::gtest)
  target_precompile_headers(epochd_test_pch PRIVATE <gmock/gmock.h>
                            <gtest/gtest.h>)
endif()

# Uses the precompiled header of `kind` (std or test) where there is one and
# the folder's CMakeLists.txt does not give the target one of its own.
function(_epochd_use_std target kind)
  if(TARGET epochd_${kind}_pch)
    cmake_language(
      EVAL CODE
      "cmake_language(DEFER CALL _epochd_reuse_std [[${target}]] [[${kind}]])")
  endif()
endfunction()

function(_epochd_reuse_std target kind)
  get_target_property(own ${target} PRECOMPILE_HEADERS)
  if(NOT own)
    target_precompile_headers(${target} REUSE_FROM epochd_${kind}_pch)
  endif()
endfunction()

function(_epochd_use_torch target scope)
  target_link_libraries(${target} ${scope} epochd::torch)
  if(EPOCHD_PCH)
    target_precompile_headers(${target} REUSE_FROM epochd_torch_pch)
  endif()
endfunction()

function(_epochd_unity target)
  if(EPOCHD_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON
                                               UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# Sets `out` to the folder relative to the root with '/' replaced by '_'.
function(_epochd_folder_name out)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" folder "${folder}")
  set(${out} ${folder} PARENT_SCOPE)
endfunction()

# Replaces aliases of folders added later (or missing) by their target names,
# which are looked up when linking: one missing folder then breaks what needs
# it, not the whole configuration.
function(_epochd_resolve variable)
  set(resolved)
  foreach(name IN LISTS ${variable})
    if(NOT TARGET ${name})
      string(REGEX REPLACE "^epochd::" "epochd_" name ${name})
    endif()
    list(APPEND resolved ${name})
  endforeach()
  set(${variable} ${resolved} PARENT_SCOPE)
endfunction()

# ---- libraries and programs --------------------------------------------------

function(epochd_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SHARED;TORCH;UNITY" "NAME"
                        "SOURCES;DEPS;PRIVATE_DEPS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "epochd_library: unknown '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_NAME)
    _epochd_folder_name(arg_NAME)
  endif()
  _epochd_resolve(arg_DEPS)
  _epochd_resolve(arg_PRIVATE_DEPS)
  string(REPLACE "/" "_" name "${arg_NAME}")
  set(target epochd_${name})
  if(NOT arg_SOURCES)
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR}
                                                   ${PROJECT_BINARY_DIR})
    target_link_libraries(${target} INTERFACE ${arg_DEPS})
  else()
    if(arg_SHARED)
      add_library(${target} SHARED ${arg_SOURCES})
      # Keeps the command line, and so the precompiled header, the same.
      set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "")
    else()
      add_library(${target} STATIC ${arg_SOURCES})
    endif()
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}
                                                ${PROJECT_BINARY_DIR})
    target_link_libraries(
      ${target} PUBLIC ${arg_DEPS} PRIVATE epochd_flags ${arg_PRIVATE_DEPS})
    if(arg_TORCH)
      _epochd_use_torch(${target} PUBLIC)
    else()
      _epochd_use_std(${target} std)
    endif()
    if(arg_UNITY)
      _epochd_unity(${target})
    endif()
  endif()
  add_library(epochd::${name} ALIAS ${target})
endfunction()

add_custom_target(epochd_programs)

function(epochd_executable)
  cmake_parse_arguments(PARSE_ARGV 0 arg "TORCH" "NAME" "SOURCES;DEPS")
  if(arg_UNPARSED_ARGUMENTS)
    message(
      FATAL_ERROR "epochd_executable: unknown '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  _epochd_resolve(arg_DEPS)
  string(REPLACE "-" "_" name "${arg_NAME}")
  set(target epochd_bin_${name})
  add_executable(${target} ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_NAME})
  target_link_libraries(${target} PRIVATE epochd_flags ${arg_DEPS})
  target_link_options(${target} PRIVATE -pie)
  if(arg_TORCH)
    _epochd_use_torch(${target} PRIVATE)
  else()
    # The installed path from the start: room left for it would be empty
    # entries, which mean the working folder.
    set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
    _epochd_use_std(${target} std)
  endif()
  add_executable(epochd::bin_${name} ALIAS ${target})
  add_dependencies(epochd_programs ${target})
  set_target_properties(
    ${target} PROPERTIES
    INSTALL_RPATH "$ORIGIN/../lib;$ORIGIN/../lib/epochd/torch/lib")
  install(TARGETS ${target} RUNTIME DESTINATION bin COMPONENT ${arg_NAME})
endfunction()

# ---- tests -------------------------------------------------------------------

function(epochd_test)
  cmake_parse_arguments(
    PARSE_ARGV 0 arg "TORCH;RUN_SERIAL" "NAME;TIMEOUT"
    "SOURCES;DEPS;LABELS;DEFINITIONS;TARGETS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "epochd_test: unknown '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_NAME)
    _epochd_folder_name(arg_NAME)
    string(REGEX REPLACE "^tests_" "" arg_NAME ${arg_NAME})
  endif()
  if(NOT arg_TIMEOUT)
    # Of a loaded machine: tests wait a minute for what takes milliseconds.
    set(arg_TIMEOUT 300)
    if(arg_TORCH) # one ctest entry for a whole suite
      set(arg_TIMEOUT 900)
    endif()
  endif()
  _epochd_resolve(arg_DEPS)
  _epochd_resolve(arg_TARGETS)
  string(REPLACE "/" "_" name "${arg_NAME}")
  set(target epochd_test_${name})
  add_executable(${target} ${arg_SOURCES})
  set_target_properties(
    ${target} PROPERTIES OUTPUT_NAME ${name}_test
                         RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${target} PRIVATE epochd_flags ${arg_DEPS}
                                          GTest::gmock GTest::gtest_main)
  target_link_options(${target} PRIVATE -pie)
  target_compile_definitions(${target} PRIVATE ${arg_DEFINITIONS})
  if(arg_TORCH)
    _epochd_use_torch(${target} PRIVATE)
  else()
    _epochd_use_std(${target} test)
  endif()
  if(arg_TARGETS)
    add_dependencies(${target} ${arg_TARGETS})
  endif()
  # Tells tests where the programs and the sources are.
  set(environment EPOCHD_TEST_BIN_DIR=${PROJECT_BINARY_DIR}/bin
                  EPOCHD_TEST_SOURCE_DIR=${PROJECT_SOURCE_DIR})
  if(arg_TORCH)
    add_test(NAME ${name} COMMAND ${target})
    set_tests_properties(
      ${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} RUN_SERIAL ${arg_RUN_SERIAL}
                         ENVIRONMENT "${environment}" LABELS "${arg_LABELS}")
  else()
    gtest_discover_tests(
      ${target} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT ${arg_TIMEOUT} RUN_SERIAL ${arg_RUN_SERIAL})
    # PROPERTIES above loses lists, so they are set once the tests are known.
    set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}_properties.cmake)
    file(
      WRITE ${script}
      "if(${target}_TESTS)\n"
      "  set_tests_properties(\n"
      "    \${${target}_TESTS} PROPERTIES\n"
      "    ENVIRONMENT \"${environment}\" LABELS \"${arg_LABELS}\")\n"
      "endif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
  endif()
endfunction()

function(epochd_engine_test)
  epochd_test(${ARGV} TORCH DEPS epochd::engine)
endfunction()

# ---- the engine --------------------------------------------------------------

# Every folder below worker/engine/ adds its files to the one shared library.
function(epochd_engine_sources)
  set(sources ${ARGV})
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(epochd_engine PRIVATE ${sources})
  # One unit a folder in unity builds, so that names of other folders' unnamed
  # namespaces never meet.
  _epochd_folder_name(group)
  set_source_files_properties(
    ${sources} TARGET_DIRECTORY epochd_engine PROPERTIES UNITY_GROUP ${group})
endfunction()

# ---- generated code ------------------------------------------------------------

# Generates C++ from .proto files given relative to proto/; what is generated
# is included as "epochd/v1/job.pb.h" or "proto/epochd/v1/job.pb.h".
function(epochd_proto)
  cmake_parse_arguments(PARSE_ARGV 0 arg "GRPC" "NAME" "FILES;DEPS")
  set(root ${PROJECT_SOURCE_DIR}/proto)
  set(out ${PROJECT_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${out})
  set(generated)
  foreach(file IN LISTS arg_FILES)
    string(REGEX REPLACE "\\.proto$" "" stem ${file})
    set(outputs ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
    set(flags --cpp_out=${out})
    # Only files that declare a service get gRPC code.
    file(STRINGS ${root}/${file} services REGEX "^service ")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                                           ${root}/${file})
    if(arg_GRPC AND services)
      list(APPEND outputs ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
      list(APPEND flags --grpc_out=${out}
           --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>)
    endif()
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND protobuf::protoc -I ${root} ${flags} ${root}/${file}
      DEPENDS ${root}/${file}
      COMMENT "Generating C++ from proto/${file}"
      VERBATIM)
    list(APPEND generated ${outputs})
  endforeach()
  _epochd_resolve(arg_DEPS)
  set(target epochd_${arg_NAME})
  add_library(${target} STATIC ${generated})
  target_include_directories(${target} SYSTEM PUBLIC ${PROJECT_BINARY_DIR}
                                                     ${out})
  target_compile_options(${target} PRIVATE -fPIC -w)
  # Generated files use the same names; one unit of all would not compile.
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf ${arg_DEPS})
  if(arg_GRPC)
    target_link_libraries(${target} PUBLIC gRPC::grpc++)
  endif()
  add_library(epochd::${arg_NAME} ALIAS ${target})
endfunction()

# ---- folders -----------------------------------------------------------------

# Sets `out` to whether EPOCHD_ONLY lets `folder` (from the root) in. tests/x
# goes with x, and the folders on the way to one listed are let in too.
function(_epochd_folder_allowed folder out)
  set(${out} ON PARENT_SCOPE)
  if(NOT EPOCHD_ONLY OR folder STREQUAL "tests")
    return()
  endif()
  string(REGEX REPLACE "^tests/" "" subject ${folder})
  foreach(allowed IN LISTS EPOCHD_ONLY)
    string(REGEX REPLACE "^tests/" "" wanted ${allowed})
    string(FIND "${subject}/" "${wanted}/" below)
    string(FIND "${wanted}/" "${subject}/" above)
    if(below EQUAL 0 OR above EQUAL 0)
      return()
    endif()
  endforeach()
  set(${out} OFF PARENT_SCOPE)
endfunction()

function(epochd_add_folders)
  foreach(name IN LISTS ARGV)
    set(path ${CMAKE_CURRENT_SOURCE_DIR}/${name})
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${path})
    _epochd_folder_allowed(${folder} allowed)
    if(allowed AND EXISTS ${path}/CMakeLists.txt)
      add_subdirectory(${name})
    endif()
  endforeach()
endfunction()
