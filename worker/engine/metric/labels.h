// SPDX-License-Identifier: Apache-2.0
//
// What metrics of labels read from a batch, one form for each of the two tasks:
//
//   classes  each sample is of one of C classes: scores [B, C, ...] with
//            classes [B, ...] or class probabilities [B, C, ...]
//   labels   each sample has L labels, yes or no:
//            scores and targets [B, L, ...] alike,
//            or [B] for one label
//
// Integer targets without the second dimension mean classes, others labels,
// unless the task is said; of one score, [B, 1, ...], they are labels. Pure
// functions, any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "worker/engine/core/batch.h"
#include "worker/engine/loss/fields.h"
#include "worker/engine/loss/weighing.h"

namespace epochd::engine {

struct LabelOptions {
  enum class Task { kAuto, kClasses, kLabels };

  ComparedFields fields = {};
  Task task = Task::kAuto;
  // A class, or a label's target, that does not count.
  int64_t ignore_index = -100;
  // Of what counts: [B, ...] for classes, or as the labels.
  Weighing weighing = {};
  // Scores are logits: a softmax over classes or a sigmoid makes them
  // probabilities. Else they are probabilities already.
  bool from_logits = true;
};

// "auto", "multiclass", "multilabel" or "binary" (one label).
LabelOptions::Task LabelTaskOf(const std::string& name);

struct LabelledScores {
  bool has_classes = false;
  at::Tensor scores;  // [N, C] or [N, L], at least float, as they came
  // [N] classes, all of which count; or [N, L] of 0 and 1 in double.
  at::Tensor target;
  // In double, as `target`: how much each counts. Undefined: all alike.
  at::Tensor weights;
};

// N is samples times positions. Throws Error(kTraining) naming the fields for
// shapes that do not go together, for classes that are not 0 to C - 1, and for
// targets of labels that are not from 0 to 1, ignore_index or NaN.
LabelledScores ReadLabels(const Batch& batch, const LabelOptions& options);

// A double that is NaN where a score that counts is, and else 0: added to what
// is counted, so that nobody takes what a model that diverged says for a score.
// `weights` broadcast against the scores, or against them without the second
// dimension; undefined: all count. Waits for no device.
at::Tensor NanIfAnyIs(const at::Tensor& scores, const at::Tensor& weights);

// [N, L] of true where a label is given to a sample: its probability is at
// least the threshold.
at::Tensor GivenLabels(const at::Tensor& scores, double threshold,
                       bool from_logits);

// Sees whether scores that are taken for logits look like probabilities.
class LogitWatch {
 public:
  void Look(const at::Tensor& scores);
  // Metric::Doubt(), of all that it saw.
  std::string Doubt() const;

 private:
  bool has_seen_ = false;
  bool all_are_shares_ = true;
};

// What ClassScores() gives, with one class for each sample: the most probable
// of class probabilities.
struct TrueClasses {
  at::Tensor scores;  // [B, C, ...]
  at::Tensor target;  // [B, ...]
  // Double, 0 where a class does not count, broadcasts against `target`;
  // undefined: all count.
  at::Tensor weights;
};
// Throws Error(kTraining) naming the field, too, for a class that counts and is
// none of the scores', and for numbers that are no probabilities.
TrueClasses ReadTrueClasses(const Batch& batch, const ComparedFields& fields,
                            const Weighing& weighing, int64_t ignore_index);

// "0", "1", ... or the names given. Throws Error(kBadSpec) when there are not
// as many as classes.
std::vector<std::string> ClassNames(const std::vector<std::string>& given,
                                    int64_t classes);

}  // namespace epochd::engine
