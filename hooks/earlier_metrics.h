// SPDX-License-Identifier: Apache-2.0
//
// One curve for a run, however often it was begun again: what the attempt that
// wrote the checkpoint logged up to it is carried into the files of the one
// that goes on from there; what came after the checkpoint is logged anew. Each
// attempt's file so holds the whole run until then.
#pragma once

#include <functional>
#include <string>

#include "hooks/metric_writer.h"
#include "worker/engine/loop/position.h"

namespace epochd::hooks {

// Writes the lines of the metrics.jsonl `from` that belong before `position`
// into `to`, aside and renamed, and hands each over. Where there is no such
// file, or `to` is another that exists already, nothing is done; they may be
// the same file, which is then cut. Returns what went wrong; empty: nothing.
std::string CarryOver(const std::string& from, const std::string& to,
                      const engine::Position& position,
                      const std::function<void(const MetricLine&)>& take);

}  // namespace epochd::hooks
