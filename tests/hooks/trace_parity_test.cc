// SPDX-License-Identifier: Apache-2.0
//
// Our points fire in the order in which the original systems call theirs:
// tests/golden/record_hooks.py recorded those. Each table says what stands for
// what; docs/hooks.md shows the same.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/prediction_runner.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

using engine::Json;
using Names = std::vector<std::string>;
// What a point of ours is called in the other system; several: all, in order.
using Table = std::map<std::string, Names>;

Names Recorded(const std::string& name) {
  const char* source = getenv("EPOCHD_TEST_SOURCE_DIR");
  std::ifstream file(std::string(source != nullptr ? source : ".") +
                     "/tests/golden/hook_traces.json");
  return Json::parse(file).at(name).get<Names>();
}

// Writes down the points that the table knows, by their other names.
class Tracer : public engine::Hook {
 public:
  Tracer(Table table, int64_t stop_at = -1, int64_t fail_at = -1)
      : table_(std::move(table)), stop_at_(stop_at), fail_at_(fail_at) {}

  const char* name() const override { return "Tracer"; }
  void Setup(engine::Trainer&) override { Note("setup"); }
  void OnException(engine::TrainerContext&, const std::exception&) override {
    Note("on_exception");
  }
  void Teardown(engine::Trainer&) override { Note("teardown"); }

  void AttachToTrainer(engine::Trainer& trainer) override {
    Bind(trainer.on_training_began, "on_training_began");
    Bind(trainer.on_epoch_started, "on_epoch_started");
    Bind(trainer.on_validation_began, "on_validation_began");
    Bind(trainer.on_validation_finished, "on_validation_finished");
    Bind(trainer.on_epoch_finished, "on_epoch_finished");
    Bind(trainer.on_epoch_committed, "on_epoch_committed");
    Bind(trainer.on_training_ended, "on_training_ended");
    Bind(trainer.on_prediction_began, "on_prediction_began");
    Bind(trainer.on_prediction_ended, "on_prediction_ended");
  }
  void AttachToPrediction(engine::PredictionRunner& runner) override {
    Bind(runner.on_epoch_start, "predict.on_epoch_start");
    Bind(runner.on_pre_step, "predict.on_pre_step");
    Bind(runner.on_post_step, "predict.on_post_step");
    Bind(runner.on_epoch_end, "predict.on_epoch_end");
  }
  void AttachToTraining(engine::TrainingRunner& runner) override {
    Bind(runner.on_epoch_start, "train.on_epoch_start");
    Bind(runner.on_pre_step, "train.on_pre_step");
    Bind(runner.on_post_forward, "train.on_post_forward");
    Bind(runner.on_post_backward, "train.on_post_backward");
    Bind(runner.on_before_optimizer_step, "train.on_before_optimizer_step");
    Bind(runner.on_after_optimizer_step, "train.on_after_optimizer_step");
    Bind(runner.on_post_step, "train.on_post_step");
    Bind(runner.on_step_metrics, "train.on_step_metrics");
    Bind(runner.on_epoch_end, "train.on_epoch_end");
    runner.on_post_step.Bind([this](engine::RunnerContext& context) {
      if (context.step == stop_at_) context.stop = true;
    });
    runner.on_step_metrics.Bind([this](engine::RunnerContext& context) {
      if (context.step == fail_at_) {
        throw engine::Error(engine::ErrorKind::kTraining, "failed");
      }
    });
  }
  void AttachToGan(engine::GanTrainingRunner& runner) override {
    Bind(runner.on_epoch_start, "train.on_epoch_start");
    Bind(runner.on_pre_step, "train.on_pre_step");
    Bind(runner.on_pre_d_forward, "train.on_pre_d_forward");
    Bind(runner.on_post_d_forward, "train.on_post_d_forward");
    Bind(runner.on_post_d_backward, "train.on_post_d_backward");
    Bind(runner.on_pre_g_forward, "train.on_pre_g_forward");
    Bind(runner.on_post_g_forward, "train.on_post_g_forward");
    Bind(runner.on_post_g_backward, "train.on_post_g_backward");
    Bind(runner.on_post_step, "train.on_post_step");
    Bind(runner.on_epoch_end, "train.on_epoch_end");
  }
  void AttachToValidation(engine::ValidationRunner& runner) override {
    Bind(runner.on_epoch_start, "val.on_epoch_start");
    Bind(runner.on_pre_step, "val.on_pre_step");
    Bind(runner.on_post_step, "val.on_post_step");
    Bind(runner.on_epoch_end, "val.on_epoch_end");
  }

  Names events;

