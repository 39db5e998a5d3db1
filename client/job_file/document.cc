// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/document.h"

#include <charconv>
#include <iterator>
#include <utility>

namespace epochd::client {
namespace {

// Gives the end of the bracket that opens at `begin`; npos: it does not close.
size_t EndOfBracket(std::string_view field, size_t begin) {
  bool quoted = false;
  for (size_t i = begin + 1; i < field.size(); ++i) {
    if (quoted && field[i] == '\\') {
      ++i;
    } else if (field[i] == '"') {
      quoted = !quoted;
    } else if (field[i] == ']' && !quoted) {
      return i;
    }
  }
  return std::string_view::npos;
}

// Gives the path around `field`.
std::string_view Parent(std::string_view field) {
  size_t last = 0;
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '.') last = i;
    if (field[i] != '[') continue;
    last = i;
    const size_t end = EndOfBracket(field, i);
    if (end == std::string_view::npos) break;
    i = end;
  }
  return field.substr(0, last);
}

std::string Unbracketed(std::string_view inside) {
  if (inside.empty() || inside.front() != '"') return std::string(inside);
  const Json key = Json::parse(inside, nullptr, false);
  return key.is_string() ? key.get<std::string>() : std::string(inside);
}

}  // namespace

void Document::Report(const std::string& field, std::string message) {
  problems.push_back({Locate(positions, field), field, std::move(message)});
}

void ErasePositions(Positions& positions, const std::string& field) {
  for (auto it = positions.lower_bound(field);
       it != positions.end() && it->first.starts_with(field);) {
    const bool is_below = it->first.size() == field.size() || field.empty() ||
                          it->first[field.size()] == '.' ||
                          it->first[field.size()] == '[';
    it = is_below ? positions.erase(it) : std::next(it);
  }
}

Position Locate(const Positions& positions, std::string_view field) {
  while (true) {
    const auto found = positions.find(field);
    if (found != positions.end()) return found->second;
    if (field.empty()) return {1, 1};
    field = Parent(field);
  }
}

std::vector<std::string> SplitField(std::string_view field) {
  std::vector<std::string> parts;
  size_t i = 0;
  while (i < field.size()) {
    if (field[i] == '[') {
      const size_t end = EndOfBracket(field, i);
      if (end == std::string_view::npos) {
        parts.emplace_back(field.substr(i));
        break;
      }
      parts.push_back(Unbracketed(field.substr(i + 1, end - i - 1)));
      i = end + 1;
      if (i < field.size() && field[i] == '.') ++i;
      continue;
    }
    const size_t end = std::min(field.find_first_of(".[", i), field.size());
    parts.emplace_back(field.substr(i, end - i));
    i = end < field.size() && field[end] == '.' ? end + 1 : end;
  }
  return parts;
}

Json* FindField(Json& root, std::string_view field) {
  Json* value = &root;
  for (const std::string& part : SplitField(field)) {
    if (value->is_object()) {
      const auto found = value->find(part);
      if (found == value->end()) return nullptr;
      value = &*found;
    } else if (value->is_array()) {
      size_t index = 0;
      const auto [end, error] =
          std::from_chars(part.data(), part.data() + part.size(), index);
      if (error != std::errc() || end != part.data() + part.size() ||
          index >= value->size()) {
        return nullptr;
      }
      value = &(*value)[index];
    } else {
      return nullptr;
    }
  }
  return value;
}

}  // namespace epochd::client
