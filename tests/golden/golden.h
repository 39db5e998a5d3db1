// SPDX-License-Identifier: Apache-2.0
//
// What record.py recorded, and the rule of fill.py for filling tensors. Throws
// std::runtime_error when a file cannot be read.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "worker/engine/core/loss.h"
#include "worker/engine/core/metric.h"
#include "worker/engine/core/model.h"
#include "worker/engine/core/optimizer.h"
#include "worker/engine/core/scheduler.h"
#include "worker/engine/data/transform.h"

namespace epochd::engine::golden {

// Reads `name`.json of this folder.
nlohmann::json Read(const std::string& name);

// Path of a file of this folder.
std::string Path(const std::string& file);

std::vector<double> Doubles(const nlohmann::json& list);

// Values in [-0.5, 0.5) that depend on (stream, index) alone.
at::Tensor Fill(at::IntArrayRef shape, int64_t stream);
// Fills parameters, then buffers.
void FillModel(Model& model);

// What a job file's mapping builds.
std::shared_ptr<Optimizer> BuildOptimizer(
    const nlohmann::ordered_json& job, const std::vector<NamedTensor>& targets);
std::shared_ptr<Scheduler> BuildScheduler(const nlohmann::ordered_json& job);
std::shared_ptr<Model> BuildModel(const nlohmann::ordered_json& job);

std::shared_ptr<Loss> BuildLoss(const nlohmann::json& job);
std::shared_ptr<Metric> BuildMetric(const nlohmann::json& job);
std::shared_ptr<Transform> BuildTransform(const nlohmann::json& job);

std::vector<double> Values(const at::Tensor& tensor);

// Checks that each tensor's sum and sum of squares are those recorded under
// its name, and that none is missing.
void ExpectSums(const std::vector<NamedTensor>& tensors,
                const nlohmann::json& recorded, double tolerance);
// Checks each value, relative to the greatest recorded.
void ExpectValues(const at::Tensor& tensor, const nlohmann::json& recorded,
                  double tolerance);

}  // namespace epochd::engine::golden
