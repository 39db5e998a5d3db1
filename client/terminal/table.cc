// SPDX-License-Identifier: Apache-2.0
#include "client/terminal/table.h"

#include <algorithm>
#include <utility>

#include "client/terminal/width.h"

namespace epochd::terminal {

Table::Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}

void Table::Add(std::vector<Cell> row) {
  row.resize(headers_.size());
  rows_.push_back(std::move(row));
}

std::string Table::Render(const Style& style, bool with_headers) const {
  std::vector<size_t> widths(headers_.size(), 0);
  for (size_t i = 0; i < headers_.size(); ++i) {
    if (with_headers) widths[i] = DisplayWidth(headers_[i]);
    for (const auto& row : rows_) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i].text));
    }
  }
  std::string result;
  const auto add_line = [&](const auto& text_of, const auto& color_of) {
    // The last cell that says something ends the line.
    size_t num_cells = headers_.size();
    while (num_cells > 0 && text_of(num_cells - 1).empty()) --num_cells;
    for (size_t i = 0; i < num_cells; ++i) {
      const std::string& text = text_of(i);
      result += style.Paint(text, color_of(i));
      if (i + 1 < num_cells) {
        result += std::string(widths[i] - DisplayWidth(text) + 2, ' ');
      }
    }
    result += '\n';
  };
  if (with_headers) {
    add_line([this](size_t i) -> const std::string& { return headers_[i]; },
             [](size_t) { return Color::kDim; });
  }
  for (const auto& row : rows_) {
    add_line([&row](size_t i) -> const std::string& { return row[i].text; },
             [&row](size_t i) { return row[i].color; });
  }
  return result;
}

}  // namespace epochd::terminal
