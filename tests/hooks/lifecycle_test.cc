// SPDX-License-Identifier: Apache-2.0
//
// The life of hooks in whole runs: their order, what they may do, and what
// becomes of them when a run ends, fails or is interrupted.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "hooks/early_stopping.h"
#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

using engine::Json;

Json Experiment(int epochs) {
  Json json = engine::DigitsExperiment(epochs);
  json["hooks"] = Json::array();
  return json;
}

engine::TrainingRunner& RunnerOf(engine::TestRun& run) {
  return dynamic_cast<engine::TrainingRunner&>(run.trainer().training_runner());
}

// Writes down what happens to it.
class Recorder : public engine::Hook {
 public:
  Recorder(std::string name, std::vector<std::string>& log)
      : name_(std::move(name)), log_(log) {}
  const char* name() const override { return name_.c_str(); }
  void AttachToTrainer(engine::Trainer& trainer) override {
    trainer.on_epoch_finished.Bind(
        [this](engine::TrainerContext&) { Note("epoch"); });
  }
  void Setup(engine::Trainer&) override {
    if (fails_in_setup) throw engine::Error(engine::ErrorKind::kTraining, "no");
    Note("setup");
  }
  void OnException(engine::TrainerContext&,
                   const std::exception& cause) override {
    Note(std::string("exception: ") + cause.what());
  }
  void Finalize(engine::TrainerContext&, engine::RunResult result) override {
    Note(engine::ToString(result));
  }
  void Teardown(engine::Trainer&) override { Note("teardown"); }
  bool fails_in_setup = false;

 private:
  void Note(const std::string& what) { log_.push_back(name_ + " " + what); }
  const std::string name_;
  std::vector<std::string>& log_;
};

TEST(LifecycleTest, Case159PriorityThenOrderOfDeclaration) {
  std::vector<std::string> log;
  engine::TestRun run(Experiment(1));
  auto add = [&](const char* name, int priority) {
    auto hook = std::make_shared<Recorder>(name, log);
    hook->set_priority(priority);
    run.trainer().AddHook(hook);
  };
  add("stop", 90);
  add("rate", 50);
  add("save", 10);
  add("rate2", 50);
  run.trainer().Start();
  run.trainer().Run();
  const std::vector<std::string> expected = {
      "save setup",    "rate setup",    "rate2 setup",    "stop setup",
      "save epoch",    "rate epoch",    "rate2 epoch",    "stop epoch",
      "save success",  "rate success",  "rate2 success",  "stop success",
      "save teardown", "rate teardown", "rate2 teardown", "stop teardown"};
  EXPECT_EQ(log, expected);
}

TEST(LifecycleTest, Case161HooksSeeAStepInItsOrder) {
  engine::TestRun run(Experiment(1));
  engine::TrainingRunner& runner = RunnerOf(run);
  std::vector<std::string> points;
  at::Tensor before;
  auto has_gradients = [](const engine::RunnerContext& context) {
    return context.optimizer->parameters()[0].tensor.grad().defined();
  };
  auto note = [&](const char* point, bool gradients, bool stepped) {
    return [&, point, gradients, stepped](engine::RunnerContext& context) {
      if (context.batch > 0) return;
      points.push_back(point);
      EXPECT_EQ(has_gradients(context), gradients) << point;
      if (!before.defined()) before = run.Weights();
      EXPECT_EQ(!at::equal(before, run.Weights()), stepped) << point;
    };
  };
  runner.on_pre_step.Bind(note("pre_step", false, false));
  runner.on_post_forward.Bind(note("post_forward", false, false));
  runner.on_post_backward.Bind(note("post_backward", true, false));
  runner.on_before_optimizer_step.Bind(note("before_step", true, false));
  runner.on_after_optimizer_step.Bind(note("after_step", false, true));
  runner.on_post_step.Bind(note("post_step", false, true));
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(points, (std::vector<std::string>{"pre_step", "post_forward",
                                              "post_backward", "before_step",
                                              "after_step", "post_step"}));
}

