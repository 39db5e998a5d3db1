// SPDX-License-Identifier: Apache-2.0
#include "hooks/metric_writer.h"

#include <filesystem>
#include <fstream>

#include "worker/engine/core/number.h"

namespace epochd::hooks {
namespace {

// How long the end of a run waits for what was not sent yet.
constexpr std::chrono::milliseconds kPatience{10'000};

// Writes into a file; says once that it cannot.
class FileWriter : public MetricWriter {
 public:
  explicit FileWriter(std::string path) : path_(std::move(path)) {}
  void Write(const MetricLine& line) final {
    if (WriteLine(line) || complained_) return;
    complained_ = true;
    problem_ = "\"" + path_ + "\": cannot write; metrics there are incomplete";
  }
  std::string TakeProblem() final { return std::exchange(problem_, ""); }

 protected:
  virtual bool WriteLine(const MetricLine& line) = 0;
  const std::string path_;

 private:
  bool complained_ = false;
  std::string problem_;
};

class JsonLines : public FileWriter {
 public:
  explicit JsonLines(const std::string& folder)
      : FileWriter(folder + "/metrics.jsonl"), folder_(folder) {}

 protected:
  bool WriteLine(const MetricLine& line) override {
    nlohmann::ordered_json json = {
        {"time", line.time}, {"epoch", line.epoch}, {"step", line.step}};
    if (line.iteration) json["iteration"] = *line.iteration;
    for (const auto& [name, value] : line.scores) {
      json[name] = engine::FromNumber(value);
    }
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    std::ofstream file(path_, std::ios::app);
    file << json.dump() << '\n';
    file.flush();
    return static_cast<bool>(file);
  }

 private:
  const std::string folder_;
};

class TensorBoard : public FileWriter {
 public:
  explicit TensorBoard(const std::string& folder)
      : FileWriter(folder + "/tensorboard"), file_(path_) {}

 protected:
  bool WriteLine(const MetricLine& line) override {
    return file_.AddScalars(line.time, line.step, line.scores);
  }

 private:
  EventFile file_;
};

}  // namespace

std::unique_ptr<MetricWriter> MakeJsonLines(const std::string& folder) {
  return std::make_unique<JsonLines>(folder);
}

std::unique_ptr<MetricWriter> MakeTensorBoard(const std::string& folder) {
  return std::make_unique<TensorBoard>(folder);
}

MlflowWriter::MlflowWriter(MlflowClient::Options options)
    : uri_(options.uri), client_(std::move(options)) {}

void MlflowWriter::Write(const MetricLine& line) {
  client_.Add(line.time, line.step, line.scores);
}

void MlflowWriter::Finish(const std::string& result) {
  const bool complete = client_.Finish(result == "success"  ? "FINISHED"
                                       : result == "failed" ? "FAILED"
                                                            : "KILLED",
                                       kPatience);
  if (complete) return;
  last_words_ = "MLflow at \"" + uri_ +
                "\": " + std::to_string(client_.dropped()) + " of " +
                std::to_string(client_.dropped() + client_.delivered()) +
                " values were not delivered";
}

std::string MlflowWriter::TakeProblem() {
  std::string problem = client_.TakeProblem();
  if (!problem.empty()) problem = "MLflow at \"" + uri_ + "\": " + problem;
  if (!last_words_.empty()) {
    problem += (problem.empty() ? "" : "; ") + std::exchange(last_words_, "");
  }
  return problem;
}

}  // namespace epochd::hooks
