// SPDX-License-Identifier: Apache-2.0
//
// Columns for people: two blanks between, no lines. Built, rendered, dropped.
#pragma once

#include <string>
#include <vector>

#include "client/terminal/style.h"

namespace epochd::terminal {

struct Cell {
  std::string text;  // no control characters
  Color color = Color::kNone;
};

class Table {
 public:
  explicit Table(std::vector<std::string> headers);

  // One cell per header.
  void Add(std::vector<Cell> row);

  // Each line ends in a newline and has no blanks before it.
  std::string Render(const Style& style, bool with_headers = true) const;

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace epochd::terminal
