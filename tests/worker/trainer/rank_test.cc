// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/worker/trainer/attempt.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/link/command_socket.h"
#include "worker/link/exit_code.h"

namespace epochd::trainer {
namespace {

at::Tensor WeightsIn(const std::string& checkpoint) {
  std::vector<at::Tensor> all;
  for (const auto& each : engine::ReadCheckpoint(checkpoint).model) {
    all.push_back(each.tensor.flatten());
  }
  return at::cat(all);
}

// Lines of the metrics file that the attempt tells of, without their times.
std::vector<Json> Metrics(const Attempt& attempt) {
  std::vector<Json> lines;
  std::ifstream file(attempt.Lines("training_ended")
                         .at(0)["outputs"]["metrics"]
                         .get<std::string>());
  for (std::string line; std::getline(file, line);) {
    lines.push_back(Json::parse(line));
    lines.back().erase("time");
  }
  return lines;
}

bool HasCheckpointsFolder(const Attempt& attempt) {
  return std::filesystem::exists(
      attempt.spec.storage + "/" + attempt.spec.job + "/attempt-" +
      std::to_string(attempt.spec.attempt) + "/checkpoints");
}

TEST(RankTest, TrainsAndTellsInLines) {
  const engine::TempFolder root;
  Attempt attempt(root.path(), 1, engine::DigitsExperiment(2));
  attempt.Start();
  EXPECT_EQ(attempt.ExitCode(0), link::kDone);
  std::vector<std::string> types;
  for (const Json& line : attempt.Lines()) {
    // A checkpoint is told of when it is on the disk.
    if (line["type"] != "progress" && line["type"] != "checkpoint_saved") {
      types.push_back(line["type"]);
    }
    EXPECT_EQ(line["rank"], 0);
    EXPECT_TRUE(line["time"].is_number());
  }
  EXPECT_EQ(types, (std::vector<std::string>{
                       "started", "training_began", "epoch_started",
                       "first_step", "epoch_finished", "epoch_started",
                       "epoch_finished", "training_ended"}));
  EXPECT_EQ(attempt.Lines("checkpoint_saved").size(), 2u);
  const Json ended = attempt.Lines("training_ended")[0];
  EXPECT_EQ(ended["outcome"], "completed");
  EXPECT_EQ(ended["epochs"], 2);
  EXPECT_EQ(ended["best"]["name"], "val/accuracy");
  for (const char* output :
       {"checkpoints", "experiment", "metrics", "tensorboard"}) {
    EXPECT_TRUE(
        std::filesystem::exists(ended["outputs"][output].get<std::string>()))
        << output;
  }
}

TEST(RankTest, KeepsTheWholeExperimentAndWhereItRan) {
  const engine::TempFolder root;
  Attempt attempt(root.path(), 1, engine::DigitsExperiment(1));
  attempt.Start();
  ASSERT_EQ(attempt.ExitCode(0), link::kDone);
  const Json outputs = attempt.Lines("training_ended")[0]["outputs"];
  std::ifstream file(outputs["experiment"].get<std::string>());
  const Json whole = Json::parse(file)["experiment"];
  EXPECT_EQ(whole["optimizer"]["betas"], Json({0.9, 0.999}));
  EXPECT_EQ(whole["monitor"]["metric"], "val/accuracy");
  // It is the same run again, and says the same of itself.
  Attempt again(root.path() + "/again", 1, whole);
  again.Start();
  ASSERT_EQ(again.ExitCode(0), link::kDone);
  EXPECT_EQ(attempt.Lines("epoch_finished")[0]["metrics"],
            again.Lines("epoch_finished")[0]["metrics"]);
  std::ifstream other(again.Lines("training_ended")[0]["outputs"]["experiment"]
                          .get<std::string>());
  EXPECT_EQ(Json::parse(other)["experiment"], whole);

  std::ifstream report(outputs["environment"].get<std::string>());
  const Json environment = Json::parse(report);
  EXPECT_EQ(environment["seed"], 7);
  EXPECT_EQ(environment["epochd"], EPOCHD_VERSION);
  EXPECT_EQ(environment["world_size"], 1);
}

TEST(RankTest, Case163StopsWithACheckpointOnTheFirstSignal) {
  for (int number : {SIGTERM, SIGINT}) {
    const engine::TempFolder root;
    Attempt attempt(root.path(), 1, engine::DigitsExperiment(100000));
    attempt.Start();
    ASSERT_TRUE(attempt.WaitForLines("first_step", 1));
    kill(attempt.pid(0), number);
    EXPECT_EQ(attempt.ExitCode(0), link::kStoppedWithCheckpoint);
    const Json ended = attempt.Lines("training_ended").at(0);
    EXPECT_EQ(ended["outcome"], "stopped");
    EXPECT_EQ(ended["message"], number == SIGINT
                                    ? "interrupted, with a checkpoint"
                                    : "stopped on request, with a checkpoint");
    ASSERT_FALSE(attempt.Checkpoints().empty());
    EXPECT_NO_THROW(engine::ReadCheckpoint(attempt.Checkpoints().front()));
    std::ifstream log(link::LogPath(link::RankDir(attempt.dir(), 0)));
    std::string last;
    for (std::string line; std::getline(log, line);) last = line;
    EXPECT_EQ(last, "rank 0: stopped with checkpoint");
  }
}

TEST(RankTest, Case163EndsAtOnceOnASecondSignal) {
  const engine::TempFolder root;
  Attempt attempt(root.path(), 1, engine::DigitsExperiment(100000));
  attempt.Start();
  ASSERT_TRUE(attempt.WaitForLines("first_step", 1));
  // Both are there before the process goes on; lower numbers come first.
  kill(attempt.pid(0), SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(attempt.pid(0), &status, WUNTRACED), attempt.pid(0));
  ASSERT_TRUE(WIFSTOPPED(status));
  kill(attempt.pid(0), SIGINT);
  kill(attempt.pid(0), SIGTERM);
  kill(attempt.pid(0), SIGCONT);
  EXPECT_EQ(attempt.ExitCode(0), 128 + SIGTERM);
  EXPECT_TRUE(attempt.Lines("training_ended").empty());
}

// Which a write to a peer that died gives.
TEST(RankTest, ABrokenPipeDoesNotEndIt) {
  const engine::TempFolder root;
  Attempt attempt(root.path(), 1, engine::DigitsExperiment(100000));
  attempt.Start();
  ASSERT_TRUE(attempt.WaitForLines("first_step", 1));
  kill(attempt.pid(0), SIGPIPE);
  kill(attempt.pid(0), SIGTERM);
  EXPECT_EQ(attempt.ExitCode(0), link::kStoppedWithCheckpoint);
}

TEST(RankTest, StopsAtOnceWhileItWaitsForARankThatNeverComes) {
  const engine::TempFolder root;
  Attempt attempt(root.path(), 1, engine::DigitsExperiment(2));
  attempt.spec.world_size = 2;
  attempt.Start(1);
  ASSERT_TRUE(attempt.WaitForLines("started", 1));
  kill(attempt.pid(0), SIGTERM);
  EXPECT_EQ(attempt.ExitCode(0), link::kStoppedWithCheckpoint);
  EXPECT_TRUE(attempt.Lines("training_began").empty());
}

TEST(RankTest, EndsInTheSameBitsAfterKillsAtAnyMoment) {
  for (int world_size : {1, 2}) {
    const Json experiment = engine::DigitsExperiment(12);
    const engine::TempFolder straight_root;
    Attempt straight(straight_root.path(), 1, experiment);
    straight.spec.world_size = world_size;
    straight.Start();
    for (int rank = 0; rank < world_size; ++rank) {
      ASSERT_EQ(straight.ExitCode(rank), link::kDone);
    }
    const engine::TempFolder root;
    std::mt19937 random(17);
    std::vector<std::string> resume;
    at::Tensor weights;
    std::vector<Json> metrics;
    for (int number = 1; number <= 8; ++number) {
      Attempt attempt(root.path(), number, experiment);
      attempt.spec.world_size = world_size;
      attempt.spec.checkpoints.every = {
          .epochs = {}, .steps = 7, .seconds = {}};
      attempt.spec.checkpoints.keep_last = 100;
      attempt.spec.resume = resume;
      attempt.Start();
      if (number < 5) {
        // Killed after some number of checkpoints, wherever it then is.
        attempt.WaitForLines("checkpoint_saved", 1 + random() % 3);
        kill(attempt.pid(static_cast<int>(random()) & (world_size - 1)),
             SIGKILL);
      }
      bool done = true;
      for (int rank = 0; rank < world_size; ++rank) {
        done &= attempt.ExitCode(rank) == link::kDone;
      }
      const std::vector<std::string> saved = attempt.Checkpoints();
      resume.insert(resume.begin(), saved.begin(), saved.end());
      if (done) {
        // Saved by an earlier attempt if that was killed at its very end.
        weights = WeightsIn(resume.at(0));
        metrics = Metrics(attempt);
        break;
      }
    }
    ASSERT_TRUE(weights.defined());
    EXPECT_TRUE(weights.equal(WeightsIn(straight.Checkpoints().at(0))))
        << world_size;
    // One curve, as if nothing had happened.
    EXPECT_EQ(metrics, Metrics(straight)) << world_size;
  }
}

TEST(RankTest, PredictsIntoAFile) {
  const engine::TempFolder root;
  Json experiment = engine::DigitsExperiment(1);
  const Json val = experiment["data"]["val"];
  experiment["task"] = "predict";
  experiment["data"] = {{"predict", val}};
  experiment["hooks"] = {{{"type", "PredictionWriter"}, {"format", "csv"}}};
  Attempt attempt(root.path(), 1, experiment);
  attempt.Start();
  EXPECT_EQ(attempt.ExitCode(0), link::kDone);
  const Json ended = attempt.Lines("training_ended")[0];
  EXPECT_EQ(ended["message"], "the prediction is done");
  const auto tensors = engine::ReadSafetensors(ended["outputs"]["predictions"]);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].tensor.size(0), tensors[1].tensor.size(0));
  const std::string files = ended["outputs"]["prediction_files"];
  EXPECT_TRUE(std::filesystem::exists(files + "/predictions.csv")) << files;
}

