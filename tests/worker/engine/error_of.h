// SPDX-License-Identifier: Apache-2.0
//
// What calls of the engine throw. For tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "worker/engine/core/error.h"

namespace epochd::engine {

// The message of the Error that `call` throws; empty: none.
template <class Call>
std::string ErrorOf(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The same of a call that finds a fault in what was asked for.
template <class Call>
std::string BadSpecOf(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadSpec) << error.what();
    return error.what();
  }
  return "";
}

}  // namespace epochd::engine
