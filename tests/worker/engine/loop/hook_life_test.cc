// SPDX-License-Identifier: Apache-2.0
//
// How hooks begin and end with a run (hook/hook.h), priorities and scopes as a
// job file gives them, and models that take part in the loop.
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/worker/engine/loop/tiny_run.h"
#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

class Noted : public Hook {
 public:
  Noted(std::string& trace, char mark) : trace_(trace), mark_(mark) {}
  const char* name() const override { return "Noted"; }
  void AttachToTrainer(Trainer& trainer) override {
    trainer.on_training_ended.Bind([this](TrainerContext&) { Note("end"); });
  }
  void AttachToTraining(TrainingRunner& runner) override {
    runner.on_post_step.Bind([this](RunnerContext&) {
      if (fails_in_step) throw std::runtime_error("trouble");
    });
  }
  void Setup(Trainer&) override {
    if (fails_in_setup) throw std::runtime_error("no room");
    Note("setup");
  }
  void OnException(TrainerContext&, const std::exception& error) override {
    Note(std::string("exception(") + error.what() + ")");
  }
  void Finalize(TrainerContext&, RunResult result) override {
    Note(ToString(result));
  }
  void Teardown(Trainer&) override { Note("teardown"); }

  bool fails_in_setup = false;
  bool fails_in_step = false;

 private:
  void Note(const std::string& what) { trace_ += mark_ + what + " "; }
  std::string& trace_;
  const char mark_;
};

struct TwoHooks {
  TwoHooks() : run(List(Ones(2))) {
    first = std::make_shared<Noted>(trace, 'a');
    second = std::make_shared<Noted>(trace, 'b');
    run.trainer->AddHook(first);
    run.trainer->AddHook(second);
  }
  std::string trace;
  TinyRun run;
  std::shared_ptr<Noted> first, second;
};

TEST(HookLifeTest, EndsInOrderAfterSuccess) {
  TwoHooks two;
  two.run.Run();
  EXPECT_EQ(two.trace,
            "asetup bsetup aend bend asuccess bsuccess ateardown bteardown ");
}

TEST(HookLifeTest, TellsOfAFailureThenTheResultThenTearsDown) {
  TwoHooks two;
  two.second->fails_in_step = true;
  EXPECT_THROW(two.run.Run(), std::runtime_error);
  EXPECT_EQ(two.trace,
            "asetup bsetup aexception(trouble) bexception(trouble) afailed "
            "bfailed ateardown bteardown ");
}

TEST(HookLifeTest, TearsDownOnlyWhatWasSetUp) {
  TwoHooks two;
  two.second->fails_in_setup = true;
  EXPECT_THROW(two.run.Run(), std::runtime_error);
  EXPECT_EQ(two.trace, "asetup aexception(no room) afailed ateardown ");
}

TEST(HookLifeTest, TellsOfAnInterruptionWithoutTheEndOfTheTraining) {
  TwoHooks two;
  two.run.runner().on_post_step.Bind(
      [&](RunnerContext&) { two.run.trainer->RequestInterrupt(); });
  EXPECT_EQ(two.run.Run(), Trainer::Outcome::kInterrupted);
  EXPECT_EQ(two.trace,
            "asetup bsetup aexception(interrupted) bexception(interrupted) "
            "ainterrupted binterrupted ateardown bteardown ");
  EXPECT_EQ(two.run.trainer->position().step, 1);
}

TEST(HookLifeTest, RunsByPriorityAndKeepsOutOfOtherScopes) {
  Json json = DigitsExperiment(1);
  json["hooks"] =
      Json::parse(R"([{"type": "MetricLogger", "priority": "soon"}])");
  EXPECT_NE(ErrorOf([&] { TestRun run(json); }).find("priority"),
            std::string::npos);
  std::string trace;
  TinyRun run(List(Ones(1)));
  auto late = std::make_shared<Noted>(trace, 'z');
  late->set_priority(90);
  late->set_scope({"val"});
  late->fails_in_step = true;  // but not in training
  run.trainer->AddHook(late);
  run.trainer->AddHook(std::make_shared<Noted>(trace, 'a'));
  run.Run();
  EXPECT_EQ(trace.substr(0, 14), "asetup zsetup ");
}

