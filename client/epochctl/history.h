// SPDX-License-Identifier: Apache-2.0
//
// What a job's events tell of its training: a curve per metric, the best, what
// was written where. Built event by event; one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/api/client.h"
#include "client/terminal/plot.h"
#include "client/terminal/style.h"
#include "epochd/v1/job.pb.h"

namespace epochd::epochctl {

// What was measured at one place: the end of an epoch, or a validation within.
struct ScoreRow {
  int64_t epoch = 0;
  int64_t step = 0;
  std::map<std::string, double> scores;
};

class History {
 public:
  void Add(const v1::Event& event);

  // The scores named, in order of epoch and step; a later attempt's epoch
  // replaces an earlier one's.
  std::vector<ScoreRow> Rows(const std::vector<std::string>& names) const;
  // NotFound: one of them is no score of the job; says which are.
  absl::Status CheckNames(const std::vector<std::string>& names) const;

  // Curves of the metrics named, or of all; a later attempt's epoch replaces
  // an earlier one's.
  std::vector<terminal::Curve> Curves(
      const std::vector<std::string>& names) const;
  std::vector<std::string> Names() const;
  // Set once training ended.
  const std::optional<v1::TrainingEnded>& ended() const { return ended_; }
  // The event that made the job terminal was among them.
  bool is_over() const { return is_over_; }
  // Newest checkpoint that was called the best.
  const std::optional<v1::Checkpoint>& best() const { return best_; }

  // Curves are over steps: there were validations within epochs.
  bool is_by_step() const { return is_by_step_; }

 private:
  struct Point {
    int64_t step = 0;
    double value = 0;
  };
  // Epoch and step; the epoch's end has the last step that there is.
  using Place = std::pair<int64_t, int64_t>;

  std::map<std::string, std::map<Place, Point>> metrics_;
  bool is_by_step_ = false;
  std::optional<v1::TrainingEnded> ended_;
  std::optional<v1::Checkpoint> best_;
  bool is_over_ = false;
};

// That of a job, by its resource name. Fails as ListEvents() and CheckNames()
// of `metrics` do.
absl::StatusOr<History> ReadHistory(client::Client& client,
                                    const std::string& job,
                                    const std::vector<std::string>& metrics);

struct PlotLayout {
  int width = 80;
  int height = 12;
  bool log_y = false;
};

// One plot for each thing measured (loss, accuracy, ...), its phases together,
// loss first.
std::string RenderPlots(const History& history,
                        const std::vector<std::string>& names,
                        const PlotLayout& layout, const terminal::Style& style);

}  // namespace epochd::epochctl
