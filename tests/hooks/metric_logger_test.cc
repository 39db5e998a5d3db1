// SPDX-License-Identifier: Apache-2.0
#include "hooks/metric_logger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>
#include <vector>

#include "hooks/earlier_metrics.h"
#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

namespace fs = std::filesystem;
using engine::Json;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

template <class Int>
Int Fixed(std::string_view bytes) {
  Int value = 0;
  for (size_t i = 0; i < sizeof(Int); ++i) {
    value |= Int{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return value;
}

uint64_t Varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
}

// Fields of a message by number, with the bytes of each.
std::multimap<int, std::string> Fields(std::string_view message) {
  std::multimap<int, std::string> fields;
  while (!message.empty()) {
    const uint64_t key = Varint(message);
    size_t size = 0;
    switch (key & 7) {
      case 0: {
        fields.emplace(key >> 3, std::to_string(Varint(message)));
        continue;
      }
      case 1:
        size = 8;
        break;
      case 2:
        size = Varint(message);
        break;
      case 5:
        size = 4;
        break;
      default:
        ADD_FAILURE() << "wire type " << (key & 7);
        return fields;
    }
    fields.emplace(key >> 3, message.substr(0, size));
    message.remove_prefix(size);
  }
  return fields;
}

uint32_t Unmasked(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

std::vector<std::string> Records(std::string_view file) {
  std::vector<std::string> records;
  while (!file.empty()) {
    const auto length = Fixed<uint64_t>(file);
    EXPECT_EQ(Unmasked(Fixed<uint32_t>(file.substr(8))),
              Crc32c(file.substr(0, 8)));
    const std::string_view record = file.substr(12, length);
    EXPECT_EQ(Unmasked(Fixed<uint32_t>(file.substr(12 + length))),
              Crc32c(record));
    records.emplace_back(record);
    file.remove_prefix(16 + length);
  }
  return records;
}

TEST(Crc32cTest, GivesTheKnownValues) {
  // Check value of the CRC-32C definition, and one of RFC 3720's.
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
}

TEST(MetricLoggerTest, WritesALineAnEpoch) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(2), output.path());
  run.trainer().AddHook(
      std::make_shared<MetricLogger>(MetricLogger::Options()));
  run.trainer().Start();
  run.trainer().Run();
  std::ifstream file(output / "metrics.jsonl");
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(Json::parse(line));
  }
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1]["epoch"], 2);
  EXPECT_EQ(lines[1]["step"], 24);
  EXPECT_GT(lines[1]["val/accuracy"].get<double>(), 0.3);
  EXPECT_DOUBLE_EQ(lines[1]["learning_rate"].get<double>(), 0.003 * 0.7);
}

TEST(MetricLoggerTest, WritesALineForEachValidationWithinAnEpoch) {
  const engine::TempFolder output;
  Json json = engine::DigitsExperiment(2);
  json["trainer"] = {{"type", "IterationTrainer"},
                     {"max_iterations", 24},
                     {"val_interval", 7}};
  engine::TestRun run(json, output.path());
  run.trainer().AddHook(
      std::make_shared<MetricLogger>(MetricLogger::Options()));
  run.trainer().Start();
  run.trainer().Run();
  std::ifstream file(output / "metrics.jsonl");
  std::vector<std::tuple<int, int, bool>> validated;
  for (std::string text; std::getline(file, text);) {
    const Json line = Json::parse(text);
    EXPECT_TRUE(line.contains("train/loss"));
    if (!line.contains("val/accuracy")) continue;
    validated.emplace_back(line["epoch"], line["step"],
                           line.contains("iteration"));
  }
  EXPECT_EQ(validated,
            (std::vector<std::tuple<int, int, bool>>{
                {1, 7, true}, {2, 14, true}, {2, 21, true}, {2, 24, false}}));
}