TEST(LifecycleTest, Case162TheBatchIsWhereTheModelIs) {
  engine::TestRun run(Experiment(1));
  int seen = 0;
  RunnerOf(run).on_pre_step.Bind([&](engine::RunnerContext& context) {
    for (const auto& [name, tensor] : *context.entry) {
      EXPECT_EQ(tensor.device(),
                context.model->Parameters()[0].tensor.device());
      ++seen;
    }
  });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(seen, 24);  // input and target of twelve batches
}

TEST(LifecycleTest, AFailureReachesHooksInOrderThenTheResultThenTheEnd) {
  std::vector<std::string> log;
  engine::TestRun run(Experiment(1));
  run.trainer().AddHook(std::make_shared<Recorder>("a", log));
  run.trainer().AddHook(std::make_shared<Recorder>("b", log));
  RunnerOf(run).on_post_step.Bind([](engine::RunnerContext&) {
    throw engine::Error(engine::ErrorKind::kTraining, "boom");
  });
  run.trainer().Start();
  EXPECT_THROW(run.trainer().Run(), engine::Error);
  EXPECT_EQ(log,
            (std::vector<std::string>{"a setup", "b setup", "a exception: boom",
                                      "b exception: boom", "a failed",
                                      "b failed", "a teardown", "b teardown"}));
}

TEST(LifecycleTest, OnlyWhatWasSetUpIsTornDown) {
  std::vector<std::string> log;
  engine::TestRun run(Experiment(1));
  run.trainer().AddHook(std::make_shared<Recorder>("a", log));
  auto bad = std::make_shared<Recorder>("bad", log);
  bad->fails_in_setup = true;
  run.trainer().AddHook(bad);
  run.trainer().AddHook(std::make_shared<Recorder>("c", log));
  EXPECT_THROW(run.trainer().Start(), engine::Error);
  EXPECT_EQ(log, (std::vector<std::string>{"a setup", "a exception: no",
                                           "a failed", "a teardown"}));
}

TEST(LifecycleTest, AnInterruptionEndsAfterTheStepAndIsNoFailure) {
  for (bool by_interrupt : {true, false}) {
    std::vector<std::string> log;
    engine::TestRun run(Experiment(2));
    run.trainer().AddHook(std::make_shared<Recorder>("a", log));
    bool rest_ran = false;
    RunnerOf(run).on_pre_step.Bind([&](engine::RunnerContext& context) {
      if (context.batch != 3) return;
      if (by_interrupt) {
        run.trainer().RequestInterrupt();
      } else {
        run.trainer().RequestStop();
      }
    });
    RunnerOf(run).on_post_step.Bind([&](engine::RunnerContext& context) {
      rest_ran |= context.batch == 3;
    });
    run.trainer().Start();
    EXPECT_EQ(run.trainer().Run(), by_interrupt
                                       ? engine::Trainer::Outcome::kInterrupted
                                       : engine::Trainer::Outcome::kStopped);
    EXPECT_EQ(run.trainer().position().step, 4) << "the last completed step";
    EXPECT_TRUE(rest_ran);
    EXPECT_EQ(log, (std::vector<std::string>{
                       "a setup",
                       by_interrupt ? "a exception: interrupted"
                                    : "a exception: stopped on request",
                       "a interrupted", "a teardown"}));
  }
}

void DoNothing(int) {}

