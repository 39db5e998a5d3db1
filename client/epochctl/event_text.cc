// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/event_text.h"

#include <algorithm>
#include <map>

#include "client/epochctl/words.h"
#include "client/terminal/human.h"
#include "client/terminal/width.h"
#include "proto/wire/time.h"

namespace epochd::epochctl {
namespace {

std::string WithMessage(std::string text, const std::string& message) {
  if (!message.empty()) text += ": " + OneLine(message);
  return text;
}

std::string AttemptText(int attempt, const v1::AttemptStateChanged& change) {
  std::string text =
      "attempt " + std::to_string(attempt) + " " + Word(change.state());
  if (change.reason() != v1::ATTEMPT_REASON_UNSPECIFIED) {
    text += " (" + Word(change.reason()) + ")";
  }
  if (change.state() == v1::ATTEMPT_STATE_ASSIGNED) {
    std::map<std::string, int> workers;
    for (const v1::RankPlacement& rank : change.ranks()) {
      ++workers[rank.worker()];
    }
    for (const auto& [worker, num_ranks] : workers) {
      text += text.find(" to ") == std::string::npos ? " to " : ", ";
      text += Id(worker);
      if (num_ranks > 1) text += " x" + std::to_string(num_ranks);
    }
  }
  return WithMessage(std::move(text), change.message());
}

std::string BeganText(const v1::TrainingBegan& began) {
  std::string text = "training";
  // As many as come, or until another limit: 0.
  if (const int64_t total = began.total_epochs(); total > 0) {
    text += " " + std::to_string(total) + (total == 1 ? " epoch" : " epochs");
  }
  if (began.train_samples() > 0) {
    text += ", " + std::to_string(began.train_samples()) + " samples";
  }
  if (began.val_samples() > 0) {
    text += " (" + std::to_string(began.val_samples()) + " to validate)";
  }
  if (began.parameters() > 0) {
    text += ", " +
            terminal::HumanCount(static_cast<double>(began.parameters())) +
            " parameters";
  }
  if (!began.resumed_from().empty()) {
    text += ", resumed at epoch " + std::to_string(began.initial_epoch());
    if (began.initial_batch() > 0) {
      text += " batch " + std::to_string(began.initial_batch());
    }
  }
  return text;
}

std::string CheckpointText(const v1::Checkpoint& checkpoint) {
  if (checkpoint.removed()) {
    return "checkpoint removed " + Safe(checkpoint.path());
  }
  std::string text =
      "checkpoint of epoch " + std::to_string(checkpoint.epoch());
  if (checkpoint.best()) text += " (best)";
  return text + " " + Safe(checkpoint.path());
}

}  // namespace

std::string EventKind(const v1::Event& event) {
  const google::protobuf::OneofDescriptor* body =
      v1::Event::descriptor()->FindOneofByName("body");
  const google::protobuf::FieldDescriptor* field =
      event.GetReflection()->GetOneofFieldDescriptor(event, body);
  return field == nullptr ? "unknown" : field->name();
}

std::string MetricsText(
    const google::protobuf::Map<std::string, double>& metrics) {
  const std::map<std::string, double> sorted(metrics.begin(), metrics.end());
  std::string text;
  for (const auto& [name, value] : sorted) {
    if (!text.empty()) text += "  ";
    text += Safe(name) + " " + terminal::HumanNumber(value);
  }
  return text;
}

bool IsValidation(const v1::MetricsLogged& metrics) {
  return metrics.epoch() > 0 &&
         std::any_of(
             metrics.metrics().begin(), metrics.metrics().end(),
             [](const auto& each) { return each.first.starts_with("val/"); });
}

std::string EpochLine(const v1::EpochFinished& epoch, int64_t total_epochs) {
  std::string text = "epoch ";
  const std::string number = std::to_string(epoch.epoch());
  if (total_epochs > 0) {
    const std::string total = std::to_string(total_epochs);
    text += terminal::PadLeft(number, total.size()) + "/" + total;
  } else {
    text += number;
  }
  text += "  " + MetricsText(epoch.metrics());
  if (epoch.samples_per_second() > 0) {
    text += "  " + terminal::HumanCount(epoch.samples_per_second()) + "/s";
  }
  return text;
}

std::string EventText(const v1::Event& event) {
  switch (event.body_case()) {
    case v1::Event::kJobState: {
      const v1::JobStateChanged& change = event.job_state();
      return WithMessage(
          Word(change.state()) + " (" + Word(change.reason()) + ")",
          change.message());
    }
    case v1::Event::kAttemptState:
      return AttemptText(event.attempt(), event.attempt_state());
    case v1::Event::kTrainingBegan:
      return BeganText(event.training_began());
    case v1::Event::kFirstStep:
      return "first step " + std::to_string(event.first_step().step());
    case v1::Event::kEpochStarted:
      return "epoch " + std::to_string(event.epoch_started().epoch()) +
             " started";
    case v1::Event::kEpochFinished: {
      const v1::EpochFinished& epoch = event.epoch_finished();
      const std::string text = EpochLine(epoch, 0);
      return epoch.has_elapsed()
                 ? text + "  " +
                       terminal::HumanDuration(wire::FromProto(epoch.elapsed()))
                 : text;
    }
    case v1::Event::kMetrics:
      return "step " + std::to_string(event.metrics().step()) + "  " +
             MetricsText(event.metrics().metrics());
    case v1::Event::kCheckpointSaved:
      return CheckpointText(event.checkpoint_saved().checkpoint());
    case v1::Event::kTrainingEnded:
      // What fails does not say after how many epochs.
      if (event.training_ended().outcome() ==
          v1::TrainingEnded::OUTCOME_FAILED) {
        return WithMessage("training failed", event.training_ended().message());
      }
      // A pass that trains nothing, or less than an epoch, says what it was.
      if (event.training_ended().epochs() == 0) {
        return event.training_ended().message().empty()
                   ? "ended"
                   : Safe(event.training_ended().message());
      }
      return WithMessage("training ended after epoch " +
                             std::to_string(event.training_ended().epochs()),
                         event.training_ended().message());
    case v1::Event::kNotice:
      return "rank " + std::to_string(event.notice().rank()) + ": " +
             OneLine(event.notice().text());
    case v1::Event::kProgress:
    case v1::Event::BODY_NOT_SET:
      break;
  }
  return "";
}

}  // namespace epochd::epochctl