TEST(MetricLoggerTest, WritesTablesOfTheLastValidation) {
  const engine::TempFolder output;
  Json json = engine::DigitsExperiment(2);
  json["metrics"].push_back({{"type", "ConfusionMatrix"}});
  json["hooks"] = Json::array({{{"type", "MetricLogger"}}});
  engine::TestRun run(json, output.path());
  run.trainer().Start();
  run.trainer().Run();
  const std::string text = ReadAll(output / "val_confusion_matrix.csv");
  EXPECT_TRUE(text.starts_with("true\\predicted,0,1,2,3,4,5,6,7,8,9\n0,"));
  // Once, also after two validations.
  EXPECT_EQ(std::count_if(run.trainer().outputs().begin(),
                          run.trainer().outputs().end(),
                          [](const auto& each) {
                            return each.first == "val_confusion_matrix";
                          }),
            1);
  EXPECT_FALSE(fs::exists(output / "val_confusion_matrix.csv.tmp"));
  // All of the 359 digits, each once.
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  double total = 0;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::string cell;
    std::getline(cells, cell, ',');
    while (std::getline(cells, cell, ',')) total += std::stod(cell);
  }
  const std::string metrics = ReadAll(output / "metrics.jsonl");
  const Json last =
      Json::parse(metrics.substr(metrics.rfind('\n', metrics.size() - 2) + 1));
  EXPECT_EQ(total, last.at("val/confusion_matrix/labels"));
  EXPECT_GT(total, 300);
}

TEST(MetricLoggerTest, NamesInTablesAreQuoted) {
  EXPECT_EQ(TableAsCsv({"t",
                        "class",
                        {"a,\"b\""},
                        {"x", "y"},
                        at::arange(2, at::kDouble).reshape({1, 2})}),
            "class,x,y\n\"a,\"\"b\"\"\",0,1\n");
}

TEST(MetricLoggerTest, WritesAnEventFileThatCanBeReadBack) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(2), output.path());
  engine::Scores last;
  run.trainer().AddHook(
      std::make_shared<MetricLogger>(MetricLogger::Options()));
  run.trainer().on_epoch_finished.Bind(
      [&](engine::TrainerContext& context) { last = context.scores; });
  run.trainer().Start();
  run.trainer().Run();
  std::vector<fs::path> files;
  for (const auto& each : fs::directory_iterator(output / "tensorboard")) {
    files.push_back(each.path());
  }
  ASSERT_EQ(files.size(), 1u);
  EXPECT_TRUE(files[0].filename().string().starts_with("events.out.tfevents."));
  const std::vector<std::string> records = Records(ReadAll(files[0]));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(Fields(records[0]).find(3)->second, "brain.Event:2");
  const auto event = Fields(records[2]);
  EXPECT_EQ(event.find(2)->second, "24");
  std::map<std::string, float> scalars;
  const auto summary = Fields(event.find(5)->second);
  for (const auto& [field, bytes] : summary) {
    const auto value = Fields(bytes);
    scalars[value.find(1)->second] =
        std::bit_cast<float>(Fixed<uint32_t>(value.find(2)->second));
  }
  for (const auto& [name, value] : last) {
    EXPECT_FLOAT_EQ(scalars.at(name), static_cast<float>(value)) << name;
  }
}