TEST(LifecycleTest, Case165TheEngineLeavesSignalHandlersAlone) {
  struct sigaction own {};
  own.sa_handler = &DoNothing;
  struct sigaction old_int, old_term, seen;
  sigaction(SIGINT, &own, &old_int);
  sigaction(SIGTERM, &own, &old_term);
  auto train = [&] {
    engine::TestRun run(Experiment(1));
    RunnerOf(run).on_post_step.Bind([&](engine::RunnerContext&) {
      sigaction(SIGINT, nullptr, &seen);
      EXPECT_EQ(seen.sa_handler, &DoNothing);
    });
    run.trainer().Start();
    EXPECT_EQ(run.trainer().Run(), engine::Trainer::Outcome::kCompleted);
  };
  train();
  std::thread other(train);
  other.join();
  for (int number : {SIGINT, SIGTERM}) {
    sigaction(number, number == SIGINT ? &old_int : &old_term, &seen);
    EXPECT_EQ(seen.sa_handler, &DoNothing) << number;
  }
}

size_t ThreadsOfThisProcess() {
  size_t count = 0;
  for (const auto& each :
       std::filesystem::directory_iterator("/proc/self/task")) {
    (void)each;
    ++count;
  }
  return count;
}

// A run that loads with threads, fails in epoch 2, and is gone.
void RunThatFails() {
  Json json = Experiment(3);
  json["data"]["train"]["threads"] = 3;
  engine::TestRun run(json);
  RunnerOf(run).on_post_step.Bind([](engine::RunnerContext& context) {
    if (context.epoch == 1) {
      throw engine::Error(engine::ErrorKind::kTraining, "boom");
    }
  });
  run.trainer().Start();
  EXPECT_THROW(run.trainer().Run(), engine::Error);
}

