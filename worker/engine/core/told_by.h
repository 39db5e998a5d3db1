// SPDX-License-Identifier: Apache-2.0
//
// What an exception says, in a line for people. Any thread.
#pragma once

#include <exception>
#include <string>

namespace epochd::engine {

// LibTorch's own without its backtrace; memory that is not to be had as "needs
// N bytes of memory, more than there are".
std::string ToldBy(const std::exception& error);

}  // namespace epochd::engine
