// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/json_reader.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "client/job_file/tree_builder.h"

namespace epochd::client {
namespace {

// Walks the text and leaves behind how far the parser has read.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** reached) : at_(at), reached_(reached) {}

  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const Cursor& a, const Cursor& b) {
    return a.at_ != b.at_;
  }

 private:
  const char* at_;
  const char** reached_;
};

class JsonHandler : public nlohmann::json_sax<Json> {
 public:
  JsonHandler(std::string_view text, const char** reached, Document& document)
      : text_(text), reached_(reached), builder_(document) {}

  bool null() override { return Put(nullptr); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(int64_t value) override { return Put(value); }
  bool number_unsigned(uint64_t value) override {
    if (value <= INT64_MAX) return Put(static_cast<int64_t>(value));
    return Put(value);
  }
  bool number_float(double value, const std::string& text) override {
    if (!std::isfinite(value) ||
        text.find_first_of(".eE") == std::string::npos) {
      throw Refused{StartOfToken(),
                    "number out of range '" + text.substr(0, 40) + "'"};
    }
    return Put(value);
  }
  bool string(std::string& value) override { return Put(value); }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(size_t) override {
    builder_.Begin(Json::object(), StartOfToken());
    return true;
  }
  bool key(std::string& value) override {
    if (value.find('\0') != std::string::npos) {
      throw Refused{StartOfToken(), "a NUL character in a key is not accepted"};
    }
    builder_.Key(value, StartOfToken());
    return true;
  }
  bool end_object() override {
    builder_.End();
    return true;
  }
  bool start_array(size_t) override {
    builder_.Begin(Json::array(), StartOfToken());
    return true;
  }
  bool end_array() override {
    builder_.End();
    return true;
  }
  bool parse_error(size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    const size_t reached = std::min(Reached(), text_.size());
    const bool is_at_end =
        std::string_view(error.what()).find("unexpected end of input") !=
        std::string_view::npos;
    if (is_at_end || reached == 0) {
      throw Refused{PositionOf(reached), "no JSON: unexpected end"};
    }
    throw Refused{PositionOf(reached - 1),
                  "no JSON: unexpected " +
                      Json(std::string(text_.substr(reached - 1, 1)))
                          .dump(-1, ' ', true, Json::error_handler_t::replace)};
  }

 private:
  bool Put(Json value) {
    builder_.Value(std::move(value), StartOfToken());
    return true;
  }

  size_t Reached() const {
    return static_cast<size_t>(*reached_ - text_.data());
  }

  // Walks back from where the parser stands to where its token begins.
  Position StartOfToken() {
    size_t end = std::min(Reached(), text_.size());
    // The parser reads one character beyond a number or word.
    const auto is_word = [this](size_t i) {
      return std::string_view("+-.").find(text_[i]) != std::string_view::npos ||
             std::isalnum(static_cast<unsigned char>(text_[i])) != 0;
    };
    if (end == 0) return {1, 1};
    size_t last = end - 1;
    const auto is_closing = [this](size_t i) {
      return text_[i] == '"' || text_[i] == '{' || text_[i] == '[';
    };
    while (last > 0 && !is_word(last) && !is_closing(last)) --last;
    size_t start = last;
    if (text_[last] == '"') {
      while (start > 0) {
        --start;
        if (text_[start] != '"') continue;
        size_t num_slashes = 0;
        while (num_slashes < start && text_[start - 1 - num_slashes] == '\\') {
          ++num_slashes;
        }
        if (num_slashes % 2 == 0) break;
      }
    } else if (is_word(last)) {
      while (start > 0 && is_word(start - 1)) --start;
    }
    return PositionOf(start);
  }

  // Counts on from the last place asked for: tokens come in order.
  Position PositionOf(size_t offset) {
    if (offset < counted_) {
      counted_ = 0;
      line_ = 1;
      line_start_ = 0;
    }
    for (; counted_ < offset; ++counted_) {
      if (text_[counted_] == '\n') {
        ++line_;
        line_start_ = counted_ + 1;
      }
    }
    return {line_, static_cast<int>(offset - line_start_) + 1};
  }

  const std::string_view text_;
  const char** const reached_;
  TreeBuilder builder_;
  size_t counted_ = 0;
  int line_ = 1;
  size_t line_start_ = 0;
};

}  // namespace

void ReadJson(std::string_view text, Document& document) {
  const char* reached = text.data();
  try {
    JsonHandler handler(text, &reached, document);
    Json::sax_parse(Cursor(text.data(), &reached),
                    Cursor(text.data() + text.size(), &reached), &handler);
  } catch (const Refused& refused) {
    document.problems.push_back({refused.position, "", refused.message});
  } catch (const std::exception& error) {
    document.problems.push_back(
        {{1, 1}, "", std::string("no JSON: ") + error.what()});
  }
}

}  // namespace epochd::client
