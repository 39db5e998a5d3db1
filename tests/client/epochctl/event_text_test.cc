// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/event_text.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace epochd::epochctl {
namespace {

v1::Event Parsed(const std::string& text) {
  v1::Event event;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &event))
      << text;
  return event;
}

TEST(EventText, SaysEachKindInOneLine) {
  struct Case {
    const char* event;
    const char* kind;
    const char* text;
  };
  for (const Case& c : {
           Case{
               "job_state {state: JOB_STATE_FAILED reason: JOB_REASON_TRAINING "
               "message: 'no\\nmore'}",
               "job_state", "FAILED (training): no; more"},
           Case{"attempt: 2 attempt_state {state: ATTEMPT_STATE_ASSIGNED "
                "ranks {worker: 'workers/b'} ranks {worker: 'workers/a'} "
                "ranks {worker: 'workers/a'}}",
                "attempt_state", "attempt 2 assigned to a x2, b"},
           Case{"attempt: 1 attempt_state {state: ATTEMPT_STATE_ENDED "
                "reason: ATTEMPT_REASON_WORKER_LOST message: 'w1'}",
                "attempt_state", "attempt 1 ended (worker_lost): w1"},
           Case{"training_began {total_epochs: 30 train_samples: 1438 "
                "val_samples: 359 parameters: 17200}",
                "training_began",
                "training 30 epochs, 1438 samples (359 to validate), 17.2k "
                "parameters"},
           Case{"training_began {total_epochs: 1 train_samples: 7}",
                "training_began", "training 1 epoch, 7 samples"},
           Case{"training_began {train_samples: 7}", "training_began",
                "training, 7 samples"},
           Case{"training_began {total_epochs: 2 resumed_from: '/c' "
                "initial_epoch: 2 initial_batch: 5}",
                "training_began",
                "training 2 epochs, resumed at epoch 2 batch 5"},
           Case{"first_step {step: 12}", "first_step", "first step 12"},
           Case{"epoch_started {epoch: 3}", "epoch_started", "epoch 3 started"},
           Case{"epoch_finished {epoch: 3 metrics {key: 'val/loss' value: 0.5} "
                "metrics {key: 'train/loss' value: 1} samples_per_second: "
                "9200 elapsed {seconds: 65}}",
                "epoch_finished",
                "epoch 3  train/loss 1.0000  val/loss 0.5000  9.2k/s  1m05s"},
           Case{"metrics {step: 7 metrics {key: 'a' value: 2}}", "metrics",
                "step 7  a 2.0000"},
           Case{"checkpoint_saved {checkpoint {epoch: 4 best: true path: "
                "'/x'}}",
                "checkpoint_saved", "checkpoint of epoch 4 (best) /x"},
           Case{"checkpoint_saved {checkpoint {removed: true path: '/x'}}",
                "checkpoint_saved", "checkpoint removed /x"},
           Case{"training_ended {epochs: 4 message: 'enough'}",
                "training_ended", "training ended after epoch 4: enough"},
           Case{"training_ended {message: 'the test is done'}",
                "training_ended", "the test is done"},
           Case{"training_ended {}", "training_ended", "ended"},
           Case{"training_ended {outcome: OUTCOME_FAILED message: 'NaN'}",
                "training_ended", "training failed: NaN"},
           Case{"notice {rank: 1 text: 'a\\033b'}", "notice",
                "rank 1: a\\x1bb"},
           Case{"progress {epoch: 1}", "progress", ""},
           Case{"sequence: 1", "unknown", ""},
       }) {
    const v1::Event event = Parsed(c.event);
    EXPECT_EQ(EventKind(event), c.kind);
    EXPECT_EQ(EventText(event), c.text) << c.event;
  }
}

TEST(EventText, PadsAnEpochToItsTotal) {
  v1::EpochFinished epoch;
  epoch.set_epoch(3);
  (*epoch.mutable_metrics())["loss"] = 0.25;
  EXPECT_EQ(EpochLine(epoch, 0), "epoch 3  loss 0.2500");
  EXPECT_EQ(EpochLine(epoch, 9), "epoch 3/9  loss 0.2500");
  EXPECT_EQ(EpochLine(epoch, 100), "epoch   3/100  loss 0.2500");
}

}  // namespace
}  // namespace epochd::epochctl