// Doubles its weight's way, by itself, and watches from its own hook.
class OwnWay : public WeightsModel, public SelfTraining {
 public:
  explicit OwnWay(bool updates) : updates_(updates), hook_(trace, 'm') {}
  Values TrainStep(Batch& batch, Stepper& stepper) override {
    const at::Tensor loss = -(batch.At("input") * w).mean();
    if (updates_) {
      stepper.Update(loss * 2);
      return {{"seen", loss}};
    }
    return {{"loss_a", loss}, {"loss_b", loss}, {"accuracy", at::ones({})}};
  }
  Hook* own_hook() override { return &hook_; }

  std::string trace;

 private:
  const bool updates_;
  Noted hook_;
};

TEST(SelfTrainingTest, UpdatesByItsLossesOrByWhatItSays) {
  for (const bool updates : {true, false}) {
    auto model = std::make_shared<OwnWay>(updates);
    TinyRun run(List(Ones(3)), {.model = model});
    Scores scores;
    run.trainer->on_epoch_finished.Bind(
        [&](TrainerContext& context) { scores = context.scores; });
    run.Run();
    // Two losses of gradient -1 each, over three steps.
    EXPECT_FLOAT_EQ(model->w.item<float>(), 6.0F);
    EXPECT_NE(FindScore(scores, updates ? "train/seen" : "train/loss_b"),
              nullptr);
    EXPECT_NE(FindScore(scores, "train/loss"), nullptr);
    EXPECT_EQ(model->trace, "msetup mend msuccess mteardown ");
  }
}

// Notes whether its passes are autocast, before and after it updates.
class Casting : public WeightsModel, public SelfTraining {
 public:
  explicit Casting(bool updates) : WeightsModel(8), updates_(updates) {}
  Batch Forward(const Batch& batch) override {
    return {{"output", at::matmul(batch.At("input"), w)}};
  }
  Values TrainStep(Batch& batch, Stepper& stepper) override {
    const at::Tensor loss = -Forward(batch).At("output").mean();
    if (!updates_) return {{"loss", loss}};
    stepper.Update(loss);
    // With the weights as they are now.
    EXPECT_EQ(Forward(batch).At("output").scalar_type(), at::kBFloat16);
    EXPECT_EQ(
        Forward(batch).At("output")[0].item<float>(),
        at::matmul(batch.At("input").to(at::kBFloat16), w.to(at::kBFloat16))[0]
            .item<float>());
    return {};
  }

 private:
  const bool updates_;
};

TEST(SelfTrainingTest, AutocastsTheForwardPassAlone) {
  const std::vector<Batch> batches(3,
                                   Batch{{"input", at::full({4, 8}, 0.7391)}});
  for (const bool updates : {true, false}) {
    auto model = std::make_shared<Casting>(updates);
    TinyRun run(List(batches), {.runner = {.precision = Precision::kBFloat16},
                                .model = model});
    std::string seen;
    const auto note = [&](const char* point) {
      return [&seen, point](RunnerContext&) {
        seen += point;
        seen += at::autocast::is_autocast_enabled(at::kCPU) ? "+ " : "- ";
      };
    };
    run.runner().on_post_forward.Bind(note("forward"));
    run.runner().on_post_backward.Bind(note("backward"));
    run.runner().on_before_optimizer_step.Bind(note("step"));
    run.runner().on_post_step.Bind(note("post"));
    run.Run();
    const std::string step = "forward+ backward- step- post- ";
    EXPECT_EQ(seen, step + step + step);
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
    EXPECT_FLOAT_EQ(model->w[0].item<float>(),
                    3 * at::full({}, 0.7391).to(at::kBFloat16).item<float>());
  }
}

// A model that hands on predictions and labels, as run_one_step does.
class PredictionsAndLabels : public WeightsModel {
 public:
  Batch Forward(const Batch& batch) override {
    Batch both = WeightsModel::Forward(batch);
    both.Set("target", batch.At("input").squeeze(1) * 2);
    return both;
  }
};

TEST(SelfTrainingTest, TakesLabelsThatAModelReturns) {
  TinyRun run(List(Ones(1)),
              {.model = std::make_shared<PredictionsAndLabels>()});
  run.runner().on_post_forward.Bind([](RunnerContext& context) {
    EXPECT_FLOAT_EQ(context.entry->At("target").item<float>(), 2.0F);
  });
  run.Run();
  EXPECT_EQ(run.trainer->position().step, 1);
}

}  // namespace
}  // namespace epochd::engine