TEST(RankTest, EveryTaskLeavesARecord) {
  for (const std::string task : {"test", "validate", "predict"}) {
    SCOPED_TRACE(task);
    const engine::TempFolder root;
    Json experiment = engine::DigitsExperiment(1);
    experiment["task"] = task;
    experiment["data"]["test"] = experiment["data"]["val"];
    experiment["data"]["predict"] = experiment["data"]["val"];
    Attempt attempt(root.path(), 1, experiment);
    attempt.Start();
    ASSERT_EQ(attempt.ExitCode(0), link::kDone);
    const Json progress = attempt.Lines("progress").at(0);
    EXPECT_EQ(progress["phase"], task == "validate" ? "val" : task);
    const Json outputs = attempt.Lines("training_ended")[0]["outputs"];
    for (const char* name : {"experiment", "environment"}) {
      EXPECT_TRUE(std::filesystem::exists(outputs.value(name, ""))) << name;
    }
    // The weights are random.
    const std::vector<Json> notices = attempt.Lines("notice");
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_EQ(notices[0]["text"].get<std::string>().find(
                  "experiment.load_from: missing"),
              0u);
    EXPECT_FALSE(outputs.contains("checkpoints"));
    EXPECT_FALSE(HasCheckpointsFolder(attempt));
    EXPECT_EQ(outputs.contains("metrics"), task != "predict");
    if (task == "predict") continue;
    std::ifstream file(outputs.at("metrics").get<std::string>());
    std::string line;
    ASSERT_TRUE(std::getline(file, line));
    EXPECT_EQ(Json::parse(line).at("epoch"), 0);
    const Json told = attempt.Lines("metrics").at(0).at("metrics");
    for (const auto& [name, value] : told.items()) {
      EXPECT_EQ(Json::parse(line).at(name), value) << name;
    }
    EXPECT_FALSE(std::getline(file, line));
  }
}

