// SPDX-License-Identifier: Apache-2.0
//
// Columns of a data set as plain numbers, for splits and samplers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/engine/core/dataset.h"

namespace epochd::engine {

// One whole number per sample, such as labels or groups. Throws
// Error(kBadSpec) naming the field: not known without reading samples, more
// than one value per sample, or not whole numbers.
std::vector<int64_t> WholeColumn(const Dataset& dataset,
                                 const std::string& field);
// One number per sample.
std::vector<double> NumberColumn(const Dataset& dataset,
                                 const std::string& field);

// The column beside `field` that says what its numbers stand for, HashOf() each
// name, where a data set has numbered names itself: the same number may stand
// for other names in another data set, the same hash does not.
std::string NamesOf(std::string_view field);
int64_t HashOf(std::string_view name);

// The column in which ImageFolder, and Csv with `classes`, say so of `target`:
// such numbers are in every batch, so that data sets that disagree cannot be
// joined or measured by each other.
inline constexpr std::string_view kClassNames = "target:classes";

// Whether data sets that are used beside each other number classes alike.
class ClassNumbers {
 public:
  // A number that stands for another class than in those before, or whose class
  // has another number there; nothing: all agree, or nobody knows.
  std::optional<int64_t> Add(const Dataset& dataset);

 private:
  std::map<int64_t, int64_t> name_of_;
  std::map<int64_t, int64_t> number_of_;
};
// What to say of it.
inline constexpr char kOtherClass[] =
    "is another than in the data before; `classes` with all of them, the same "
    "list for each, makes them agree";

}  // namespace epochd::engine
