// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/progress_view.h"

#include <algorithm>
#include <string>
#include <utility>

#include "client/epochctl/event_text.h"
#include "client/epochctl/words.h"
#include "client/terminal/bar.h"
#include "client/terminal/human.h"
#include "client/terminal/width.h"
#include "proto/wire/time.h"

namespace epochd::epochctl {

using terminal::Color;

ProgressView::ProgressView(std::ostream& out, const terminal::Style& style,
                           std::function<absl::Time()> now)
    : style_(style), now_(std::move(now)), line_(out, style.is_terminal) {}

void ProgressView::Say(const std::string& line) { line_.Print(line); }

void ProgressView::Add(const v1::Event& event) {
  time_ = event.has_time() ? wire::FromProto(event.time()) : now_();
  switch (event.body_case()) {
    case v1::Event::kProgress:
      ShowProgress(event.progress());
      return;
    case v1::Event::kEpochFinished:
      ShowEpoch(event.epoch_finished());
      return;
    case v1::Event::kTrainingBegan: {
      const v1::TrainingBegan& began = event.training_began();
      total_epochs_ = began.total_epochs();
      began_ = time_;
      begin_done_ =
          static_cast<double>(std::max<int64_t>(began.initial_epoch() - 1, 0));
      line_.Print(EventText(event));
      return;
    }
    case v1::Event::kNotice: {
      told_.push_back(OneLine(event.notice().text()));
      const auto severity = event.notice().severity();
      const Color color = severity == v1::Notice::SEVERITY_ERROR ? Color::kRed
                          : severity == v1::Notice::SEVERITY_WARNING
                              ? Color::kYellow
                              : Color::kDim;
      line_.Print(style_.Paint(EventText(event), color));
      return;
    }
    case v1::Event::kJobState: {
      v1::Event news = event;
      LeaveOutIfTold(*news.mutable_job_state()->mutable_message());
      line_.Print(style_.Paint(EventText(news),
                               StateCell(news.job_state().state()).color));
      return;
    }
    case v1::Event::kAttemptState:
      // What goes well is told by the job's states and the epochs.
      if (event.attempt() > 1 ||
          event.attempt_state().state() == v1::ATTEMPT_STATE_ASSIGNED ||
          (event.attempt_state().state() == v1::ATTEMPT_STATE_ENDED &&
           event.attempt_state().reason() != v1::ATTEMPT_REASON_COMPLETED)) {
        v1::Event news = event;
        LeaveOutIfTold(*news.mutable_attempt_state()->mutable_message());
        line_.Print(EventText(news));
      }
      return;
    case v1::Event::kMetrics:
      // What task: test or validate is for; those of steps are many.
      if (IsValidation(event.metrics())) {
        line_.Print(EventText(event));
      } else if (event.metrics().step() == 0) {
        line_.Print(MetricsText(event.metrics().metrics()));
      }
      return;
    case v1::Event::kTrainingEnded: {
      v1::Event news = event;
      if (event.training_ended().outcome() ==
          v1::TrainingEnded::OUTCOME_FAILED) {
        LeaveOutIfTold(*news.mutable_training_ended()->mutable_message());
      }
      line_.Print(EventText(news));
      return;
    }
    default:
      return;
  }
}

void ProgressView::LeaveOutIfTold(std::string& message) {
  // An agent cuts long texts before it passes them on.
  constexpr size_t kEnough = 200;
  const std::string line = OneLine(message);
  const bool is_told =
      std::any_of(told_.begin(), told_.end(), [&](const std::string& told) {
        if (told.size() > kEnough) {
          return line.find(told.substr(0, kEnough)) != std::string::npos;
        }
        return !told.empty() && line.ends_with(told);
      });
  if (is_told) {
    message.clear();
  } else {
    told_.push_back(line);
  }
}

void ProgressView::ShowProgress(const v1::Progress& progress) {
  if (!style_.is_terminal) return;
  const int64_t total_epochs =
      progress.total_epochs() > 0 ? progress.total_epochs() : total_epochs_;
  terminal::Bar bar;
  const std::string total = std::to_string(total_epochs);
  // Tests and predictions have no epochs.
  const bool has_epochs = progress.epoch() > 0;
  bar.label = terminal::PadRight(Safe(progress.phase()), 5);
  if (has_epochs) {
    bar.label =
        "epoch " +
        terminal::PadLeft(std::to_string(progress.epoch()), total.size()) +
        "/" + total + " " + bar.label;
  }
  bar.done = static_cast<double>(progress.batch());
  bar.total = static_cast<double>(progress.batches());
  bar.text = "loss " + terminal::HumanNumber(progress.loss());
  if (progress.samples_per_second() > 0) {
    bar.text +=
        "  " + terminal::HumanCount(progress.samples_per_second()) + "/s";
  }
  const double in_epoch = bar.total > 0 ? bar.done / bar.total : 0;
  const double done = static_cast<double>(progress.epoch() - 1) +
                      (progress.phase() == "train" ? in_epoch : 1);
  const absl::Duration left = TimeLeft(done, static_cast<double>(total_epochs));
  if (has_epochs && left < absl::InfiniteDuration()) {
    bar.text += "  ETA " + terminal::HumanDuration(left);
  }
  line_.Show(terminal::RenderBar(bar, style_));
}

void ProgressView::ShowEpoch(const v1::EpochFinished& epoch) {
  std::string text = EpochLine(epoch, total_epochs_);
  const absl::Duration left = TimeLeft(static_cast<double>(epoch.epoch()),
                                       static_cast<double>(total_epochs_));
  if (left > absl::ZeroDuration() && left < absl::InfiniteDuration()) {
    text += "  ETA " + terminal::HumanDuration(left);
  }
  line_.Print(text);
}

absl::Duration ProgressView::TimeLeft(double done, double total) const {
  if (began_ == absl::InfinitePast() || done <= begin_done_ || total < done) {
    return absl::InfiniteDuration();
  }
  return (time_ - began_) * ((total - done) / (done - begin_done_));
}

}  // namespace epochd::epochctl