 private:
  template <class Context>
  void Bind(engine::HookPoint<Context>& point, const char* name) {
    point.Bind([this, name](Context&) { Note(name); });
  }
  void Note(const std::string& point) {
    const auto found = table_.find(point);
    if (found == table_.end()) return;
    events.insert(events.end(), found->second.begin(), found->second.end());
  }

  const Table table_;
  const int64_t stop_at_, fail_at_;
};

// Epochs of three batches and a validation of one.
Json SmallExperiment(int epochs) {
  Json json = engine::DigitsExperiment(epochs);
  json["data"]["train"]["batch_size"] = 480;
  json["data"]["val"]["batch_size"] = 1000;
  json["hooks"] = Json::array();
  return json;
}

// Two batches to measure, and to predict.
Names TraceOfEvaluation(const std::string& task,
                        const std::shared_ptr<Tracer>& tracer) {
  Json json = SmallExperiment(1);
  json["data"]["val"]["batch_size"] = 200;
  engine::TestRun run(json);
  run.trainer().AddHook(tracer);
  EXPECT_FALSE(run.trainer().Evaluate(task).empty());
  return tracer->events;
}

Names TraceOfPrediction(const std::shared_ptr<Tracer>& tracer) {
  Json json = SmallExperiment(1);
  json["task"] = "predict";
  json["data"]["predict"] = json["data"]["val"];
  json["data"]["predict"]["batch_size"] = 200;
  engine::TestRun run(json);
  run.trainer().AddHook(tracer);
  EXPECT_TRUE(run.trainer().Predict().has_value());
  return tracer->events;
}

Names TraceOf(const Json& json, const std::shared_ptr<Tracer>& tracer) {
  engine::TestRun run(json);
  run.trainer().AddHook(tracer);
  run.trainer().Start();
  try {
    run.trainer().Run();
  } catch (const engine::Error&) {
  }
  return tracer->events;
}

// The same names, of these points.
Table Same(const std::string& prefix, const Names& points) {
  Table table;
  for (const std::string& point : points) {
    table[prefix + point] = {prefix + point};
  }
  return table;
}

Table SrForge() {
  Table table =
      Same("train.", {"on_epoch_start", "on_pre_step", "on_post_forward",
                      "on_post_backward", "on_post_step", "on_epoch_end"});
  table.merge(Same("val.", {"on_epoch_start", "on_post_step", "on_epoch_end"}));
  table["on_training_began"] = {"trainer.on_training_began"};
  table["on_epoch_finished"] = {"trainer.on_trainer_epoch_finished"};
  return table;
}

TEST(TraceParityTest, SrForge) {
  EXPECT_EQ(TraceOf(SmallExperiment(2), std::make_shared<Tracer>(SrForge())),
            Recorded("srforge"));
  Json accumulating = SmallExperiment(1);
  accumulating["runner"] = {{"type", "TrainingRunner"},
                            {"gradient_accumulation_steps", 2}};
  EXPECT_EQ(TraceOf(accumulating, std::make_shared<Tracer>(SrForge())),
            Recorded("srforge_accumulation_2"));
}

TEST(TraceParityTest, SrForgeGan) {
  const Table table =
      Same("train.", {"on_epoch_start", "on_pre_step", "on_pre_d_forward",
                      "on_post_d_forward", "on_post_d_backward",
                      "on_pre_g_forward", "on_post_g_forward",
                      "on_post_g_backward", "on_post_step", "on_epoch_end"});
  for (double ratio : {1.0, 2.0}) {
    Json json = engine::GanExperiment(1);
    json["data"]["train"]["batch_size"] = 480;
    json["hooks"] = Json::array({{{"type", "StepRatio"}, {"ratio", ratio}}});
    EXPECT_EQ(TraceOf(json, std::make_shared<Tracer>(table)),
              Recorded(ratio == 1.0 ? "srforge_gan" : "srforge_gan_ratio_2"));
  }
}

TEST(TraceParityTest, MmEngine) {
  const Table table = {
      {"on_training_began", {"before_run", "before_train"}},
      {"train.on_epoch_start", {"before_train_epoch"}},
      {"train.on_pre_step", {"before_train_iter"}},
      {"train.on_post_step", {"after_train_iter"}},
      {"train.on_epoch_end", {"after_train_epoch"}},
      {"on_validation_began", {"before_val"}},
      {"val.on_epoch_start", {"before_val_epoch"}},
      {"val.on_pre_step", {"before_val_iter"}},
      {"val.on_post_step", {"after_val_iter"}},
      {"on_validation_finished", {"after_val_epoch", "after_val"}},
      {"on_training_ended", {"after_train", "after_run"}}};
  EXPECT_EQ(TraceOf(SmallExperiment(2), std::make_shared<Tracer>(table)),
            Recorded("mmengine"));
}

