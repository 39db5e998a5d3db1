// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/points/collocation_points.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/seed.h"

namespace epochd::engine {
namespace {

using Axis = CollocationOptions::Axis;

// Keeps points apart from what else is drawn for an epoch.
constexpr uint64_t kPointStream = 103;

[[noreturn]] void Refuse(const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, problem);
}

bool IsFixed(const Axis& axis) { return axis.lower == axis.upper; }

std::string AxisNames(const std::vector<Axis>& domain) {
  std::string names;
  for (const Axis& axis : domain) {
    names += (names.empty() ? "" : ", ") + axis.name;
  }
  return names;
}

void CheckDomain(const std::vector<Axis>& domain) {
  if (domain.empty() ||
      domain.size() > static_cast<size_t>(UnitCube::kMaxAxes)) {
    Refuse("domain: " + std::to_string(domain.size()) + " axes; 1 to " +
           std::to_string(UnitCube::kMaxAxes) + " are accepted");
  }
  for (const Axis& axis : domain) {
    if (!std::isfinite(axis.lower) || !std::isfinite(axis.upper) ||
        axis.lower > axis.upper) {
      Refuse("domain: " + axis.name + ": from " + std::to_string(axis.lower) +
             " to " + std::to_string(axis.upper) +
             "; finite numbers, the smaller first, are accepted");
    }
  }
}

class Points : public Dataset {
 public:
  explicit Points(const CollocationOptions& options)
      : options_(options),
        face_axes_(FindFaces(options)),
        size_(CountPoints(options)),
        points_of_face_(
            face_axes_.empty() ? size_ : (size_ + NumFaces() - 1) / NumFaces()),
        cube_(options.sampling, points_of_face_,
              static_cast<int64_t>(options.domain.size())) {
    for (const std::string& text : options.values) {
      values_.push_back(ParseExpression(text, options.constants));
      columns_.push_back(FindColumns(values_.back()));
    }
  }

  int64_t Size() const override { return size_; }

  Batch Get(int64_t index, const SampleSeed& seed) const override {
    return SampleOf(GetBatch(std::span(&index, 1), seed), 0);
  }

  bool GathersBatches() const override { return true; }
  Batch GetBatch(std::span<const int64_t> indices,
                 const SampleSeed& seed) const override {
    const auto axes = static_cast<int64_t>(options_.domain.size());
    const auto rows = static_cast<int64_t>(indices.size());
    // Epochs count from 0; points that stay have a stream of their own.
    const uint64_t epoch =
        options_.resample ? static_cast<uint64_t>(seed.epoch) : UINT64_MAX;
    const uint64_t stream =
        HashSeed({kPointStream, seed.seed, epoch, options_.stream});
    at::Tensor points = at::empty({rows, axes}, at::kDouble);
    double* point = points.mutable_data_ptr<double>();
    for (const int64_t index : indices) {
      Place(index, stream, std::span<double>(point, static_cast<size_t>(axes)));
      point += axes;
    }
    Batch batch{{"input", points.to(at::kFloat)}};
    if (!values_.empty()) batch.Set("target", Targets(points));
    return batch;
  }

 private:
  static std::vector<size_t> FindFaces(const CollocationOptions& options) {
    CheckDomain(options.domain);
    if (!options.faces.empty() && !options.grid.empty()) {
      Refuse("faces: do not go with a grid; a fixed coordinate does");
    }
    std::vector<size_t> axes;
    for (const std::string& name : options.faces) {
      const auto found =
          std::find_if(options.domain.begin(), options.domain.end(),
                       [&](const Axis& axis) { return axis.name == name; });
      if (found == options.domain.end() || IsFixed(*found)) {
        Refuse("faces: \"" + name + "\" is no axis with two ends; " +
               AxisNames(options.domain) + " are the axes");
      }
      axes.push_back(static_cast<size_t>(found - options.domain.begin()));
    }
    return axes;
  }

