// SPDX-License-Identifier: Apache-2.0
//
// A job file as read: its values, where each stands, and what is wrong with
// it. Plain values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"

namespace epochd::client {

using Json = catalogue::Json;

// From 1; line 0: of no file (a --set).
struct Position {
  int line = 0;
  int column = 0;
  // Which of the files that were read: 0 is the job file itself, others are
  // defaults.
  int file = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

// One fault. An empty field: of the file as a whole.
struct Problem {
  Position position;
  std::string field;
  std::string message;
};

// Field path -> where its key, or its element in a list, stands.
using Positions = std::map<std::string, Position, std::less<>>;

struct Document {
  Json value;
  Positions positions;
  std::vector<Problem> problems;

  // Adds a problem at the field's place.
  void Report(const std::string& field, std::string message);
};

// Forgets where `field` and all below it stood.
void ErasePositions(Positions& positions, const std::string& field);

// Gives the place of `field`, or of the nearest thing around it.
Position Locate(const Positions& positions, std::string_view field);

// Splits a field path into keys and indices ("2" for [2]).
std::vector<std::string> SplitField(std::string_view field);

// Finds the value at a field path below `root`; nullptr: there is none.
// Indices may be written as keys: `a.2` is `a[2]`.
Json* FindField(Json& root, std::string_view field);

}  // namespace epochd::client