TEST(RankTest, MeasuresSpeedWithoutALoss) {
  const engine::TempFolder root;
  Json experiment = engine::DigitsExperiment(1);
  const Json val = experiment["data"]["val"];
  experiment["task"] = "benchmark";
  experiment["data"] = {{"test", val}};
  for (const char* key : {"loss", "metrics", "monitor", "optimizer"}) {
    experiment.erase(key);
  }
  Attempt attempt(root.path(), 1, experiment);
  attempt.Start();
  EXPECT_EQ(attempt.ExitCode(0), link::kDone);
  const Json metrics = attempt.Lines("metrics")[0]["metrics"];
  EXPECT_GT(metrics["benchmark/samples_per_second"].get<double>(), 0.0);
  EXPECT_EQ(attempt.Lines("training_ended").at(0)["message"],
            "the benchmark is done");
  EXPECT_FALSE(HasCheckpointsFolder(attempt));
}

TEST(RankTest, TriesAllPartsWithoutLeavingAnything) {
  const engine::TempFolder root;
  Json experiment = engine::DigitsExperiment(50);
  experiment["trainer"]["fast_dev_run"] = 2;
  Attempt attempt(root.path(), 1, experiment);
  attempt.Start();
  EXPECT_EQ(attempt.ExitCode(0), link::kDone);
  EXPECT_EQ(attempt.Lines("epoch_finished").size(), 1u);
  EXPECT_TRUE(attempt.Checkpoints().empty());
  EXPECT_FALSE(HasCheckpointsFolder(attempt));
}

