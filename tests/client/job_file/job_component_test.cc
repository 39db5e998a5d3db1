// SPDX-License-Identifier: Apache-2.0
//
// The declarations of the service's keys say what the reader of job files
// does.
#include "client/job_file/job_component.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "catalogue/type.h"
#include "client/job_file/job_file.h"

namespace epochd::client {
namespace {

using catalogue::Component;
using catalogue::Parameter;
using catalogue::Type;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::optional<Component> SectionOf(const Type& type) {
  for (Component& section : JobSections()) {
    if (type.kind == Type::Kind::kSection && section.name == type.argument) {
      return section;
    }
  }
  return std::nullopt;
}

// A key below sections, with its path: ("resources", "cpus").
struct Leaf {
  std::vector<std::string> path;
  Parameter parameter;

  // A file that says `value` there.
  std::string FileWith(const Json& value) const {
    Json file = value;
    for (size_t i = path.size(); i-- > 0;) {
      file = Json::object({{path[i], std::move(file)}});
    }
    if (path[0] != "experiment" && path[0] != "command") {
      file["command"] = {"a"};
    }
    return file.dump();
  }
  std::string Field() const {
    std::string field;
    for (const std::string& key : path) {
      field = catalogue::AppendKey(field, key);
    }
    return field;
  }
};

void AddLeaves(const Component& component, std::vector<std::string> path,
               std::vector<Leaf>& leaves) {
  for (const Parameter& parameter : component.parameters) {
    path.push_back(parameter.name);
    const auto section = SectionOf(catalogue::ParseType(parameter.type));
    if (section) AddLeaves(*section, path, leaves);
    if (!section || parameter.scalar_ok) leaves.push_back({path, parameter});
    path.pop_back();
  }
}

std::vector<Leaf> Leaves() {
  std::vector<Leaf> leaves;
  AddLeaves(JobComponent(), {}, leaves);
  return leaves;
}

std::vector<std::string> Problems(const std::string& text) {
  return ParseJobFile("j", text, "/folder", {}).Describe();
}

// Something that the type accepts; null: hard to say.
Json Sample(const Parameter& parameter) {
  if (!parameter.choices.empty()) {
    return parameter.type.starts_with("list") ? Json{parameter.choices[0]}
                                              : Json(parameter.choices[0]);
  }
  if (parameter.min) return static_cast<int64_t>(*parameter.min);
  if (parameter.type == "duration") return "90s";
  if (parameter.type == "size") return "1GiB";
  if (parameter.type == "every") return "2 epochs";
  if (parameter.type == "map<string>") return Json{{"k", "v"}};
  if (parameter.type == "list<string>") return Json{"a"};
  if (parameter.type == "string" || parameter.type == "path") return "a";
  return nullptr;
}

TEST(JobComponent, DeclaresKeysThatTheReaderKnows) {
  int num_checked = 0;
  for (const Leaf& leaf : Leaves()) {
    if (leaf.path[0] == "defaults" || leaf.path[0] == "files" ||
        leaf.path[0] == "experiment") {
      continue;
    }
    const Json sample = Sample(leaf.parameter);
    ASSERT_FALSE(sample.is_null()) << leaf.Field();
    EXPECT_THAT(Problems(leaf.FileWith(sample)), IsEmpty()) << leaf.Field();
    ++num_checked;
  }
  EXPECT_GE(num_checked, 24);
}

TEST(JobComponent, DeclaresTheBoundsThatTheReaderHolds) {
  for (const Leaf& leaf : Leaves()) {
    const Parameter& parameter = leaf.parameter;
    if (!parameter.min) continue;
    const auto least = static_cast<int64_t>(*parameter.min);
    const auto most = static_cast<int64_t>(*parameter.max);
    if (leaf.path.back() != "max" || leaf.path[0] != "resources") {
      EXPECT_THAT(Problems(leaf.FileWith(most)),
                  testing::Each(testing::Not(HasSubstr("expected an integer"))))
          << leaf.Field();
    }
    EXPECT_THAT(Problems(leaf.FileWith(least)), IsEmpty()) << leaf.Field();
    for (const int64_t bad : {least - 1, most + 1}) {
      EXPECT_THAT(Problems(leaf.FileWith(bad)),
                  testing::Contains(HasSubstr(
                      leaf.Field() + ": expected an integer from " +
                      std::to_string(least) + " to " + std::to_string(most))))
          << leaf.Field() << " " << bad;
    }
  }
}

TEST(JobComponent, DeclaresTheChoicesThatTheReaderHolds) {
  int num_checked = 0;
  for (const Leaf& leaf : Leaves()) {
    const Parameter& parameter = leaf.parameter;
    if (parameter.choices.empty()) continue;
    const bool is_list = parameter.type.starts_with("list");
    for (const std::string& choice : parameter.choices) {
      EXPECT_THAT(
          Problems(leaf.FileWith(is_list ? Json{choice} : Json(choice))),
          IsEmpty())
          << choice;
      ++num_checked;
    }
    const Json bad = is_list ? Json{"zzzz"} : Json("zzzz");
    for (const std::string& line : Problems(leaf.FileWith(bad))) {
      for (const std::string& choice : parameter.choices) {
        EXPECT_THAT(line, HasSubstr(choice));
      }
    }
    EXPECT_FALSE(Problems(leaf.FileWith(bad)).empty()) << leaf.Field();
  }
  EXPECT_EQ(num_checked, 11);
}

TEST(JobComponent, DeclaresAllThatTheReaderKnows) {
  // The reader lists its keys where one is unlike all of them.
  const auto known = [](const std::string& line) {
    std::vector<std::string> names;
    std::istringstream words(line.substr(line.find("known are ") + 10));
    for (std::string word; std::getline(words, word, ',');) {
      names.push_back(word.substr(word.find_first_not_of(' ')));
    }
    return names;
  };
  const auto names_of = [](const Component& component) {
    std::vector<std::string> names;
    for (const Parameter& parameter : component.parameters) {
      if (parameter.name != "defaults") names.push_back(parameter.name);
    }
    return names;
  };
  const auto check = [&](const Component& component, const std::string& file) {
    const std::vector<std::string> lines = Problems(file);
    ASSERT_EQ(lines.size(), 1u) << file;
    EXPECT_THAT(known(lines[0]),
                testing::UnorderedElementsAreArray(names_of(component)))
        << lines[0];
  };
  check(JobComponent(), R"({"command": ["a"], "zzzzzzzzzz": 1})");
  for (const Parameter& parameter : JobComponent().parameters) {
    const auto section = SectionOf(catalogue::ParseType(parameter.type));
    if (!section) continue;
    check(
        *section,
        Json{{"command", {"a"}}, {parameter.name, {{"zzzzzzzzzz", 1}}}}.dump());
  }
}

TEST(JobComponent, DeclaresThePatternOfNames) {
  const std::regex pattern(*JobPattern("name"));
  EXPECT_EQ(JobPattern("storage"), std::nullopt);
  for (const std::string& name :
       {std::string("a"), std::string("a-b-9"), std::string(63, 'x'),
        std::string(64, 'x'), std::string("-a"), std::string("a-"),
        std::string("A"), std::string("a_b"), std::string()}) {
    const std::string file = Json{{"command", {"a"}}, {"name", name}}.dump();
    EXPECT_EQ(Problems(file).empty(), std::regex_match(name, pattern)) << name;
  }
}

}  // namespace
}  // namespace epochd::client