TEST(LifecycleTest, Case166NoThreadIsLeftAfterAFailure) {
  RunThatFails();  // whatever is made once is there now
  const size_t before = ThreadsOfThisProcess();
  RunThatFails();
  // The kernel lists a thread for a moment after it was joined.
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (ThreadsOfThisProcess() > before &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_LE(ThreadsOfThisProcess(), before);
}

TEST(LifecycleTest, Case168SettingsOfTheProcessAreAsBefore) {
  at::set_num_threads(1);
  RunThatFails();
  EXPECT_TRUE(c10::GradMode::is_enabled());
  EXPECT_EQ(c10::typeMetaToScalarType(c10::get_default_dtype()), at::kFloat);
  EXPECT_FALSE(torch::autograd::AnomalyMode::is_enabled());
  EXPECT_EQ(at::get_num_threads(), 1);
  // Also where a pass without gradients fails.
  engine::TestRun run(Experiment(1));
  run.trainer().validation_runner().on_post_step.Bind(
      [](engine::RunnerContext&) {
        throw engine::Error(engine::ErrorKind::kTraining, "boom");
      });
  run.trainer().Start();
  EXPECT_THROW(run.trainer().Run(), engine::Error);
  EXPECT_TRUE(c10::GradMode::is_enabled());
}

TEST(LifecycleTest, Case169AStopRequestRunsNoFurtherBatch) {
  engine::TestRun run(Experiment(2));
  std::vector<std::string> order;
  RunnerOf(run).on_pre_step.Bind([&](engine::RunnerContext& context) {
    order.push_back("step");
    if (context.batch == 1) context.stop = true;
  });
  RunnerOf(run).on_post_step.Bind(
      [&](engine::RunnerContext&) { order.push_back("rest"); });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(order, (std::vector<std::string>{"step", "rest", "step", "rest"}));
  EXPECT_EQ(run.trainer().position().global_batch, 2);
}

TEST(LifecycleTest, Case171ACallbackOfEveryThirdStepCanBeTakenOut) {
  engine::TestRun run(Experiment(2));
  std::vector<int64_t> fired;
  uint64_t id = 0;
  id = RunnerOf(run).on_post_step.Bind([&](engine::RunnerContext& context) {
    if (context.step % 3 != 0) return;
    fired.push_back(context.step);
    if (context.step == 9) RunnerOf(run).on_post_step.Unbind(id);
  });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(fired, (std::vector<int64_t>{3, 6, 9}));
}

TEST(LifecycleTest, AHookOfARunnersOwnListFindsTheTrainerToo) {
  const engine::TempFolder output;
  Json json = Experiment(2);
  json["data"]["val"]["image"] = true;
  json["runner"] = {{"type", "TrainingRunner"},
                    {"hooks",
                     {{{"type", "LearningRateMonitor"}},
                      {{"type", "MetricLogger"}},
                      {{"type", "CheckpointSaver"}, {"every", "1 epoch"}},
                      {{"type", "Profiler"}}}}};
  json["validation_runner"] = {
      {"type", "ValidationRunner"},
      {"hooks",
       {{{"type", "BatchImageSaver"}, {"field", "input"}, {"count", 4}},
        {{"type", "EarlyStopping"},
         {"rule", "keras"},
         {"patience", 0},
         {"min_delta", 2}}}}};
  engine::TestRun run(json, output.path());
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_NE(run.trainer().stop_reason(), "");
  EXPECT_EQ(run.sink.Of("checkpoint_saved").size(), 2u);
  for (const char* made : {"metrics.jsonl", "images/epoch-0001.png"}) {
    EXPECT_TRUE(std::filesystem::exists(output / made)) << made;
  }
  EXPECT_NE(run.trainer().messages().Find("learning_rate"), nullptr);
  bool is_profiled = false;
  for (const auto& each : std::filesystem::directory_iterator(output.path())) {
    is_profiled |= each.path().filename().string().starts_with("profile");
  }
  EXPECT_TRUE(is_profiled);
}

TEST(LifecycleTest, AHookOfSeveralListsIsOneHook) {
  std::vector<std::string> log;
  engine::TestRun run(Experiment(1));
  const auto hook = std::make_shared<Recorder>("a", log);
  run.trainer().AddHook(hook, "train");
  run.trainer().AddHook(hook, "val");
  run.trainer().AddHook(hook);
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(log, (std::vector<std::string>{"a setup", "a epoch", "a success",
                                           "a teardown"}));
}

TEST(LifecycleTest, HooksThatWriteTheSameFilesAreRefused) {
  for (const std::string name : {"CheckpointSaver", "MetricLogger"}) {
    Json json = Experiment(1);
    for (int i = 0; i < 2; ++i) json["hooks"].push_back({{"type", name}});
    try {
      engine::TestRun run(json);
      ADD_FAILURE() << name;
    } catch (const engine::Error& error) {
      EXPECT_EQ(error.kind(), engine::ErrorKind::kBadSpec);
      EXPECT_EQ(std::string(error.what()),
                "experiment.hooks[1]: a second " + name +
                    ", one is accepted, such as that in experiment.hooks[0]");
    }
  }
  // The same of a program's own.
  engine::TestRun run(Experiment(1));
  run.trainer().AddHook(
      std::make_shared<CheckpointSaver>(CheckpointSaver::Options()));
  EXPECT_THROW(run.trainer().AddHook(std::make_shared<CheckpointSaver>(
                   CheckpointSaver::Options())),
               engine::Error);
}

TEST(LifecycleTest, MetricsOfHooksNeedNamesOfTheirOwn) {
  for (const char* name : {"mine", "loss", ""}) {
    engine::TestRun run(Experiment(1));
    engine::Scores scores;
    RunnerOf(run).on_post_forward.Bind([&](engine::RunnerContext& context) {
      context.AddMetric(name, static_cast<double>(context.batch));
    });
    run.trainer().on_epoch_finished.Bind(
        [&](engine::TrainerContext& context) { scores = context.scores; });
    run.trainer().Start();
    if (std::string(name) == "mine") {
      run.trainer().Run();
      ASSERT_NE(engine::FindScore(scores, "train/mine"), nullptr);
      EXPECT_GT(*engine::FindScore(scores, "train/mine"), 5);
    } else {
      EXPECT_THROW(run.trainer().Run(), engine::Error);
    }
  }
}

}  // namespace
}  // namespace epochd::hooks