  static int64_t CountPoints(const CollocationOptions& options) {
    int64_t count = options.points;
    if (!options.grid.empty()) {
      const auto num_free = static_cast<size_t>(
          std::count_if(options.domain.begin(), options.domain.end(),
                        [](const Axis& axis) { return !IsFixed(axis); }));
      if (options.grid.size() != num_free) {
        Refuse("points: " + std::to_string(options.grid.size()) +
               " numbers for a grid along " + std::to_string(num_free) +
               " axes; one for each axis that is not fixed is accepted");
      }
      count = 1;
      for (const int64_t points : options.grid) {
        if (points < 1 || points > UnitCube::kMaxPoints / count) {
          count = 0;
          break;
        }
        count *= points;
      }
    }
    if (count < 1 || count > UnitCube::kMaxPoints) {
      Refuse("points: 1 to " + std::to_string(UnitCube::kMaxPoints) +
             " are accepted");
    }
    return count;
  }

  int64_t NumFaces() const {
    return static_cast<int64_t>(face_axes_.size()) * 2;
  }

  // Columns of the coordinates that the expression reads.
  std::vector<int64_t> FindColumns(const Expression& expression) const {
    std::vector<int64_t> columns;
    for (const std::string& name : expression.variables()) {
      const auto found =
          std::find_if(options_.domain.begin(), options_.domain.end(),
                       [&](const Axis& axis) { return axis.name == name; });
      if (found == options_.domain.end()) {
        Refuse("values: expression \"" + expression.text() + "\": \"" + name +
               "\" is not known; the coordinates " +
               AxisNames(options_.domain) + ", parameters and pi are accepted");
      }
      columns.push_back(found - options_.domain.begin());
    }
    return columns;
  }

  void Place(int64_t index, uint64_t stream, std::span<double> point) const {
    if (!options_.grid.empty()) return PlaceOnGrid(index, point);
    int64_t face = 0;
    if (!face_axes_.empty()) {
      face = index / points_of_face_;
      index %= points_of_face_;
    }
    cube_.Point(index, HashSeed({stream, static_cast<uint64_t>(face)}), point);
    for (size_t i = 0; i < point.size(); ++i) {
      const Axis& axis = options_.domain[i];
      point[i] = axis.lower + point[i] * (axis.upper - axis.lower);
    }
    if (face_axes_.empty()) return;
    const size_t axis = face_axes_[static_cast<size_t>(face / 2)];
    point[axis] = face % 2 == 0 ? options_.domain[axis].lower
                                : options_.domain[axis].upper;
  }

  void PlaceOnGrid(int64_t index, std::span<double> point) const {
    size_t next = options_.grid.size();
    for (size_t i = point.size(); i-- > 0;) {
      const Axis& axis = options_.domain[i];
      point[i] = axis.lower;
      if (IsFixed(axis)) continue;
      const int64_t count = options_.grid[--next];
      const int64_t step = index % count;
      index /= count;
      if (count > 1) {
        point[i] += (axis.upper - axis.lower) * static_cast<double>(step) /
                    static_cast<double>(count - 1);
      }
    }
  }

  at::Tensor Targets(const at::Tensor& points) const {
    std::vector<at::Tensor> targets;
    for (size_t i = 0; i < values_.size(); ++i) {
      std::vector<at::Tensor> coordinates;
      for (const int64_t column : columns_[i]) {
        coordinates.push_back(points.select(1, column));
      }
      targets.push_back(Evaluate(values_[i], coordinates, points.select(1, 0)));
    }
    return at::stack(targets, 1).to(at::kFloat);
  }

  const CollocationOptions options_;
  const std::vector<size_t> face_axes_;
  const int64_t size_;
  const int64_t points_of_face_;
  const UnitCube cube_;
  std::vector<Expression> values_;
  std::vector<std::vector<int64_t>> columns_;
};

}  // namespace

std::shared_ptr<Dataset> MakeCollocationPoints(
    const CollocationOptions& options) {
  return std::make_shared<Points>(options);
}

}  // namespace epochd::engine
