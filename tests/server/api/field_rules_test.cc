// SPDX-License-Identifier: Apache-2.0
#include "server/api/field_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/api/names.h"

namespace epochd::api {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(QuoteTest, ShowsWhatWasSentWithoutLettingItAct) {
  EXPECT_EQ(Quote(""), "''");
  EXPECT_EQ(Quote("a b"), "'a b'");
  EXPECT_EQ(Quote("\x1b[2J\n"), "'\\x1b[2J\\n'");
  EXPECT_EQ(Quote(std::string(64, 'x')), "'" + std::string(64, 'x') + "'");
  EXPECT_EQ(Quote(std::string(65, 'x')), "'" + std::string(64, 'x') + "...'");
}

TEST(NameTest, IsLowerCaseLettersDigitsAndDashesInside) {
  for (const char* good : {"a", "0", "a-b", "a--b", "x86-64"}) {
    EXPECT_TRUE(IsName(good)) << good;
  }
  EXPECT_TRUE(IsName(std::string(63, 'a')));
  for (const char* bad :
       {"", "-a", "a-", "A", "a.b", "a_b", "a b", "\xc3\xa4", "a\n", "../a"}) {
    EXPECT_FALSE(IsName(bad)) << bad;
  }
  EXPECT_FALSE(IsName(std::string(64, 'a')));
}

// What one rule says of a value; empty: it is taken.
template <typename Rule>
std::string Refusal(Rule rule) {
  FieldRules rules;
  rule(rules);
  const auto& violations = rules.violations();
  if (violations.empty()) return "";
  EXPECT_THAT(violations, SizeIs(1));
  return violations[0].field + ": " + violations[0].description;
}

TEST(FieldRulesTest, RangesIncludeBothEnds) {
  const auto refusal = [](int64_t value) {
    return Refusal([&](FieldRules& rules) { rules.InRange("n", value, 1, 3); });
  };
  EXPECT_EQ(refusal(1), "");
  EXPECT_EQ(refusal(3), "");
  EXPECT_EQ(refusal(0), "n: '0' is out of range, 1 to 3 is accepted");
  EXPECT_EQ(refusal(4), "n: '4' is out of range, 1 to 3 is accepted");
  EXPECT_THAT(refusal(INT64_MIN), HasSubstr("'-9223372036854775808'"));
}

TEST(FieldRulesTest, RelativePathsStayInTheirFolder) {
  const auto refusal = [](const std::string& path) {
    return Refusal([&](FieldRules& rules) { rules.RelativePath("p", path); });
  };
  for (const char* good :
       {"a", "a/b.py", ".hidden", "..a", "a..b/c", "\xc3\xa4"}) {
    EXPECT_EQ(refusal(good), "") << good;
  }
  EXPECT_THAT(refusal("/etc/passwd"), HasSubstr("absolute path"));
  for (const char* bad :
       {"", ".", "..", "../a", "a/..", "a/../b", "a//b", "a/", "./a"}) {
    EXPECT_THAT(refusal(bad), HasSubstr("names between single slashes")) << bad;
  }
  EXPECT_THAT(refusal("a\nb"), HasSubstr("control character in 'a\\nb'"));
  EXPECT_THAT(refusal(std::string("a\0b", 3)), HasSubstr("control character"));
  EXPECT_EQ(refusal(std::string(255, 'x')), "");
  EXPECT_THAT(refusal(std::string(256, 'x')), HasSubstr("name of 256 bytes"));
  std::string deep;
  while (deep.size() <= 1024) deep += "abcdefg/";
  EXPECT_THAT(refusal(deep + "a"), HasSubstr("bytes long, at most 1024"));
}

TEST(FieldRulesTest, AbsolutePathsBeginAtTheRoot) {
  const auto refusal = [](const std::string& path) {
    return Refusal([&](FieldRules& rules) { rules.AbsolutePath("p", path); });
  };
  for (const char* good : {"/", "/a", "/mnt/data.1/x"}) {
    EXPECT_EQ(refusal(good), "") << good;
  }
  for (const char* bad : {"", "a", "./a", "~/a"}) {
    EXPECT_THAT(refusal(bad), HasSubstr("relative path")) << bad;
  }
  for (const char* bad : {"//", "/a/", "/a/../b", "/."}) {
    EXPECT_THAT(refusal(bad), HasSubstr("names between single slashes")) << bad;
  }
}

TEST(FieldRulesTest, LabelsAreNamedWithTheirKey) {
  const auto refusal = [](const std::string& key, const std::string& value) {
    return Refusal([&](FieldRules& rules) {
      rules.Labels("labels", {{key, value}});
    });
  };
  EXPECT_EQ(refusal("team", "vision-2"), "");
  EXPECT_EQ(refusal("example.com/team", ""), "");
  EXPECT_EQ(refusal("T_1", "A.b"), "");
  EXPECT_THAT(refusal("", "x"), HasSubstr("bad label name ''"));
  EXPECT_THAT(refusal("-a", "x"), HasSubstr("bad label name '-a'"));
  EXPECT_THAT(refusal("a b", "x"), HasSubstr("bad label name"));
  EXPECT_THAT(refusal("a", "x/y"), HasSubstr("bad label value 'x/y'"));
  EXPECT_THAT(refusal("a", "\n"), HasSubstr("bad label value '\\n'"));
  EXPECT_THAT(refusal("a", std::string(64, 'v')), HasSubstr("at most 63"));
  EXPECT_THAT(refusal("team", "-"), testing::StartsWith("labels.team"));
}

TEST(FieldRulesTest, OfTooManyEntriesTheNumberIsSaid) {
  std::map<std::string, std::string> many;
  for (int i = 0; i < 129; ++i) many["K" + std::to_string(i)] = "v";
  EXPECT_EQ(Refusal([&](FieldRules& rules) { rules.Labels("labels", many); }),
            "labels: 129 labels, at most 32 are accepted");
  EXPECT_EQ(Refusal([&](FieldRules& rules) { rules.Environment("env", many); }),
            "env: 129 variables, at most 128 are accepted");
}

TEST(FieldRulesTest, VariablesAreNamesThatAreNotOurs) {
  const auto refusal = [](const std::string& name, const std::string& value) {
    return Refusal([&](FieldRules& rules) {
      rules.Environment("env", {{name, value}});
    });
  };
  EXPECT_EQ(refusal("OMP_NUM_THREADS", "1"), "");
  EXPECT_EQ(refusal("_x", ""), "");
  EXPECT_THAT(refusal("", "x"), HasSubstr("bad variable name ''"));
  EXPECT_THAT(refusal("1A", "x"), HasSubstr("no digit first"));
  EXPECT_THAT(refusal("A=B", "x"), HasSubstr("bad variable name 'A=B'"));
  EXPECT_THAT(refusal("EPOCHD_RANK", "0"), HasSubstr("epochd's own"));
  EXPECT_THAT(refusal("A", std::string("a\0b", 3)), HasSubstr("NUL byte"));
  EXPECT_THAT(refusal("A", std::string((32 << 10) + 1, 'x')),
              HasSubstr("at most 32768"));
}

TEST(NamesTest, AreReadBackOrRefusedWithTheirForm) {
  const job::JobId id(7, 9);
  EXPECT_EQ(*ParseJobName(id.ResourceName()), id);
  EXPECT_EQ(ParseWorkerName("workers/n1")->name(), "n1");
  EXPECT_EQ(ParseWorker("n1")->name(), "n1");
  EXPECT_EQ(ParseIncarnation("i-1")->text(), "i-1");
  EXPECT_EQ(ParseAttemptName(id.ResourceName() + "/attempts/3")->number,
            job::AttemptNumber(3));
  struct Case {
    absl::Status status;
    const char* message;
  };
  for (const Case& c : {
           Case{ParseJobName("").status(), "name: bad name ''"},
           Case{ParseJobName(id.ToString()).status(), "jobs/{job}"},
           Case{ParseJobName("jobs/x").status(),
                "'jobs/x', jobs/{job} with the 26 characters of an id"},
           Case{ParseJobName("jobs/" + id.ToString() + "/").status(), "jobs/"},
           Case{ParseWorkerName("n1").status(), "workers/{worker}"},
           Case{ParseWorkerName("workers/N1").status(), "'workers/N1'"},
           Case{ParseWorker("").status(), "worker: bad name ''"},
           Case{ParseIncarnation("").status(), "1 to 128 visible"},
           Case{ParseIncarnation("a b").status(), "'a b'"},
           Case{ParseIncarnation(std::string(129, 'i')).status(), "..."},
           Case{ParseAttemptName(id.ResourceName()).status(), "attempts/{n}"},
           Case{ParseAttemptName(id.ResourceName() + "/attempts/0").status(),
                "attempts/{n}"},
       }) {
    EXPECT_EQ(c.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(c.status.message()), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace epochd::api
