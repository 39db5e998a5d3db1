// SPDX-License-Identifier: Apache-2.0
//
// MetricWriter: a place that scores are written to. Used by rank 0, from the
// training thread.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hooks/event_file.h"
#include "hooks/mlflow_client.h"
#include "worker/engine/hook/context.h"

namespace epochd::hooks {

struct MetricLine {
  double time = 0;    // seconds since 1970
  int64_t epoch = 0;  // from 1
  int64_t step = 0;   // optimizer steps since the job began
  // Of a validation within an epoch: batches since the job began.
  std::optional<int64_t> iteration{};
  engine::Scores scores{};
};

class MetricWriter {
 public:
  virtual ~MetricWriter() = default;

  virtual void Write(const MetricLine& line) = 0;
  // The run ended: "success", "failed" or "interrupted".
  virtual void Finish(const std::string& result) { (void)result; }
  // What went wrong since the last call, as a sentence; empty: nothing.
  virtual std::string TakeProblem() = 0;
};

// One JSON object a line.
std::unique_ptr<MetricWriter> MakeJsonLines(const std::string& folder);
// A TensorBoard event file in <folder>/tensorboard.
std::unique_ptr<MetricWriter> MakeTensorBoard(const std::string& folder);

// A run of an MLflow server.
class MlflowWriter : public MetricWriter {
 public:
  explicit MlflowWriter(MlflowClient::Options options);
  void Write(const MetricLine& line) override;
  void Finish(const std::string& result) override;
  std::string TakeProblem() override;

 private:
  const std::string uri_;
  MlflowClient client_;
  std::string last_words_;
};

}  // namespace epochd::hooks