TEST(RankTest, SkipsABrokenCheckpointAndSaysSo) {
  const engine::TempFolder root;
  Attempt first(root.path(), 1, engine::DigitsExperiment(2));
  first.Start();
  ASSERT_EQ(first.ExitCode(0), link::kDone);
  std::vector<std::string> resume = first.Checkpoints();
  ASSERT_EQ(resume.size(), 2u);
  std::filesystem::resize_file(resume[0] + "/model.safetensors", 100);
  Attempt second(root.path(), 2, engine::DigitsExperiment(2));
  second.spec.resume = resume;
  second.Start();
  EXPECT_EQ(second.ExitCode(0), link::kDone);
  const Json notice = second.Lines("notice").at(0);
  EXPECT_NE(notice["text"].get<std::string>().find(resume[0]),
            std::string::npos);
  const Json began = second.Lines("training_began").at(0);
  EXPECT_EQ(began["resumed_from"], resume[1]);
  EXPECT_EQ(began["initial_epoch"], 2);
}

TEST(RankTest, FencesItselfOffAsCommanded) {
  const engine::TempFolder root;
  Attempt attempt(root.path(), 1, engine::DigitsExperiment(100000));
  attempt.spec.self_fence_after = 120;
  attempt.Start();
  ASSERT_TRUE(attempt.WaitForLines("first_step", 1));
  const std::string control =
      link::ControlPath(link::RankDir(attempt.dir(), 0));
  // A lease that ended long ago.
  EXPECT_TRUE(
      link::CommandSocket::Send(control, {.name = "lease", .deadline_ns = 1}));
  EXPECT_EQ(attempt.ExitCode(0), link::kSelfFenced);
}