TEST(TraceParityTest, MmEngineByIterations) {
  const Table table = {
      {"on_training_began",
       {"before_run", "before_train", "before_train_epoch"}},
      {"train.on_pre_step", {"before_train_iter"}},
      {"train.on_post_step", {"after_train_iter"}},
      {"on_validation_began", {"before_val"}},
      {"val.on_epoch_start", {"before_val_epoch"}},
      {"val.on_pre_step", {"before_val_iter"}},
      {"val.on_post_step", {"after_val_iter"}},
      {"on_validation_finished", {"after_val_epoch", "after_val"}},
      {"on_training_ended", {"after_train_epoch", "after_train", "after_run"}}};
  Json json = SmallExperiment(1);
  json["trainer"] = {
      {"type", "IterationTrainer"}, {"max_iterations", 3}, {"val_interval", 2}};
  EXPECT_EQ(TraceOf(json, std::make_shared<Tracer>(table)),
            Recorded("mmengine_iterations"));
}

TEST(TraceParityTest, SrForgeBenchmark) {
  const Table table = {{"val.on_epoch_start", {"benchmark.on_epoch_start"}},
                       {"val.on_post_step", {"benchmark.on_post_step"}},
                       {"val.on_epoch_end", {"benchmark.on_epoch_end"}}};
  EXPECT_EQ(TraceOfEvaluation("benchmark", std::make_shared<Tracer>(table)),
            Recorded("srforge_benchmark"));
}

TEST(TraceParityTest, MmEngineTest) {
  const Table table = {
      {"setup", {"before_run"}},
      {"on_validation_began", {"before_test"}},
      {"val.on_epoch_start", {"before_test_epoch"}},
      {"val.on_pre_step", {"before_test_iter"}},
      {"val.on_post_step", {"after_test_iter"}},
      {"on_validation_finished", {"after_test_epoch", "after_test"}},
      {"teardown", {"after_run"}}};
  EXPECT_EQ(TraceOfEvaluation("test", std::make_shared<Tracer>(table)),
            Recorded("mmengine_test"));
}

TEST(TraceParityTest, TorchEcg) {
  const Table table = {
      {"train.on_epoch_start", {"loggers.epoch_start"}},
      {"train.on_post_forward", {"run_one_step"}},
      {"train.on_after_optimizer_step", {"_update_lr"}},
      {"on_validation_finished", {"evaluate"}},
      {"on_epoch_committed", {"save_checkpoint", "loggers.epoch_end"}}};
  EXPECT_EQ(TraceOf(SmallExperiment(2), std::make_shared<Tracer>(table)),
            Recorded("torch_ecg"));
}

TEST(TraceParityTest, PhiJax) {
  const Table table = {{"setup", {"setup"}},
                       {"on_training_began", {"on_fit_start"}},
                       {"train.on_pre_step", {"on_train_batch_start"}},
                       {"train.on_post_step", {"on_train_batch_end"}},
                       {"train.on_step_metrics", {"on_train_metrics"}},
                       {"on_training_ended", {"on_fit_end"}},
                       {"on_exception", {"on_exception"}},
                       {"teardown", {"teardown"}}};
  EXPECT_EQ(TraceOf(SmallExperiment(1), std::make_shared<Tracer>(table)),
            Recorded("phijax"));
  EXPECT_EQ(TraceOf(SmallExperiment(1), std::make_shared<Tracer>(table, 2)),
            Recorded("phijax_stop_at_2"));
  EXPECT_EQ(TraceOf(SmallExperiment(1), std::make_shared<Tracer>(table, -1, 2)),
            Recorded("phijax_fail_at_2"));
}

TEST(TraceParityTest, PhiJaxPrediction) {
  const Table table = {{"setup", {"setup"}},
                       {"on_prediction_began", {"on_predict_start"}},
                       {"predict.on_epoch_start", {"on_predict_epoch_start"}},
                       {"predict.on_pre_step", {"on_predict_batch_start"}},
                       {"predict.on_post_step", {"on_predict_batch_end"}},
                       {"predict.on_epoch_end", {"on_predict_epoch_end"}},
                       {"on_prediction_ended", {"on_predict_end"}},
                       {"teardown", {"teardown"}}};
  EXPECT_EQ(TraceOfPrediction(std::make_shared<Tracer>(table)),
            Recorded("phijax_predict"));
}

}  // namespace
}  // namespace epochd::hooks
