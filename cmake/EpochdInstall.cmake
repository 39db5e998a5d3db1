# SPDX-License-Identifier: Apache-2.0
# find_package(epochd): for the build folder itself and for what
# `cmake --install build/release --component engine` and `--component dev` put
# elsewhere. The headers keep their paths below include/epochd.
set(epochd_config_locate
    "set(epochd_include_dir \"${PROJECT_SOURCE_DIR}\")
set(epochd_engine_library
    \"$<TARGET_FILE:epochd_engine>\")
set(epochd_hooks_library \"$<TARGET_FILE:epochd_hooks>\")")
configure_file(${PROJECT_SOURCE_DIR}/cmake/epochdConfig.cmake.in
               ${PROJECT_BINARY_DIR}/cmake/build.cmake.in @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/epochdConfig.cmake
     INPUT ${PROJECT_BINARY_DIR}/cmake/build.cmake.in)

set(epochd_config_locate
    "get_filename_component(epochd_root \"\${CMAKE_CURRENT_LIST_DIR}/../../..\"
                       ABSOLUTE)
set(epochd_include_dir \"\${epochd_root}/include/epochd\")
set(epochd_engine_library
    \"\${epochd_root}/lib/libepochd_engine.so.${PROJECT_VERSION}\")
set(epochd_hooks_library \"\${epochd_root}/lib/libepochd_hooks.a\")")
configure_file(${PROJECT_SOURCE_DIR}/cmake/epochdConfig.cmake.in
               ${PROJECT_BINARY_DIR}/cmake/epochdConfig.cmake @ONLY)

include(CMakePackageConfigHelpers)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/epochdConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/epochdConfig.cmake
              ${PROJECT_BINARY_DIR}/epochdConfigVersion.cmake
        DESTINATION lib/cmake/epochd COMPONENT dev)
install(TARGETS epochd_hooks ARCHIVE DESTINATION lib COMPONENT dev)
foreach(folder IN ITEMS catalogue expression hooks worker/engine)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/
          DESTINATION include/epochd/${folder} COMPONENT dev
          FILES_MATCHING PATTERN "*.h")
endforeach()