TEST(MetricLoggerTest, Case134Case136Case137StepsAreWholeNumbersThatGoOn) {
  const engine::TempFolder output;
  Json json = engine::DigitsExperiment(2);
  json["data"]["train"]["batch_size"] = 720;  // two batches an epoch
  engine::TestRun run(json, output.path());
  run.trainer().AddHook(
      std::make_shared<MetricLogger>(MetricLogger::Options{.every_steps = 1}));
  run.trainer().Start();
  run.trainer().Run();
  std::ifstream file(output / "metrics.jsonl");
  std::vector<int> steps, epochs;
  std::vector<bool> has_validation;
  for (std::string line; std::getline(file, line);) {
    const Json json_line = Json::parse(line);
    EXPECT_TRUE(json_line["step"].is_number_integer());
    steps.push_back(json_line["step"]);
    epochs.push_back(json_line["epoch"]);
    has_validation.push_back(json_line.contains("val/loss"));
  }
  // An epoch's line has the number of its last step.
  EXPECT_EQ(steps, (std::vector<int>{1, 2, 2, 3, 4, 4}));
  EXPECT_EQ(epochs, (std::vector<int>{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(has_validation,
            (std::vector<bool>{false, false, true, false, false, true}));
}

TEST(EarlierMetricsTest, CarriesWhatIsNotLoggedAgain) {
  const engine::TempFolder folder;
  const std::string kStep = R"(,"train/step_loss":1.0})";
  const std::vector<std::string> kLines = {
      R"({"time":1.5,"epoch":1,"step":4)" + kStep,
      R"({"time":1.5,"epoch":1,"step":8,"val/loss":"NaN"})",
      R"({"time":1.5,"epoch":2,"step":12)" + kStep,
      R"({"time":1.5,"epoch":2,"step":16)" + kStep,
      R"({"time":1.5,"epoch":2,"step":16,"val/loss":0.5})",
      R"({"time":1.5,"epoch":3,"step":20)" + kStep,
      R"({"time":1.5,"ep)"};
  const struct {
    engine::Position position;
    std::vector<size_t> kept;
  } kRows[] = {
      {{.epoch = 0, .batch = 2, .step = 2}, {}},
      {{.epoch = 0, .batch = 4, .step = 4}, {0}},
      // All steps of the first epoch are done, its end is to come.
      {{.epoch = 0, .batch = 8, .step = 8}, {0}},
      {{.epoch = 1, .batch = 0, .step = 8}, {0, 1}},
      {{.epoch = 1, .batch = 8, .step = 16}, {0, 1, 2, 3}},
      {{.epoch = 2, .batch = 0, .step = 16}, {0, 1, 2, 3, 4}},
      {{.epoch = 9, .batch = 0, .step = 99}, {0, 1, 2, 3, 4, 5}},
  };
  const std::string from = folder / "metrics.jsonl";
  const std::string to = folder / "next/metrics.jsonl";
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.position.step);
    {
      std::ofstream file(from);
      for (const std::string& line : kLines) file << line << '\n';
    }
    std::string kept;
    for (const size_t i : row.kept) kept += kLines[i] + "\n";
    size_t num_taken = 0;
    EXPECT_EQ(CarryOver(from, to, row.position,
                        [&](const MetricLine& line) {
                          ++num_taken;
                          EXPECT_EQ(line.time, 1.5);
                        }),
              "");
    EXPECT_EQ(ReadAll(to), kept);
    EXPECT_EQ(num_taken, row.kept.size());
    // Into itself; and never over what another run has logged.
    const auto ignore = [](const MetricLine&) {};
    EXPECT_EQ(CarryOver(from, from, row.position, ignore), "");
    EXPECT_EQ(ReadAll(from), kept);
    EXPECT_EQ(CarryOver(from, to, {}, ignore), "");
    EXPECT_EQ(ReadAll(to), kept);
    fs::remove_all(folder / "next");
  }
}

TEST(EarlierMetricsTest, CarriesValidationsWithinAnEpochByTheirBatch) {
  const engine::TempFolder folder;
  const std::string from = folder / "metrics.jsonl";
  // Three batches make a step.
  const std::string kFirst =
      R"({"epoch":1,"step":2,"iteration":6,"val/loss":1.0})";
  const std::string kSecond =
      R"({"epoch":1,"step":2,"iteration":8,"val/loss":0.5})";
  std::ofstream(from) << kFirst << '\n' << kSecond << '\n';
  std::vector<int64_t> taken;
  CarryOver(
      from, from, {.epoch = 0, .batch = 6, .step = 2, .global_batch = 6},
      [&](const MetricLine& line) { taken.push_back(line.iteration.value()); });
  EXPECT_EQ(taken, (std::vector<int64_t>{6}));
  EXPECT_EQ(ReadAll(from), kFirst + "\n");
}

TEST(EarlierMetricsTest, SaysThatItCannotWriteAndNothingWhereNothingWas) {
  const engine::TempFolder folder;
  const auto ignore = [](const MetricLine&) {};
  const std::string from = folder / "metrics.jsonl";
  EXPECT_EQ(CarryOver(from, folder / "next/metrics.jsonl", {}, ignore), "");
  EXPECT_FALSE(fs::exists(folder / "next"));
  std::ofstream(from) << "";
  EXPECT_NE(CarryOver(from, from + "/below/metrics.jsonl", {}, ignore), "");
}

TEST(MetricLoggerTest, Case133WindowsAndStatisticsOfSteps) {
  const engine::TempFolder output;
  Json json = engine::DigitsExperiment(1);
  json["hooks"] = Json::array({Json::parse(R"({
      "type": "MetricLogger", "every_steps": 4, "window": 4, "statistics": [
        {"name": "train/step_loss", "method": "max", "window": "epoch"},
        {"name": "train/step_loss", "method": "min", "window": 2,
         "log_name": "least"}]})")});
  engine::TestRun run(json, output.path());
  std::vector<double> losses;
  dynamic_cast<engine::TrainingRunner&>(run.trainer().training_runner())
      .on_post_step.Bind([&](engine::RunnerContext& context) {
        losses.push_back(context.loss.item<double>());
      });
  run.trainer().Start();
  run.trainer().Run();
  const std::vector<Json> told = run.sink.Of("metrics");
  ASSERT_EQ(told.size(), 3u);
  const Json& last = told[2]["metrics"];
  ASSERT_EQ(losses.size(), 12u);
  EXPECT_DOUBLE_EQ(last["train/step_loss"],
                   (losses[8] + losses[9] + losses[10] + losses[11]) / 4);
  EXPECT_EQ(last["train/step_loss/max_epoch"],
            *std::max_element(losses.begin(), losses.end()));
  EXPECT_EQ(last["least"], std::min(losses[10], losses[11]));
}

TEST(MetricLoggerTest, RefusesStatisticsThatMeanNothing) {
  for (const char* statistics :
       {R"([{"method": "mean"}])", R"([{"name": "a", "method": "median"}])",
        R"([{"name": "a", "window": 0}])", R"([{"name": "a", "size": 3}])",
        R"([{"name": "a"}, {"name": "a"}])"}) {
    Json json = engine::DigitsExperiment(1);
    json["hooks"] = Json::array({{{"type", "MetricLogger"},
                                  {"every_steps", 1},
                                  {"statistics", Json::parse(statistics)}}});
    EXPECT_THROW(engine::TestRun run(json), engine::Error) << statistics;
  }
}

TEST(MetricLoggerTest, TellsOfStepsWhenAskedTo) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(1), output.path());
  run.trainer().AddHook(
      std::make_shared<MetricLogger>(MetricLogger::Options{.every_steps = 5}));
  run.trainer().Start();
  run.trainer().Run();
  const std::vector<Json> told = run.sink.Of("metrics");
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1]["step"], 10);
  EXPECT_GT(told[1]["metrics"]["train/step_loss"].get<double>(), 0.0);
}

TEST(MetricLoggerTest, SaysOnceThatItCannotWrite) {
  const engine::TempFolder output;
  std::ofstream(output / "file") << "not a folder";
  engine::TestRun run(engine::DigitsExperiment(2), output / "file/below");
  run.trainer().AddHook(
      std::make_shared<MetricLogger>(MetricLogger::Options()));
  run.trainer().Start();
  run.trainer().Run();
  // Of each file.
  const std::vector<Json> notices = run.sink.Of("notice");
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_NE(notices[0]["text"], notices[1]["text"]);
}

}  // namespace
}  // namespace epochd::hooks
