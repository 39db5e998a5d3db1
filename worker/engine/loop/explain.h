// SPDX-License-Identifier: Apache-2.0
//
// Turns what LibTorch throws about shapes and types, which names nothing that
// a user wrote, into an Error(kTraining) that says in which part it happened,
// which parameter was in it, and what the batch held. Costs nothing unless
// something is thrown.
#pragma once

#include <c10/util/Exception.h>

#include <string>
#include <utility>

#include "worker/engine/core/batch.h"
#include "worker/engine/core/model.h"

namespace epochd::engine {

// `part`: such as "model" or "loss cross_entropy"; `model` may be nullptr.
[[noreturn]] void ThrowExplained(const c10::Error& error,
                                 const std::string& part, const Batch& batch,
                                 const Model* model);

// Fields with shapes and types: "input [32, 64] float, target [32] long".
std::string DescribeFields(const Batch& batch);

template <class Call>
auto Explained(const std::string& part, const Batch& batch, const Model* model,
               Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error& error) {
    ThrowExplained(error, part, batch, model);
  }
}

}  // namespace epochd::engine
