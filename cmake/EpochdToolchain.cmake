# SPDX-License-Identifier: Apache-2.0
# Language level, build types, linker and compiler cache. Flags that belong to
# our own targets alone are in EpochdTargets.cmake (epochd_flags).

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_COLOR_DIAGNOSTICS ON)
# Makes build trees and images movable: our libraries are found beside us.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

set(EPOCHD_BUILD_TYPES Dev Release Asan Tsan)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev CACHE STRING "Dev, Release, Asan or Tsan" FORCE)
endif()
if(NOT CMAKE_BUILD_TYPE IN_LIST EPOCHD_BUILD_TYPES)
  message(FATAL_ERROR "CMAKE_BUILD_TYPE: '${CMAKE_BUILD_TYPE}' is not one of "
                      "${EPOCHD_BUILD_TYPES}")
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_ASAN
    "-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined")
set(CMAKE_CXX_FLAGS_TSAN "-O1 -g1 -fno-omit-frame-pointer -fsanitize=thread")
foreach(language_flags IN ITEMS DEV RELEASE ASAN TSAN)
  set(CMAKE_C_FLAGS_${language_flags} ${CMAKE_CXX_FLAGS_${language_flags}})
endforeach()

find_program(EPOCHD_MOLD mold)
if(EPOCHD_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
find_program(EPOCHD_CCACHE ccache)
if(EPOCHD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Lets ccache see through the precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${EPOCHD_CCACHE})
endif()