TEST(RankTest, BeginsNothingWhereNothingCanBeKept) {
  const engine::TempFolder root;
  std::ofstream(root.path() + "/storage") << "in the way";
  Attempt attempt(root.path(), 1, engine::DigitsExperiment(1));
  attempt.Start();
  EXPECT_EQ(attempt.ExitCode(0), link::kNoStorage);
  EXPECT_TRUE(attempt.Lines("training_began").empty());
  const std::string message = attempt.Lines("training_ended")[0]["message"];
  EXPECT_NE(message.find("storage: \"" + attempt.spec.storage),
            std::string::npos)
      << message;
}

TEST(RankTest, NamesTheMissingFileAndTheHost) {
  const engine::TempFolder root;
  Json experiment = engine::DigitsExperiment(1);
  experiment["data"]["train"]["file"] = "/no/such/digits.csv.gz";
  Attempt attempt(root.path(), 1, experiment);
  attempt.Start();
  EXPECT_EQ(attempt.ExitCode(0), link::kBadSpec);
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  const std::string message = attempt.Lines("training_ended")[0]["message"];
  EXPECT_NE(message.find("experiment.data.train.file"), std::string::npos);
  EXPECT_NE(message.find("/no/such/digits.csv.gz"), std::string::npos);
  EXPECT_NE(message.find(host), std::string::npos);
}

TEST(RankTest, EndsWhenADataFileIsShortenedUnderIt) {
  const engine::TempFolder root;
  const std::string file = root / "train.safetensors";
  constexpr int64_t kRows = 50000;
  engine::WriteSafetensors(file, {{"input", at::zeros({kRows, 64})},
                                  {"target", at::zeros({kRows}, at::kLong)}});
  Json experiment = engine::DigitsExperiment(100000);
  experiment["data"] = {{"train",
                         {{"type", "TensorFile"},
                          {"file", file},
                          {"batch_size", 1000},
                          {"threads", 2}}}};
  experiment.erase("metrics");
  experiment["monitor"] = {{"metric", "train/loss"}, {"mode", "min"}};
  Attempt attempt(root.path(), 1, experiment);
  attempt.Start();
  ASSERT_TRUE(attempt.WaitForLines("first_step", 1));
  std::filesystem::resize_file(file, 4096);
  // Another attempt may find it whole again.
  EXPECT_EQ(attempt.ExitCode(0), link::kInfrastructure);
  EXPECT_TRUE(attempt.Lines("training_ended").empty());
  std::ifstream log(link::LogPath(link::RankDir(attempt.dir(), 0)));
  std::string last;
  for (std::string line; std::getline(log, line);) last = line;
  const std::string begin = "file \"" + file + "\": cannot be read at byte ";
  ASSERT_TRUE(last.starts_with(begin)) << last;
  EXPECT_GE(std::stoll(last.substr(begin.size())), 4096);
}

TEST(RankTest, RefusesAGanOnTwoRanks) {
  const engine::TempFolder root;
  Attempt attempt(root.path(), 1, engine::GanExperiment(1));
  attempt.spec.world_size = 2;
  attempt.Start();
  EXPECT_EQ(attempt.ExitCode(0), link::kBadSpec);
  EXPECT_EQ(attempt.ExitCode(1), link::kBadSpec);
}

TEST(RankTest, MeasuresATrainedModel) {
  const engine::TempFolder root;
  Attempt train(root.path(), 1, engine::DigitsExperiment(2));
  train.Start();
  ASSERT_EQ(train.ExitCode(0), link::kDone);
  const Json best = train.Lines("training_ended")[0]["best"];
  Json experiment = engine::DigitsExperiment(2);
  experiment["task"] = "validate";
  experiment["load_from"] = "job/j1/best";
  Attempt validate(root.path(), 2, experiment);
  validate.Start();
  EXPECT_EQ(validate.ExitCode(0), link::kDone);
  EXPECT_EQ(validate.Lines("metrics").at(0)["metrics"]["val/accuracy"],
            best["value"]);
  EXPECT_EQ(validate.Lines("training_ended").at(0)["message"],
            "the validation is done");
}

}  // namespace
}  // namespace epochd::trainer
