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
