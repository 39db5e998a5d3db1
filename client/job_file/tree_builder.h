// SPDX-License-Identifier: Apache-2.0
//
// Builds a Document from a parser's events, and holds the limits that YAML and
// JSON share. Throws Refused, which ends the parsing; the readers catch it.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/job_file/document.h"
#include "client/job_file/reader.h"

namespace epochd::client {

// Ends the parsing of a document: its one problem that allows no going on.
struct Refused {
  Position position;
  std::string message;
};

class TreeBuilder {
 public:
  explicit TreeBuilder(Document& document) : document_(document) {}

  void Key(std::string key, Position position) {
    Frame& frame = frames_.back();
    if (key == "<<") {
      throw Refused{position, "merge key '<<' is not accepted"};
    }
    if (!frame.keys.insert(key).second) {
      document_.problems.push_back(
          {position, catalogue::AppendKey(frame.path, key),
           "duplicate key, first given at line " +
               std::to_string(Locate(document_.positions,
                                     catalogue::AppendKey(frame.path, key))
                                  .line)});
      frame.skip = true;
    }
    frame.key = std::move(key);
    frame.key_position = position;
  }

  void Value(Json value, Position position) { Put(std::move(value), position); }

  void Begin(Json container, Position position) {
    if (frames_.size() >= kMaxDepth) {
      throw Refused{position, "nested deeper than " +
                                  std::to_string(kMaxDepth) +
                                  " levels, the most accepted"};
    }
    Frame frame;
    frame.path = PathOfNext();
    frame.position = position;
    frame.container = std::move(container);
    frames_.push_back(std::move(frame));
  }

  void End() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    Put(std::move(frame.container), frame.position);
  }

  // Tells whether the next scalar of the open mapping is a key's value.
  bool InMapping() const {
    return !frames_.empty() && frames_.back().container.is_object();
  }
  bool HasKey() const { return frames_.back().key.has_value(); }
  const std::string& path() const {
    static const std::string kRoot;
    return frames_.empty() ? kRoot : frames_.back().path;
  }
  // Path of the value that comes next.
  std::string PathOfNext() const {
    if (frames_.empty()) return "";
    const Frame& frame = frames_.back();
    if (frame.container.is_object()) {
      return catalogue::AppendKey(frame.path, frame.key.value_or(""));
    }
    return catalogue::AppendIndex(frame.path, frame.container.size());
  }

 private:
  struct Frame {
    Json container;
    std::string path;
    Position position;
    std::set<std::string> keys;
    std::optional<std::string> key;
    Position key_position;
    // The value of a duplicate key: read, then dropped.
    bool skip = false;
  };

  void Put(Json value, Position position) {
    // Bounds what long keys in deep nests cost.
    constexpr size_t kMaxPathBytes = 4 * 1024 * 1024;
    if (++num_values_ > kMaxValues) {
      throw Refused{position, "more than " + std::to_string(kMaxValues) +
                                  " values, the most accepted"};
    }
    if (frames_.empty()) {
      document_.value = std::move(value);
      return;
    }
    std::string path = PathOfNext();
    path_bytes_ += path.size();
    if (path_bytes_ > kMaxPathBytes) {
      throw Refused{position, "keys too long for how deep they are nested"};
    }
    Frame& frame = frames_.back();
    if (!frame.container.is_object()) {
      document_.positions.emplace(std::move(path), position);
      frame.container.push_back(std::move(value));
      return;
    }
    if (!frame.skip) {
      document_.positions.emplace(std::move(path), frame.key_position);
      // The keys were compared above; emplace() of the mapping would compare
      // each with all before it.
      frame.container.get_ref<Json::object_t&>().emplace_back(
          std::move(*frame.key), std::move(value));
    }
    frame.key.reset();
    frame.skip = false;
  }

  Document& document_;
  std::vector<Frame> frames_;
  size_t num_values_ = 0;
  size_t path_bytes_ = 0;
};

}  // namespace epochd::client
