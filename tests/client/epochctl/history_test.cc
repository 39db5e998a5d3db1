// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace epochd::epochctl {
namespace {

v1::Event Epoch(int64_t epoch, double loss, double accuracy) {
  v1::Event event;
  event.mutable_epoch_finished()->set_epoch(epoch);
  (*event.mutable_epoch_finished()->mutable_metrics())["train/loss"] = loss;
  (*event.mutable_epoch_finished()->mutable_metrics())["val/accuracy"] =
      accuracy;
  return event;
}

TEST(History, LetsALaterAttemptReplaceAnEpoch) {
  History history;
  history.Add(Epoch(1, 2.0, 0.5));
  history.Add(Epoch(2, 9.0, 0.1));
  history.Add(Epoch(2, 1.0, 0.7));
  const auto curves = history.Curves({"train/loss"});
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_THAT(curves[0].points, testing::ElementsAre(testing::Pair(1, 2.0),
                                                     testing::Pair(2, 1.0)));
}

TEST(History, GoesByStepsWhereThereAreValidationsWithinEpochs) {
  History history;
  const auto logged = [](int64_t epoch, int64_t step, const char* name,
                         double value) {
    v1::Event event;
    event.mutable_metrics()->set_epoch(epoch);
    event.mutable_metrics()->set_step(step);
    (*event.mutable_metrics()->mutable_metrics())[name] = value;
    return event;
  };
  const auto epoch = [](int64_t number, int64_t step, double accuracy) {
    v1::Event event = Epoch(number, 1.0, accuracy);
    event.mutable_epoch_finished()->set_step(step);
    return event;
  };
  // Neither steps nor a test are curves.
  history.Add(logged(1, 3, "train/step_loss", 9.0));
  history.Add(logged(0, 0, "val/accuracy", 0.9));
  EXPECT_FALSE(history.is_by_step());
  EXPECT_TRUE(history.Names().empty());
  history.Add(logged(1, 5, "val/accuracy", 0.1));
  history.Add(epoch(1, 8, 0.2));
  history.Add(logged(2, 10, "val/accuracy", 0.3));
  history.Add(logged(2, 10, "val/accuracy", 0.4));  // a later attempt's
  history.Add(epoch(2, 16, 0.5));
  EXPECT_TRUE(history.is_by_step());
  const auto curves = history.Curves({"val/accuracy"});
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_THAT(
      curves[0].points,
      testing::ElementsAre(testing::Pair(5, 0.1), testing::Pair(8, 0.2),
                           testing::Pair(10, 0.4), testing::Pair(16, 0.5)));
  EXPECT_THAT(RenderPlots(history, {}, PlotLayout{}, terminal::Style{}),
              testing::HasSubstr(" step "));
}

TEST(History, KeepsTheNewestBestAndTheEnd) {
  History history;
  v1::Event event;
  v1::Checkpoint& checkpoint =
      *event.mutable_checkpoint_saved()->mutable_checkpoint();
  checkpoint.set_path("/a");
  checkpoint.set_best(true);
  history.Add(event);
  checkpoint.set_path("/b");
  history.Add(event);
  checkpoint.set_path("/c");
  checkpoint.set_best(false);
  history.Add(event);
  // The end of an older best is told with its flag.
  checkpoint.set_path("/a");
  checkpoint.set_best(true);
  checkpoint.set_removed(true);
  history.Add(event);
  EXPECT_EQ(history.best()->path(), "/b");
  EXPECT_FALSE(history.ended().has_value());
  event.mutable_training_ended()->set_epochs(7);
  history.Add(event);
  EXPECT_EQ(history.ended()->epochs(), 7);
}

TEST(History, PlotsEachThingMeasuredLossFirst) {
  History history;
  history.Add(Epoch(1, 2.0, 0.5));
  history.Add(Epoch(2, 1.0, 0.7));
  PlotLayout layout;
  layout.width = 30;
  layout.height = 6;
  EXPECT_EQ(RenderPlots(history, {}, layout, terminal::Style{}),
            "loss  * train/loss\n"
            "2.0000 +******\n"
            "1.5000 +      **********\n"
            "1.0000 +                *****\n"
            "       +---------------------\n"
            "        1       epoch       2\n"
            "\n"
            "accuracy  * val/accuracy\n"
            "0.7000 +               ******\n"
            "0.6000 +     **********\n"
            "0.5000 +*****\n"
            "       +---------------------\n"
            "        1       epoch       2\n");
}

}  // namespace
}  // namespace epochd::epochctl
